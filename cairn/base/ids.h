// Strong integers: an index is not a count, and a count of tokens is not a count of bytes.
//
// Id<Tag> can only be compared and unwrapped; Count<Tag> also adds, subtracts and scales. Both are
// trivially copyable and as cheap as the integer inside.
#ifndef CAIRN_BASE_IDS_H_
#define CAIRN_BASE_IDS_H_

#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>

namespace cairn {

template <class Tag, class Representation>
class Id {
 public:
  constexpr Id() = default;
  constexpr explicit Id(Representation value) : value_(value) {}
  constexpr Representation value() const { return value_; }
  constexpr auto operator<=>(const Id&) const = default;

 private:
  Representation value_ = 0;
};

template <class Tag>
class Count {
 public:
  constexpr Count() = default;
  constexpr explicit Count(int64_t value) : value_(value) {}
  constexpr int64_t value() const { return value_; }
  constexpr auto operator<=>(const Count&) const = default;
  constexpr Count operator+(Count other) const { return Count(value_ + other.value_); }
  constexpr Count operator-(Count other) const { return Count(value_ - other.value_); }
  constexpr Count operator*(int64_t factor) const { return Count(value_ * factor); }
  constexpr Count& operator+=(Count other) { return *this = *this + other; }
  constexpr Count& operator-=(Count other) { return *this = *this - other; }

 private:
  int64_t value_ = 0;
};

// A token of the vocabulary.
using TokenId = Id<struct TokenIdTag, int32_t>;
// A decoder layer, counted from 0 at the embedding.
using LayerIndex = Id<struct LayerIndexTag, int32_t>;
// A block class of a StateSpec (spec/state_layout.h).
using ClassIndex = Id<struct ClassIndexTag, int32_t>;
// A block of an arena; meaningful only together with its class.
using BlockId = Id<struct BlockIdTag, int32_t>;
// A live sequence of a StateStore.
using SequenceId = Id<struct SequenceIdTag, int64_t>;

using TokenCount = Count<struct TokenCountTag>;
using BlockCount = Count<struct BlockCountTag>;
using ElementCount = Count<struct ElementCountTag>;
using Bytes = Count<struct BytesTag>;

}  // namespace cairn

template <class Tag, class Representation>
struct std::hash<cairn::Id<Tag, Representation>> {
  size_t operator()(cairn::Id<Tag, Representation> id) const {
    return std::hash<Representation>()(id.value());
  }
};

#endif  // CAIRN_BASE_IDS_H_
