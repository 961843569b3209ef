// How families with states of fixed size compute, after family_recurrent.cc, family_mamba.cc,
// family_hybrid.cc and family_rwkv.cc have said what they keep.
//
// Pure functions; thread-safe.
#ifndef CAIRN_SPEC_RUN_RECURRENT_H_
#define CAIRN_SPEC_RUN_RECURRENT_H_

#include "cairn/spec/run_facts.h"

namespace cairn {

Status RunLfm2(const ConfigSource& source, ModelSpec& model);
Status RunMamba(const ConfigSource& source, ModelSpec& model);
Status RunMamba2(const ConfigSource& source, ModelSpec& model);
Status RunJamba(const ConfigSource& source, ModelSpec& model);
Status RunNemotronH(const ConfigSource& source, ModelSpec& model);
Status RunFalconH1(const ConfigSource& source, ModelSpec& model);
Status RunRwkv(const ConfigSource& source, ModelSpec& model);

}  // namespace cairn

#endif  // CAIRN_SPEC_RUN_RECURRENT_H_
