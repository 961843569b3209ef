// From a config.json or GGUF metadata to a Rope: both spellings, all scaling types, with checks.
//
// Pure functions; thread-safe.
#ifndef CAIRN_SPEC_ROPE_CONFIG_H_
#define CAIRN_SPEC_ROPE_CONFIG_H_

#include <span>
#include <string_view>

#include "cairn/base/ids.h"
#include "cairn/base/status.h"
#include "cairn/spec/hf_config.h"
#include "cairn/spec/metadata.h"
#include "cairn/spec/rope.h"

namespace cairn {

struct RopeDefaults {
  int64_t width = 0;          // channels of a head
  double base = 10000;        // where the file names none
  TokenCount context_length;  // stands for an original context that isn't given
  bool partial = false;       // partial_rotary_factor may leave channels unturned
  double part = 1;            // what partial_rotary_factor is where the file names none
};

// rope_parameters {rope_theta, rope_type, factor, ...} of newer files, or rope_theta beside
// rope_scaling {type or rope_type, ...} of older ones.
Result<Rope> RopeFromConfig(const HfConfig& config, const RopeDefaults& defaults);

// One such object: rope_scaling, or an entry of rope_parameters.
Result<Rope> RopeFromSection(const HfConfig& section, const RopeDefaults& defaults);

// <arch>.rope.*; `divisors` are the values of the tensor rope_freqs.weight, empty if there is none.
Result<Rope> RopeFromGguf(const Metadata& metadata, std::string_view architecture,
                          const RopeDefaults& defaults, RopePairs pairs,
                          std::span<const float> divisors);

// Those divisors on top of the file's scaling, of a head whose `width` channels turn.
Result<RopeScaling> RopeScalingWithDivisors(const RopeScaling& scaling,
                                            std::span<const float> divisors, int64_t width,
                                            std::string_view where);

}  // namespace cairn

#endif  // CAIRN_SPEC_ROPE_CONFIG_H_
