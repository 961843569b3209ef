// Mamba layers in the spellings of their config.json files; for the families that have some.
//
// Pure functions; thread-safe.
#ifndef CAIRN_SPEC_FAMILY_MAMBA_H_
#define CAIRN_SPEC_FAMILY_MAMBA_H_

#include <string_view>

#include "cairn/base/status.h"
#include "cairn/spec/hf_config.h"
#include "cairn/spec/model_spec.h"

namespace cairn {

struct Mamba1Keys {
  std::string_view state;
  std::string_view conv_kernel;
  std::string_view step_rank;
  std::string_view conv_bias;
  std::string_view bias;
};
struct Mamba2Keys {
  std::string_view heads;
  std::string_view head_width;
  std::string_view state;
  std::string_view groups;
  std::string_view conv_kernel;
  std::string_view conv_bias;
};

// expand x hidden, where no width of its own is given.
Result<int64_t> MambaInner(const HfConfig& config, std::string_view expand_key, int64_t hidden);
Result<MambaSpec> Mamba1FromConfig(const HfConfig& config, const Mamba1Keys& keys, int64_t inner,
                                   int64_t hidden);
// Channels are heads x head width, whatever expand says.
Result<MambaSpec> Mamba2FromConfig(const HfConfig& config, const Mamba2Keys& keys);

}  // namespace cairn

#endif  // CAIRN_SPEC_FAMILY_MAMBA_H_
