#include "cairn/serve/schema_constraint.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "cairn/base/check.h"

namespace cairn {
namespace {

constexpr float kNever = -std::numeric_limits<float>::infinity();
constexpr size_t kBitsPerWord = 32;

}  // namespace

ApiResult<std::unique_ptr<TokenConstraint>> SchemaConstraint::Make(
    const RustGrammarFactory& factory, TokenId end, std::string_view schema_json,
    std::string_view param) {
  Result<RustFollower> follower = factory.FollowSchema(schema_json);
  if (!follower) return RefuseField(std::string(param), follower.error().message);
  return std::make_unique<SchemaConstraint>(std::move(*follower), end);
}

void SchemaConstraint::Restrict(std::span<float> logits) {
  const auto end = static_cast<size_t>(end_.value());
  CAIRN_CHECK(end < logits.size());
  std::vector<uint32_t> allowed;
  if (!broken_) {
    Result<std::vector<uint32_t>> found = follower_.Allowed();
    broken_ = !found || std::ranges::all_of(*found, [](uint32_t word) { return word == 0; });
    if (!broken_) allowed = std::move(*found);
  }
  for (size_t id = 0; id < logits.size(); ++id) {
    const size_t word = id / kBitsPerWord;
    const bool may =
        broken_ ? id == end : word < allowed.size() && (allowed[word] >> (id % kBitsPerWord) & 1);
    if (!may) logits[id] = kNever;
  }
}

void SchemaConstraint::Accept(TokenId token) {
  if (!broken_ && !follower_.Accept(token)) broken_ = true;
}

std::unique_ptr<TokenConstraint> SchemaConstraint::Clone() const {
  Result<RustFollower> copy = follower_.Copy();
  CAIRN_CHECK(copy.has_value());  // a copy of what is in memory can't be wrong
  auto clone = std::make_unique<SchemaConstraint>(std::move(*copy), end_);
  clone->broken_ = broken_;
  return clone;
}

}  // namespace cairn
