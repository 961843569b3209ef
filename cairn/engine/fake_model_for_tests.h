// A model of a few bytes whose answers show any fault in its state, under a clock that it moves.
//
// The row of a token is a hash of the token and of the row before it, as read back from the state;
// a row of logits hashes every row, window row and Fixed byte that the token may see. So an answer
// is a function of its tokens alone, and a wrong, stale or foreign byte anywhere changes it. Each
// Forward moves the clock by a cost for each token. With more than one layer pieces may pass them
// in several calls: the first layer writes the rows of all tokens, the last one those of the
// window. Only for tests.
#ifndef CAIRN_ENGINE_FAKE_MODEL_FOR_TESTS_H_
#define CAIRN_ENGINE_FAKE_MODEL_FOR_TESTS_H_

#include <algorithm>
#include <cstring>
#include <span>
#include <utility>
#include <vector>

#include "cairn/base/check.h"
#include "cairn/models/model.h"
#include "cairn/policies/token_policy.h"

namespace cairn {

class FakeModel final : public Model {
 public:
  struct Shape {
    bool window = false;  // rows of the last 24 tokens, beside those of all
    bool fixed = false;
    int64_t layers = 1;
  };
  struct Cost {
    int64_t step_us = 0;
    int64_t single_us = 1000;  // of the token of a span that has one
    int64_t token_us = 100;    // of each token of longer ones
    // Of a longer one for each token before it: what it must read. Layers share both.
    double read_us = 0;
  };
  static constexpr int64_t kVocabulary = 48;
  static constexpr int64_t kWindow = 24;
  static constexpr int64_t kHidden = 5;

  explicit FakeModel(Shape shape) : layout_(LayoutOf(shape)) {
    spec_.vocabulary = kVocabulary;
    spec_.context_length = TokenCount(1 << 20);
    spec_.hidden = kHidden;
    spec_.layers.resize(static_cast<size_t>(shape.layers));
  }

  const ModelSpec& spec() const override { return spec_; }
  const StateLayout& layout() const override { return layout_; }
  Bytes weight_bytes() const override { return Bytes(0); }
  bool CanSlice() const override { return layers() > 1; }

  void Forward(std::span<const BatchSpan> batch) override {
    rows_.clear();
    last_batch_.clear();
    now_us += cost.step_us;
    for (const BatchSpan& span : batch) {
      const LayerRange passed = {span.layers.first, std::min(span.layers.end, layers())};
      CAIRN_CHECK(passed.first < passed.end);
      const auto count = static_cast<int64_t>(span.tokens.size());
      now_us += CostOf(span, passed);
      last_batch_.push_back(count);
      if (passed.end == layers()) computed_tokens += count;
      const bool whole = passed.first == 0 && passed.end == layers();
      if (!whole) {
        CAIRN_CHECK(&span == &batch.back());
        PassHeld(span, passed);
        if (passed.end < layers()) continue;
      }
      int64_t position = span.state.tokens_before.value();
      const int64_t silent_to = position + count - span.logits;
      if (span.watcher != nullptr) {
        static_cast<Watcher*>(span.watcher)->Note(position, span.tokens);
      }
      for (const TokenId token : span.tokens) {
        if (whole) WriteFirst(span.state, position, token);
        WriteLast(span.state, position++, token);
        if (position > silent_to) rows_.push_back(HashOfState(span.state, position));
      }
    }
  }
  int64_t logit_rows() const override { return static_cast<int64_t>(rows_.size()); }
  void Logits(int64_t first, int64_t count, float* out) override {
    for (int64_t i = 0; i < count; ++i) {
      const uint64_t hash = rows_[static_cast<size_t>(first + i)];
      for (int64_t id = 0; id < kVocabulary; ++id) {
        *out++ = static_cast<float>(Mix(hash, static_cast<uint64_t>(id)) % 8192) / 1024 - 4;
      }
    }
  }

  void HiddenStates(int64_t first, int64_t count, float* out) override {
    for (int64_t i = 0; i < count; ++i) {
      const uint64_t hash = rows_[static_cast<size_t>(first + i)];
      for (int64_t c = 0; c < kHidden; ++c) {
        *out++ = static_cast<float>(Mix(hash, static_cast<uint64_t>(1000 + c)) % 65536) / 7919 - 4;
      }
    }
  }

  // Keeps the last row, and of the others what hashes of them, of the tokens that the policy must
  // have seen, and of all else that it may depend on say.
  Result<std::unique_ptr<RowWatcher>> WatchRows(const TokenPolicy& policy) const override {
    return std::make_unique<Watcher>(*this, policy);
  }

  // Sizes of the spans of the last batch.
  const std::vector<int64_t>& last_batch() const { return last_batch_; }

  int64_t now_us = 1'000'000;
  Cost cost;
  int64_t computed_tokens = 0;
  int64_t slices = 0;  // calls with a part of a piece's layers

 private:
  int64_t layers() const { return std::ssize(spec_.layers); }
  int64_t CostOf(const BatchSpan& span, LayerRange passed) const {
    const auto count = static_cast<int64_t>(span.tokens.size());
    if (count == 1 && passed.end - passed.first == layers()) return cost.single_us;
    const double whole = static_cast<double>(count * cost.token_us) +
                         cost.read_us * static_cast<double>(span.state.tokens_before.value());
    return static_cast<int64_t>(whole * static_cast<double>(passed.end - passed.first) /
                                static_cast<double>(layers()));
  }

  class Watcher final : public RowWatcher {
   public:
    Watcher(const FakeModel& model, const TokenPolicy& policy) : model_(&model), policy_(&policy) {}

    void Note(int64_t first, std::span<const TokenId> tokens) {
      if (seen_.empty()) from_ = first;
      CAIRN_CHECK(first == from_ + std::ssize(seen_));
      seen_.insert(seen_.end(), tokens.begin(), tokens.end());
    }
    std::unique_ptr<RowWatcher> Clone() const override { return std::make_unique<Watcher>(*this); }
    void OnRows(const SeenRows& /*seen*/) override {}
    void OnDropped(const RowsToKeep& /*kept*/) override {}

    RowsToKeep Choose(const SequenceView& state) const override {
      const int64_t tokens = state.tokens_before.value();
      CAIRN_CHECK(tokens == from_ + std::ssize(seen_));
      const PolicyNeeds needs = policy_->needs();
      CAIRN_CHECK(!needs.AllQueries() || from_ == 0);
      CAIRN_CHECK(from_ == 0 || std::ssize(seen_) >= needs.window);
      uint64_t hash = static_cast<uint64_t>(tokens);
      const int64_t looked_at = needs.AllQueries() ? tokens : std::min(needs.window, tokens);
      for (auto at = seen_.end() - looked_at; at != seen_.end(); ++at) {
        hash = Mix(hash, static_cast<uint64_t>(at->value()));
      }
      const int64_t rows = state.RowOf(tokens);
      const int64_t budget = policy_->settings().BudgetAt(state.tokens_before);
      std::vector<int32_t> kept;
      for (int64_t r = 0; r + 1 < rows && std::ssize(kept) + 1 < budget; ++r) {
        if (Mix(hash, Read(model_->RowAt(state, 0, r))) % 3 != 0) {
          kept.push_back(static_cast<int32_t>(r));
        }
      }
      kept.push_back(static_cast<int32_t>(rows - 1));
      return {{kept}};
    }

   private:
    const FakeModel* model_;
    const TokenPolicy* policy_;
    int64_t from_ = 0;
    std::vector<TokenId> seen_;
  };

  static StateLayout LayoutOf(Shape shape) {
    Rows rows;
    rows.name = "keys";
    rows.width = 2;
    rows.codec = DType::kF32;
    LayerState layer{.components = {rows}};
    if (shape.window) {
      rows.name = "recent";
      rows.lifetime = Lifetime::Window(TokenCount(kWindow));
      layer.components.emplace_back(rows);
    }
    if (shape.fixed) {
      Fixed fixed;
      fixed.name = "memory";
      fixed.elements = ElementCount(2);
      layer.components.emplace_back(fixed);
    }
    return *StateLayout::Make({.layers = {layer}});
  }

  static uint64_t Mix(uint64_t a, uint64_t b) {
    uint64_t z = (a ^ (b * 0x9E3779B97F4A7C15u)) + 0x632BE59BD9B4E019u;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
  }
  static uint64_t Read(const std::byte* from) {
    uint64_t value;
    std::memcpy(&value, from, sizeof value);
    return value;
  }
  std::byte* RowAt(const SequenceView& state, size_t block_class, int64_t row) const {
    return state.tables[block_class].Block(row / kRowsPerBlock) +
           layout_.classes()[block_class].slots[0].offset.value() +
           row % kRowsPerBlock * static_cast<int64_t>(sizeof(uint64_t));
  }
  // The first class is the one that loses rows.
  std::byte* Row(const SequenceView& state, size_t block_class, int64_t position) const {
    return RowAt(state, block_class, block_class == 0 ? state.RowOf(position) : position);
  }
  void WriteRow(const SequenceView& state, size_t c, int64_t position, TokenId token) const {
    const uint64_t before = position == 0 ? 7 : Read(Row(state, c, position - 1));
    const uint64_t value = Mix(before + c, static_cast<uint64_t>(token.value()));
    std::memcpy(Row(state, c, position), &value, sizeof value);
  }
  void WriteFirst(const SequenceView& state, int64_t position, TokenId token) const {
    WriteRow(state, 0, position, token);
  }
  void WriteLast(const SequenceView& state, int64_t position, TokenId token) const {
    for (size_t c = 1; c < layout_.classes().size(); ++c) WriteRow(state, c, position, token);
    if (state.fixed == nullptr) return;
    const uint64_t value = Mix(Read(state.fixed), static_cast<uint64_t>(token.value()));
    std::memcpy(state.fixed, &value, sizeof value);
  }
  // Each layer moves on what the tokens have with them; after the last it must be what their rows
  // say.
  void PassHeld(const BatchSpan& span, LayerRange passed) {
    CAIRN_CHECK(span.state.fixed == nullptr);
    ++slices;
    const int64_t before = span.state.tokens_before.value();
    if (passed.first == 0) {
      held_.clear();
      for (const TokenId token : span.tokens) {
        const int64_t position = before + std::ssize(held_);
        WriteFirst(span.state, position, token);
        held_.push_back(Read(Row(span.state, 0, position)));
      }
    } else {
      CAIRN_CHECK(held_layers_ == passed.first && held_.size() == span.tokens.size());
    }
    const auto pass = [](uint64_t held, LayerRange layers) {
      for (int64_t l = layers.first; l < layers.end; ++l)
        held = Mix(held, static_cast<uint64_t>(l));
      return held;
    };
    for (uint64_t& held : held_) held = pass(held, passed);
    held_layers_ = passed.end;
    if (passed.end < layers()) return;
    for (int64_t i = 0; i < std::ssize(held_); ++i) {
      const uint64_t row = Read(Row(span.state, 0, before + i));
      CAIRN_CHECK(held_[static_cast<size_t>(i)] == pass(row, {0, layers()}));
    }
  }
  uint64_t HashOfState(const SequenceView& state, int64_t end) const {
    uint64_t hash = static_cast<uint64_t>(end);
    for (size_t c = 0; c < layout_.classes().size(); ++c) {
      const TokenCount first = layout_.classes()[c].lifetime.FirstNeeded(TokenCount(end - 1));
      const int64_t end_row = c == 0 ? state.RowOf(end) : end;
      for (int64_t r = first.value(); r < end_row; ++r) hash = Mix(hash, Read(RowAt(state, c, r)));
    }
    return state.fixed == nullptr ? hash : Mix(hash, Read(state.fixed));
  }

  ModelSpec spec_;
  StateLayout layout_;
  std::vector<uint64_t> rows_;
  std::vector<int64_t> last_batch_;
  std::vector<uint64_t> held_;  // of the tokens of a piece that has passed `held_layers_` layers
  int64_t held_layers_ = 0;
};

}  // namespace cairn

#endif  // CAIRN_ENGINE_FAKE_MODEL_FOR_TESTS_H_
