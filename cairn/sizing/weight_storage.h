// WeightStorage: which form each part of each layer is stored in.
//
// Either one form by the rule of its scope (weight_format.h), or what a checkpoint's
// quantization_config says, with the modules that it leaves alone. Plain data and pure functions;
// thread-compatible.
#ifndef CAIRN_SIZING_WEIGHT_STORAGE_H_
#define CAIRN_SIZING_WEIGHT_STORAGE_H_

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "cairn/base/ids.h"
#include "cairn/base/status.h"
#include "cairn/sizing/weight_format.h"
#include "cairn/sizing/weight_parts.h"
#include "cairn/spec/model_spec.h"

namespace cairn {

struct WeightStorage {
  // Indices into `formats`.
  using Choice = std::array<uint8_t, kWeightParts>;

  std::string name;                   // "bf16", "fp8"
  std::string rule;                   // a sentence: what is in which form
  std::vector<WeightFormat> formats;  // the first is the plain one
  Choice outside = {};
  std::vector<Choice> layers;

  const WeightFormat& FormatOf(size_t layer, WeightPart part) const {
    return formats[layers[layer][static_cast<size_t>(part)]];
  }
  const WeightFormat& OutsideFormat(WeightPart part) const {
    return formats[outside[static_cast<size_t>(part)]];
  }
};

// By the rule of the format's scope.
WeightStorage StorageOf(const ModelSpec& model, const WeightFormat& format);

// What a config.json says of its own weights: quantization_config, else dtype, else BF16. Errors: a
// file that isn't JSON, a method or number that isn't understood.
Result<WeightStorage> StorageOfCheckpoint(const ModelSpec& model, std::string_view json,
                                          std::string_view where);

}  // namespace cairn

#endif  // CAIRN_SIZING_WEIGHT_STORAGE_H_
