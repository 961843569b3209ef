#include "cairn/spec/state_layout.h"

#include <algorithm>
#include <cstddef>
#include <string>
#include <utility>
#include <variant>

#include "cairn/base/check.h"

namespace cairn {
namespace {

constexpr int64_t kFixedAlignment = 64;  // of a Fixed component inside its region, for SIMD loads
constexpr int64_t kMaxLayers = int64_t{1} << 16;
constexpr int64_t kMaxHeads = int64_t{1} << 20;
constexpr int64_t kMaxWidth = int64_t{1} << 20;
constexpr int64_t kMaxTokensPerRow = int64_t{1} << 20;
constexpr int64_t kMaxChunksBefore = 64;

Status CheckRange(LayerIndex layer, std::string_view name, std::string_view what, int64_t value,
                  int64_t max) {
  if (value >= 1 && value <= max) return {};
  return Fail(ErrorCode::kInvalidArgument,
              "state of layer {}: {} has {} = {}, must be between 1 and {}", layer.value(), name,
              what, value, max);
}

const char* WhatIsCounted(const Lifetime& lifetime) {
  switch (lifetime.kind) {
    case Lifetime::Kind::kWindow:
      return "window";
    case Lifetime::Kind::kFirst:
      return "first tokens";
    case Lifetime::Kind::kChunk:
    case Lifetime::Kind::kAll:
      return "chunk";
  }
  CAIRN_CHECK(false);
}

Status CheckRows(LayerIndex layer, const Rows& rows) {
  CAIRN_TRY(CheckRange(layer, rows.name, "heads", rows.heads, kMaxHeads));
  CAIRN_TRY(CheckRange(layer, rows.name, "width", rows.width, kMaxWidth));
  CAIRN_TRY(CheckRange(layer, rows.name, "tokens per row", rows.tokens_per_row.value(),
                       kMaxTokensPerRow));
  if (rows.lifetime.kind != Lifetime::Kind::kAll) {
    CAIRN_TRY(CheckRange(layer, rows.name, WhatIsCounted(rows.lifetime),
                         rows.lifetime.tokens.value(), INT64_MAX / 4 / kMaxChunksBefore));
    if (rows.lifetime.chunks_before < 0 || rows.lifetime.chunks_before > kMaxChunksBefore) {
      return Fail(ErrorCode::kInvalidArgument,
                  "state of layer {}: {} has chunks before = {}, must be between 0 and {}",
                  layer.value(), rows.name, rows.lifetime.chunks_before, kMaxChunksBefore);
    }
  }
  const DTypeInfo& codec = InfoOf(rows.codec);
  if (rows.width % codec.block_elements != 0) {
    return Fail(ErrorCode::kInvalidArgument,
                "state of layer {}: {} of width {} can't be {}, which needs a multiple of {}",
                layer.value(), rows.name, rows.width, codec.name, codec.block_elements);
  }
  return {};
}

const std::string* NameOf(const Component& component) {
  if (const auto* rows = std::get_if<Rows>(&component)) return &rows->name;
  if (const auto* fixed = std::get_if<Fixed>(&component)) return &fixed->name;
  return nullptr;
}

Status CheckNames(LayerIndex layer, const LayerState& state) {
  for (size_t i = 0; i < state.components.size(); ++i) {
    const std::string* name = NameOf(state.components[i]);
    if (name == nullptr) continue;
    bool taken = name->empty();
    for (size_t j = 0; j < i && !taken; ++j) {
      const std::string* other = NameOf(state.components[j]);
      taken = other != nullptr && *other == *name;
    }
    if (taken) {
      return Fail(ErrorCode::kInvalidArgument,
                  "state of layer {}: component {} is named '{}', must have a name of its own",
                  layer.value(), i, *name);
    }
  }
  return {};
}

bool IsAlias(const LayerState& state) {
  return std::ranges::any_of(state.components, [](const Component& component) {
    return std::holds_alternative<Alias>(component);
  });
}

void CheckTokens(TokenCount tokens, TokenCount added = {}) {
  CAIRN_CHECK(tokens >= TokenCount(0) && added >= TokenCount(0));
  CAIRN_CHECK(tokens <= kMaxStateTokens && added <= kMaxStateTokens - tokens);
}

int64_t DivideRoundingUp(int64_t a, int64_t b) { return (a + b - 1) / b; }

}  // namespace

Bytes BytesPerRow(const Rows& rows) { return RowBytesOf(rows.codec, rows.width) * rows.heads; }

Result<StateLayout> StateLayout::Make(StateSpec spec) {
  if (spec.layers.size() > kMaxLayers) {
    return Fail(ErrorCode::kInvalidArgument, "state of {} layers, must be at most {}",
                spec.layers.size(), kMaxLayers);
  }
  StateLayout layout;
  layout.spec_ = std::move(spec);
  for (size_t i = 0; i < layout.spec_.layers.size(); ++i) {
    CAIRN_TRY(layout.AddLayer(LayerIndex(static_cast<int32_t>(i))));
  }
  return layout;
}

Status StateLayout::AddLayer(LayerIndex layer) {
  const LayerState& state = spec_.layers[static_cast<size_t>(layer.value())];
  CAIRN_TRY(CheckNames(layer, state));
  for (size_t i = 0; i < state.components.size(); ++i) {
    const auto add = [&](const auto& kind) { return Add(layer, static_cast<int>(i), kind); };
    CAIRN_TRY(std::visit(add, state.components[i]));
  }
  return {};
}

Status StateLayout::Add(LayerIndex layer, int component, const Rows& rows) {
  CAIRN_TRY(CheckRows(layer, rows));
  const ElementCount elements = rows.ElementsPerRow();
  const Bytes row_bytes = BytesPerRow(rows);
  if (row_bytes > kMaxRowBytes - all_row_bytes_) {
    return Fail(ErrorCode::kInvalidArgument,
                "state of layer {}: with {} a row of all layers takes {} bytes, must be at most {}",
                layer.value(), rows.name, (row_bytes + all_row_bytes_).value(),
                kMaxRowBytes.value());
  }
  all_row_bytes_ += row_bytes;
  BlockClass& block_class = ClassFor(rows);
  const Bytes bytes = row_bytes * kRowsPerBlock;
  block_class.slots.push_back(
      {.layer = layer, .component = component, .offset = block_class.block_bytes, .bytes = bytes});
  block_class.block_bytes += bytes;
  block_class.row_bytes += row_bytes;
  block_class.row_elements += elements;
  return {};
}

Status StateLayout::Add(LayerIndex layer, int component, const Fixed& fixed) {
  const DTypeInfo& info = InfoOf(fixed.dtype);
  CAIRN_TRY(CheckRange(layer, fixed.name, "elements", fixed.elements.value(),
                       kMaxFixedBytes.value() / 8));
  if (fixed.elements.value() % info.block_elements != 0) {
    return Fail(ErrorCode::kInvalidArgument,
                "state of layer {}: {} of {} elements can't be {}, which needs a multiple of {}",
                layer.value(), fixed.name, fixed.elements.value(), info.name, info.block_elements);
  }
  if (info.row_bytes != 0) {
    return Fail(ErrorCode::kInvalidArgument,
                "state of layer {}: {} can't be {}, which needs rows; f32, f16 or bf16 would do",
                layer.value(), fixed.name, info.name);
  }
  const Bytes bytes = BytesOf(fixed.dtype, fixed.elements);
  const Bytes offset(DivideRoundingUp(fixed_bytes_.value(), kFixedAlignment) * kFixedAlignment);
  if (bytes > kMaxFixedBytes - offset) {
    return Fail(ErrorCode::kInvalidArgument,
                "state of layer {}: with {} the fixed state takes {} bytes, must be at most {}",
                layer.value(), fixed.name, (offset + bytes).value(), kMaxFixedBytes.value());
  }
  fixed_.push_back({.layer = layer, .component = component, .offset = offset, .bytes = bytes});
  fixed_bytes_ = offset + bytes;
  fixed_content_bytes_ += bytes;
  fixed_elements_ += fixed.elements;
  return {};
}

Status StateLayout::Add(LayerIndex layer, int /*component*/, const Alias& alias) {
  if (spec_.layers[static_cast<size_t>(layer.value())].components.size() != 1) {
    return Fail(ErrorCode::kInvalidArgument,
                "state of layer {}: an alias must be its layer's only component", layer.value());
  }
  if (alias.layer.value() < 0 || alias.layer >= layer) {
    return Fail(ErrorCode::kInvalidArgument,
                "state of layer {}: it reads layer {}, must be an earlier layer", layer.value(),
                alias.layer.value());
  }
  const LayerState& target = spec_.layers[static_cast<size_t>(alias.layer.value())];
  if (target.components.empty() || IsAlias(target)) {
    return Fail(ErrorCode::kInvalidArgument,
                "state of layer {}: it reads layer {}, which has no components of its own",
                layer.value(), alias.layer.value());
  }
  return {};
}

BlockClass& StateLayout::ClassFor(const Rows& rows) {
  // `tokens` means nothing for kAll and must not split the class.
  const bool all = rows.lifetime.kind == Lifetime::Kind::kAll;
  const Lifetime lifetime = all ? Lifetime::All() : rows.lifetime;
  const auto found = std::ranges::find_if(classes_, [&](const BlockClass& block_class) {
    return block_class.lifetime == lifetime && block_class.tokens_per_row == rows.tokens_per_row &&
           block_class.open_window == rows.open_window;
  });
  if (found != classes_.end()) return *found;
  BlockClass& added = classes_.emplace_back();
  added.lifetime = lifetime;
  added.tokens_per_row = rows.tokens_per_row;
  added.open_window = rows.open_window;
  return added;
}

const BlockClass& StateLayout::ClassAt(ClassIndex block_class) const {
  const auto index = static_cast<size_t>(block_class.value());
  CAIRN_CHECK(index < classes_.size());
  return classes_[index];
}

StateLayout::RowsPlace StateLayout::PlaceOf(LayerIndex layer, std::string_view name) const {
  const std::optional<RowsPlace> place = FindPlace(layer, name);
  CAIRN_CHECK(place.has_value());
  return *place;
}

std::optional<StateLayout::RowsPlace> StateLayout::FindPlace(LayerIndex layer,
                                                             std::string_view name) const {
  CAIRN_CHECK(static_cast<size_t>(layer.value()) < spec_.layers.size());
  const LayerState& state = spec_.layers[static_cast<size_t>(layer.value())];
  if (IsAlias(state)) return FindPlace(std::get<Alias>(state.components.front()).layer, name);
  for (size_t i = 0; i < classes_.size(); ++i) {
    for (const RowsSlot& slot : classes_[i].slots) {
      if (slot.layer != layer) continue;
      const Rows& rows = std::get<Rows>(state.components[static_cast<size_t>(slot.component)]);
      if (rows.name == name) return RowsPlace{ClassIndex(static_cast<int32_t>(i)), &slot, &rows};
    }
  }
  return std::nullopt;
}

int64_t StateLayout::RowsNeeded(ClassIndex block_class, TokenCount tokens) const {
  CheckTokens(tokens);
  const BlockClass& c = ClassAt(block_class);
  return c.RowsCompleted(tokens) - c.RowsCompleted(c.lifetime.FirstNeeded(tokens));
}

int64_t StateLayout::RowsSeen(ClassIndex block_class, TokenCount tokens) const {
  CheckTokens(tokens);
  const BlockClass& c = ClassAt(block_class);
  const bool all = c.KeepsAll();
  const TokenCount most = c.lifetime.tokens * (1 + c.lifetime.chunks_before);
  return c.RowsCompleted(all ? tokens : std::min(tokens, most));
}

BlockRange StateLayout::BlocksHeld(ClassIndex block_class, TokenCount tokens) const {
  return BlocksWhileAdding(block_class, tokens, TokenCount(0));
}

BlockRange StateLayout::BlocksWhileAdding(ClassIndex block_class, TokenCount tokens,
                                          TokenCount added) const {
  CheckTokens(tokens, added);
  const BlockClass& c = ClassAt(block_class);
  const int64_t first_row = c.RowsCompleted(c.lifetime.FirstNeeded(tokens));
  const int64_t end_row = c.RowsCompleted(tokens + added);
  return {.first = first_row / kRowsPerBlock, .end = DivideRoundingUp(end_row, kRowsPerBlock)};
}

Bytes StateLayout::ContentBytes(TokenCount tokens) const {
  Bytes sum = fixed_content_bytes_;
  for (size_t i = 0; i < classes_.size(); ++i) {
    sum += classes_[i].row_bytes * RowsNeeded(ClassIndex(static_cast<int32_t>(i)), tokens);
  }
  return sum;
}

ElementCount StateLayout::ContentElements(TokenCount tokens) const {
  ElementCount sum = fixed_elements_;
  for (size_t i = 0; i < classes_.size(); ++i) {
    sum += classes_[i].row_elements * RowsNeeded(ClassIndex(static_cast<int32_t>(i)), tokens);
  }
  return sum;
}

Bytes StateLayout::SeenBytes(bool open_window, TokenCount tokens) const {
  Bytes sum;
  for (size_t i = 0; i < classes_.size(); ++i) {
    if (classes_[i].open_window != open_window) continue;
    sum += classes_[i].row_bytes * RowsSeen(ClassIndex(static_cast<int32_t>(i)), tokens);
  }
  return sum;
}

Bytes StateLayout::SeenRowBytes(TokenCount tokens) const { return SeenBytes(false, tokens); }

Bytes StateLayout::OpenWindowBytes(TokenCount tokens) const { return SeenBytes(true, tokens); }

Bytes StateLayout::AllocatedBytes(TokenCount tokens) const {
  return AllocatedBytesWhileAdding(tokens, TokenCount(0));
}

Bytes StateLayout::AllocatedBytesWhileAdding(TokenCount tokens, TokenCount added) const {
  return AllocatedBytesWithout(TokenCount(0), tokens, added);
}

std::optional<ClassIndex> StateLayout::DroppableClass() const {
  for (size_t i = 0; i < classes_.size(); ++i) {
    const BlockClass& c = classes_[i];
    if (c.lifetime == Lifetime::All() && c.tokens_per_row == TokenCount(1) && !c.open_window) {
      return ClassIndex(static_cast<int32_t>(i));
    }
  }
  return std::nullopt;
}

TokenCount StateLayout::TokensLeft(ClassIndex block_class, TokenCount tokens,
                                   TokenCount dropped) const {
  return block_class == DroppableClass() ? tokens - dropped : tokens;
}

Bytes StateLayout::AllocatedBytesWithout(TokenCount dropped, TokenCount tokens,
                                         TokenCount added) const {
  Bytes sum = fixed_bytes_;
  for (size_t i = 0; i < classes_.size(); ++i) {
    const ClassIndex index(static_cast<int32_t>(i));
    const TokenCount left = TokensLeft(index, tokens, dropped);
    sum += classes_[i].block_bytes * BlocksWhileAdding(index, left, added).count().value();
  }
  return sum;
}

Bytes StateLayout::MarginalBytesPerToken() const {
  Bytes sum;
  for (const BlockClass& c : classes_) {
    if (c.lifetime.kind != Lifetime::Kind::kAll) continue;
    sum += Bytes(DivideRoundingUp(c.row_bytes.value(), c.tokens_per_row.value()));
  }
  return sum;
}

ElementCount StateLayout::MarginalElementsPerToken() const {
  ElementCount sum;
  for (const BlockClass& c : classes_) {
    if (c.lifetime.kind != Lifetime::Kind::kAll) continue;
    sum += ElementCount(DivideRoundingUp(c.row_elements.value(), c.tokens_per_row.value()));
  }
  return sum;
}

}  // namespace cairn
