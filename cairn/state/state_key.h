// Keys of state: who may read a piece of it. Equal keys, and only they, may share.
//
// A StateKey is a SHA-256 over everything that state depends on besides the tokens: two states with
// one key are the same function of the tokens, bit for bit. The tenant's salt is part of it:
// tenants share nothing, and what one asks for finds nothing of another's. An ObjectKey goes on
// over token ids from position 0, so a prefix has one address on every storage tier, which tells
// nobody its tokens or its tenant. Both are independent of how the tokens were cut. Thread-safe.
#ifndef CAIRN_STATE_STATE_KEY_H_
#define CAIRN_STATE_STATE_KEY_H_

#include <compare>
#include <cstddef>
#include <cstring>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "cairn/base/ids.h"
#include "cairn/base/sha256.h"
#include "cairn/spec/state_spec.h"

namespace cairn {

// Raise it when the bytes of a block, or what a kernel writes into it, change for equal specs.
inline constexpr int kStateFormatVersion = 1;

struct StateKey {
  Sha256::Digest bytes{};
  bool operator==(const StateKey&) const = default;
};

// What a piece of state is found by on a storage tier.
struct ObjectKey {
  Sha256::Digest bytes{};
  auto operator<=>(const ObjectKey&) const = default;
};

// What state depends on besides its StateSpec and the tokens.
struct StateIdentity {
  std::string model;    // fingerprint of the weights, and of key standards where there are
  std::string adapter;  // fingerprint of what was added to them; empty: nothing
  double adapter_scale = 0;
  std::string positions;  // how positions are applied, where a model has a choice (longrope)
  std::string tenant;     // salt; requests with different ones share nothing
};

StateKey KeyOf(const StateIdentity& identity, const StateSpec& spec);

// The keys of the prefixes that end at multiples of `step` tokens, shortest first, and if the
// tokens end elsewhere the key of all of them. REQUIRES step > 0.
std::vector<ObjectKey> PrefixKeys(const StateKey& key, std::span<const TokenId> tokens,
                                  TokenCount step);

}  // namespace cairn

template <>
struct std::hash<cairn::StateKey> {
  size_t operator()(const cairn::StateKey& key) const {
    size_t hash;  // any part of a SHA-256 is one
    std::memcpy(&hash, key.bytes.data(), sizeof hash);
    return hash;
  }
};

template <>
struct std::hash<cairn::ObjectKey> {
  size_t operator()(const cairn::ObjectKey& key) const {
    size_t hash;
    std::memcpy(&hash, key.bytes.data(), sizeof hash);
    return hash;
  }
};

#endif  // CAIRN_STATE_STATE_KEY_H_
