// What both versions of Mamba have in common.
#ifndef CAIRN_MODELS_MIXER_MAMBA_H_
#define CAIRN_MODELS_MIXER_MAMBA_H_

#include <cstdint>
#include <span>
#include <vector>

#include "cairn/models/tensor_loader.h"

namespace cairn {

// A, negative, of whatever shape.
Result<std::vector<float>> LoadDecayRates(const PartLoader& loader, std::span<const int64_t> shape);

}  // namespace cairn

#endif  // CAIRN_MODELS_MIXER_MAMBA_H_
