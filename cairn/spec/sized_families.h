// Families that can be sized and not run yet: one table a group of families, in family_*.cc.
// Included by families.cc and those files only.
#ifndef CAIRN_SPEC_SIZED_FAMILIES_H_
#define CAIRN_SPEC_SIZED_FAMILIES_H_

#include <span>
#include <string_view>

#include "cairn/base/status.h"
#include "cairn/spec/decoder_shape.h"
#include "cairn/spec/decoder_traits.h"
#include "cairn/spec/model_spec.h"

namespace cairn {

struct SizedFamily {
  std::string_view model_type;  // of config.json
  Result<ModelSpec> (*from_config)(const ConfigSource& source);
};

// A row that needs no code.
template <const DecoderTraits& traits>
Result<ModelSpec> FromTraits(const ConfigSource& source) {
  return DecoderFromConfig(source, traits);
}

std::span<const SizedFamily> ShapeFamilies();         // shapes given instead of a file
std::span<const SizedFamily> DecoderFamilies();       // Llama's relatives
std::span<const SizedFamily> ClassicFamilies();       // GPT-2 and what came before Llama
std::span<const SizedFamily> VariantFamilies();       // layers of unlike attention
std::span<const SizedFamily> SearchedFamilies();      // each layer of a size of its own
std::span<const SizedFamily> GemmaFamilies();         // Gemma 3n and 4
std::span<const SizedFamily> LatentFamilies();        // latent attention
std::span<const SizedFamily> SharedLatentFamilies();  // the same, rows shared by several layers
std::span<const SizedFamily> CompressedFamilies();    // entries of several tokens
std::span<const SizedFamily> KdaFamilies();           // KDA beside latent attention
std::span<const SizedFamily> NgramFamilies();         // n-gram embeddings
std::span<const SizedFamily> ConvolvedFamilies();     // attention behind convolutions
std::span<const SizedFamily> DeltaFamilies();         // delta rule beside attention
std::span<const SizedFamily> LightningFamilies();     // lightning attention beside full
std::span<const SizedFamily> MambaFamilies();         // Mamba alone and beside attention
std::span<const SizedFamily> HybridFamilies();        // Mamba 2 with attention
std::span<const SizedFamily> RwkvFamilies();
std::span<const SizedFamily> RecurrentFamilies();  // retention, RG-LRU, short convolutions

}  // namespace cairn

#endif  // CAIRN_SPEC_SIZED_FAMILIES_H_
