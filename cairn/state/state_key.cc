#include "cairn/state/state_key.h"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <string_view>
#include <variant>

#include "cairn/base/check.h"

namespace cairn {
namespace {

static_assert(std::endian::native == std::endian::little, "keys are hashes of little-endian bytes");

// Fields with their lengths, so that no two lists of fields are the same bytes.
class Fields {
 public:
  void Number(int64_t value) { hash_.Update(std::as_bytes(std::span(&value, 1))); }
  void Text(std::string_view text) {
    Number(static_cast<int64_t>(text.size()));
    hash_.Update(std::as_bytes(std::span(text.data(), text.size())));
  }
  void Real(double value) { Number(std::bit_cast<int64_t>(value)); }
  Sha256::Digest Finish() const { return hash_.Finish(); }

  void Add(const Rows& rows) {
    Text("rows");
    Text(rows.name);
    for (const int64_t value :
         {rows.heads, rows.width, rows.tokens_per_row.value(),
          static_cast<int64_t>(rows.lifetime.kind), rows.lifetime.tokens.value(),
          rows.lifetime.chunks_before, static_cast<int64_t>(rows.order),
          static_cast<int64_t>(rows.position), static_cast<int64_t>(rows.open_window)}) {
      Number(value);
    }
    Text(InfoOf(rows.codec).name);
    // Absent for rows as they are, so that their keys are those from before there were others.
    if (rows.transform == RowTransform::kRotated) Text("rotated");
    if (rows.transform == RowTransform::kStandardized) Text("standardized");
  }
  void Add(const Fixed& fixed) {
    Text("fixed");
    Text(fixed.name);
    Number(fixed.elements.value());
    Number(static_cast<int64_t>(fixed.snapshot));
    Text(InfoOf(fixed.dtype).name);
  }
  void Add(const Alias& alias) {
    Text("alias");
    Number(alias.layer.value());
  }

 private:
  Sha256 hash_;
};

}  // namespace

StateKey KeyOf(const StateIdentity& identity, const StateSpec& spec) {
  Fields fields;
  fields.Text("cairn state");
  fields.Number(kStateFormatVersion);
  fields.Text(identity.model);
  fields.Text(identity.adapter);
  fields.Real(identity.adapter_scale);
  fields.Text(identity.positions);
  fields.Text(identity.tenant);
  fields.Number(static_cast<int64_t>(spec.layers.size()));
  for (const LayerState& layer : spec.layers) {
    fields.Number(static_cast<int64_t>(layer.components.size()));
    for (const Component& component : layer.components) {
      std::visit([&fields](const auto& c) { fields.Add(c); }, component);
    }
  }
  return {fields.Finish()};
}

std::vector<ObjectKey> PrefixKeys(const StateKey& key, std::span<const TokenId> tokens,
                                  TokenCount step) {
  CAIRN_CHECK(step > TokenCount(0));
  const auto piece = static_cast<size_t>(step.value());
  std::vector<ObjectKey> keys;
  keys.reserve(tokens.size() / piece + 1);
  Sha256 chain;
  chain.Update(key.bytes);
  while (!tokens.empty()) {
    const size_t count = std::min(piece, tokens.size());
    chain.Update(std::as_bytes(tokens.first(count)));
    keys.push_back({chain.Finish()});
    tokens = tokens.subspan(count);
  }
  return keys;
}

}  // namespace cairn
