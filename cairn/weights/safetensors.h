// Safetensors files: one file, a folder with shards and their index, and writing.
//
// The header is read without building a tree, its nesting is bounded, and every range is checked
// against the file, the shape and the other tensors. Pure functions; thread-safe.
#ifndef CAIRN_WEIGHTS_SAFETENSORS_H_
#define CAIRN_WEIGHTS_SAFETENSORS_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "cairn/base/dtype.h"
#include "cairn/base/env.h"
#include "cairn/base/status.h"
#include "cairn/weights/weight_file.h"

namespace cairn {

// The format's own bound.
inline constexpr uint64_t kMaxSafetensorsHeaderBytes = 100'000'000;

// Whether the bytes start like one; files of another kind don't.
bool LooksLikeSafetensors(std::span<const std::byte> bytes);

// `where` is the path for errors. `bytes` must outlive the answer.
Result<std::unique_ptr<WeightFile>> ParseSafetensors(std::span<const std::byte> bytes,
                                                     const std::string& where);

Result<std::unique_ptr<WeightFile>> OpenSafetensors(MappedFile file, const std::string& path);

// model.safetensors, or the shards of model.safetensors.index.json, of a folder.
Result<std::unique_ptr<WeightFile>> OpenSafetensorsFolder(const std::string& folder);

struct NamedTensor {
  std::string name;
  DType dtype;  // f32, f16, bf16 or an integer
  std::vector<int64_t> shape;
  std::span<const std::byte> bytes;  // exactly as many as the shape needs
};

// The same tensors give the same bytes: header and data in the given order. The file appears whole
// or not at all.
Status WriteSafetensors(const std::string& path, std::span<const NamedTensor> tensors);

}  // namespace cairn

#endif  // CAIRN_WEIGHTS_SAFETENSORS_H_
