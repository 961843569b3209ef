#include "cairn/base/checksum.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "cairn/base/check.h"

namespace cairn {
namespace {

XXH3_state_t* State(void* state) { return static_cast<XXH3_state_t*>(state); }

Sum128 ToSum(XXH128_hash_t hash) { return {hash.low64, hash.high64}; }

}  // namespace

Checksum::Checksum(uint64_t seed) : state_(XXH3_createState()) {
  CAIRN_CHECK(state_ != nullptr);
  XXH3_128bits_reset_withSeed(State(state_.get()), seed);
}

Checksum::~Checksum() = default;

void Checksum::Update(std::span<const std::byte> bytes) {
  if (!bytes.empty()) XXH3_128bits_update(State(state_.get()), bytes.data(), bytes.size());
}

Sum128 Checksum::Finish() const { return ToSum(XXH3_128bits_digest(State(state_.get()))); }

Sum128 Checksum::Of(std::span<const std::byte> bytes, uint64_t seed) {
  return ToSum(XXH3_128bits_withSeed(bytes.data(), bytes.size(), seed));
}

void Checksum::Free::operator()(void* state) const { XXH3_freeState(State(state)); }

}  // namespace cairn
