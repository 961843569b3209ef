// Which layers slide, which have experts, how wide their networks are: what config.json files say
// about layers one by one or by a rule.
//
// An explicit list beats a period, a period beats a class default, and a switch (use_...) beats the
// number next to it. Pure functions; thread-safe.
#ifndef CAIRN_SPEC_CONFIG_LAYERS_H_
#define CAIRN_SPEC_CONFIG_LAYERS_H_

#include <string>
#include <string_view>
#include <vector>

#include "cairn/base/status.h"
#include "cairn/spec/config_dimensions.h"
#include "cairn/spec/hf_config.h"
#include "cairn/spec/model_spec.h"

namespace cairn {

enum class WindowRule : uint8_t {
  kNever,     // layers without a window, whose types the family reads itself
  kNone,      // sliding_window isn't for this family, unless layer_types names sliding layers
  kAlways,    // it counts where it is given, unless use_sliding_window is false
  kSwitched,  // only with use_sliding_window, from max_window_layers on
};

// Of each layer. `period`: every period-th layer is full where the file has no pattern; 0: none is.
Result<std::vector<Lifetime>> LifetimesFromConfig(const HfConfig& config,
                                                  const Dimensions& dimensions, WindowRule rule,
                                                  int64_t period);

// A weight that some families always have and others by a key of the config.
struct Choice {
  std::string_view key;  // empty: `absent` always
  bool absent = false;
  Result<bool> Read(const HfConfig& config) const {
    return key.empty() ? Result<bool>(absent) : config.BoolOr(key, absent);
  }
};

struct FeedForwardTraits {
  bool gated = true;
  Choice bias = {};
  Choice router_bias = {};
  bool expert_bias = false;
  bool shared_gate = false;
  int64_t default_ratio = 0;  // intermediate / hidden where the file doesn't say; 0: no default
};

// Of each layer. A width that the file leaves out makes the parameters uncountable: its key's name
// in `missing`.
Result<std::vector<FeedForwardSpec>> FeedForwardsFromConfig(const HfConfig& config,
                                                            const Dimensions& dimensions,
                                                            const FeedForwardTraits& traits,
                                                            std::string& missing);

}  // namespace cairn

#endif  // CAIRN_SPEC_CONFIG_LAYERS_H_
