// How the attention-only families compute, after decoder_traits.h has said what they keep.
//
// Pure functions; thread-safe.
#ifndef CAIRN_SPEC_RUN_DENSE_H_
#define CAIRN_SPEC_RUN_DENSE_H_

#include "cairn/spec/run_facts.h"

namespace cairn {

Status RunQwen2(const ConfigSource& source, ModelSpec& model);
Status RunQwen3(const ConfigSource& source, ModelSpec& model);
Status RunPhi3(const ConfigSource& source, ModelSpec& model);
Status RunHunyuanDense(const ConfigSource& source, ModelSpec& model);
// The older code of HunYuan, with layers that share keys and values.
Status RunHunyuan(const ConfigSource& source, ModelSpec& model);
Status RunGptOss(const ConfigSource& source, ModelSpec& model);
Status RunMiniMaxM3(const ConfigSource& source, ModelSpec& model);
Status RunLlama4(const ConfigSource& source, ModelSpec& model);

}  // namespace cairn

#endif  // CAIRN_SPEC_RUN_DENSE_H_
