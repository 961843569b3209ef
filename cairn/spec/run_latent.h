// How the families of latent attention compute, after family_deepseek.cc has said what they keep.
//
// Pure functions; thread-safe.
#ifndef CAIRN_SPEC_RUN_LATENT_H_
#define CAIRN_SPEC_RUN_LATENT_H_

#include "cairn/spec/run_facts.h"

namespace cairn {

Status RunDeepSeekV2(const ConfigSource& source, ModelSpec& model);
Status RunDeepSeekV3(const ConfigSource& source, ModelSpec& model);
Status RunGlm4MoeLite(const ConfigSource& source, ModelSpec& model);
Status RunDeepSeekV32(const ConfigSource& source, ModelSpec& model);
Status RunGlmMoeDsa(const ConfigSource& source, ModelSpec& model);
Status RunMistral4(const ConfigSource& source, ModelSpec& model);
Status RunMistralLarge4(const ConfigSource& source, ModelSpec& model);

// Of models whose other layers are of another kind: their latent layers, and all their networks.
// What remains is the other layers' to describe, after this.
Status DescribeKimiLatent(const ConfigSource& source, ModelSpec& model);
Status DescribeBailingLatent(const ConfigSource& source, ModelSpec& model);
Status DescribeGlm5Latent(const ConfigSource& source, ModelSpec& model);

}  // namespace cairn

#endif  // CAIRN_SPEC_RUN_LATENT_H_
