// Plain structs of files and messages whose last field, `sum`, covers all the bytes before it, and
// whose first, `magic`, says what they are.
//
// Pure functions.
#ifndef CAIRN_STATE_SUMMED_H_
#define CAIRN_STATE_SUMMED_H_

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <type_traits>

#include "cairn/base/checksum.h"

namespace cairn {

static_assert(std::endian::native == std::endian::little, "files are little-endian");

template <class Raw>
Sum128 SumOf(const Raw& raw, uint64_t seed) {
  static_assert(std::has_unique_object_representations_v<Raw>, "padding would be summed");
  return Checksum::Of(std::as_bytes(std::span(&raw, 1)).first(sizeof(Raw) - sizeof(Sum128)), seed);
}

// Completes the sum.
template <class Raw>
void PutSummed(std::span<std::byte> to, Raw raw, uint64_t seed) {
  raw.sum = SumOf(raw, seed);
  std::memcpy(to.data(), &raw, sizeof(raw));
}

// Nothing where the bytes are too few or the magic or sum is wrong.
template <class Raw>
std::optional<Raw> TakeSummed(std::span<const std::byte> bytes, const std::array<char, 8>& magic,
                              uint64_t seed) {
  Raw raw;
  if (bytes.size() < sizeof(raw)) return std::nullopt;
  std::memcpy(&raw, bytes.data(), sizeof(raw));
  if (raw.magic != magic || raw.sum != SumOf(raw, seed)) return std::nullopt;
  return raw;
}

}  // namespace cairn

#endif  // CAIRN_STATE_SUMMED_H_
