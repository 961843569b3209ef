// GGUF files, versions 2 and 3, little-endian.
//
// All of the file is checked on opening: counts, lengths and offsets against the file's size, names
// for duplicates, tensors for overlap. Memory used is a small multiple of the table of contents.
// Pure functions; thread-safe.
#ifndef CAIRN_WEIGHTS_GGUF_H_
#define CAIRN_WEIGHTS_GGUF_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "cairn/base/env.h"
#include "cairn/base/status.h"
#include "cairn/weights/weight_file.h"

namespace cairn {

// Bounds far above what any model needs.
inline constexpr uint64_t kMaxGgufNameBytes = 65535;                  // of a key or a tensor
inline constexpr uint64_t kMaxGgufArrayElements = uint64_t{1} << 24;  // of all arrays together
inline constexpr int64_t kMaxGgufAlignment = int64_t{1} << 20;

// Whether the bytes claim to be one.
bool IsGguf(std::span<const std::byte> bytes);

// `where` is the path for errors. `bytes` must outlive the answer.
Result<std::unique_ptr<WeightFile>> ParseGguf(std::span<const std::byte> bytes,
                                              const std::string& where);

Result<std::unique_ptr<WeightFile>> OpenGguf(MappedFile file, const std::string& path);

}  // namespace cairn

#endif  // CAIRN_WEIGHTS_GGUF_H_
