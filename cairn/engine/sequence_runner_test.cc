#include "cairn/engine/sequence_runner.h"

#include <doctest/doctest.h>

#include <cstring>
#include <vector>

namespace cairn {
namespace {

// Remembers each token as a row of one float; its logits are the sum of the rows at every index.
class SumModel final : public Model {
 public:
  explicit SumModel(Lifetime lifetime) : layout_(LayoutOf(lifetime)) {
    spec_.vocabulary = 8;
    spec_.context_length = TokenCount(1000);
  }

  const ModelSpec& spec() const override { return spec_; }
  const StateLayout& layout() const override { return layout_; }
  Bytes weight_bytes() const override { return Bytes(0); }

  void Forward(std::span<const BatchSpan> batch) override {
    sums_.clear();
    for (const BatchSpan& span : batch) {
      int64_t position = span.state.tokens_before.value();
      const int64_t first_wanted =
          position + static_cast<int64_t>(span.tokens.size()) - span.logits;
      for (const TokenId token : span.tokens) {
        Row(span.state, position) = static_cast<float>(token.value());
        ++position;
        if (position > first_wanted) sums_.push_back(SumUpTo(span.state, position));
      }
    }
    calls_.push_back(static_cast<int64_t>(batch.front().tokens.size()));
  }
  int64_t logit_rows() const override { return static_cast<int64_t>(sums_.size()); }
  void Logits(int64_t first, int64_t count, float* out) override {
    for (int64_t i = 0; i < count * spec_.vocabulary; ++i) {
      out[i] = sums_[static_cast<size_t>(first + i / spec_.vocabulary)];
    }
  }

  void HiddenStates(int64_t /*first*/, int64_t /*count*/, float* /*out*/) override {}

  const std::vector<int64_t>& calls() const { return calls_; }

 private:
  static StateLayout LayoutOf(Lifetime lifetime) {
    Rows rows;
    rows.name = "keys";
    rows.width = 1;
    rows.codec = DType::kF32;
    rows.lifetime = lifetime;
    return *StateLayout::Make({{LayerState{{rows}}}});
  }
  static float& Row(const SequenceView& state, int64_t position) {
    std::byte* block = state.tables[0].Block(position / kRowsPerBlock);
    return reinterpret_cast<float*>(block)[position % kRowsPerBlock];
  }
  float SumUpTo(const SequenceView& state, int64_t end) const {
    float sum = 0;
    const int64_t first = layout_.classes()[0].lifetime.FirstNeeded(TokenCount(end - 1)).value();
    for (int64_t p = first; p < end; ++p) sum += Row(state, p);
    return sum;
  }

  ModelSpec spec_;
  StateLayout layout_;
  std::vector<float> sums_;
  std::vector<int64_t> calls_;
};

std::vector<TokenId> Ids(std::initializer_list<int> values) {
  std::vector<TokenId> ids;
  for (const int v : values) ids.emplace_back(v);
  return ids;
}

std::unique_ptr<StateStore> StoreFor(const Model& model, SequenceRunner::Options options) {
  return *StateStore::Make(model.layout(), {.budget = StateBytesFor(model.layout(), options)});
}

}  // namespace

TEST_CASE("a prompt is computed in chunks and only its end has logits") {
  SumModel model(Lifetime::All());
  const SequenceRunner::Options options = {.context = TokenCount(50), .chunk = TokenCount(3)};
  const auto store = StoreFor(model, options);
  const auto runner = *SequenceRunner::Make(model, *store, options);
  std::vector<int64_t> progress;
  REQUIRE(runner->Append(Ids({1, 2, 3, 4, 5, 6, 7}), [&](TokenCount done) {
    progress.push_back(done.value());
    return true;
  }));
  CHECK(model.calls() == std::vector<int64_t>{3, 3, 1});
  CHECK(progress == std::vector<int64_t>{3, 6, 7});
  CHECK(runner->logits()[0] == 28.0f);
  REQUIRE(runner->Append(Ids({2})));
  CHECK(runner->logits()[0] == 30.0f);
  CHECK(store->Length(runner->id()) == TokenCount(8));
}

TEST_CASE("tokens that don't fit the context or the vocabulary change nothing") {
  SumModel model(Lifetime::All());
  const SequenceRunner::Options options = {.context = TokenCount(4), .chunk = TokenCount(2)};
  const auto store = StoreFor(model, options);
  const auto runner = *SequenceRunner::Make(model, *store, options);
  const Status too_long = runner->Append(Ids({1, 1, 1, 1, 1}));
  REQUIRE_FALSE(too_long);
  CHECK(too_long.error().code == ErrorCode::kInvalidArgument);
  CHECK(too_long.error().message.find("5 tokens do not fit") != std::string::npos);
  CHECK_FALSE(runner->Append(Ids({1, 8})));
  CHECK_FALSE(runner->Append(Ids({-1})));
  CHECK(runner->tokens().empty());
  CHECK(model.calls().empty());
  CHECK(runner->Append(Ids({1, 2, 3, 4})));
}

TEST_CASE("progress can stop a prompt; what was computed stays") {
  SumModel model(Lifetime::All());
  const SequenceRunner::Options options = {.context = TokenCount(50), .chunk = TokenCount(2)};
  const auto store = StoreFor(model, options);
  const auto runner = *SequenceRunner::Make(model, *store, options);
  const Status status =
      runner->Append(Ids({1, 2, 3, 4, 5}), [](TokenCount done) { return done < TokenCount(4); });
  REQUIRE_FALSE(status);
  CHECK(status.error().code == ErrorCode::kCancelled);
  CHECK(runner->tokens().size() == 4);
}

TEST_CASE(
    "logits of every token come in order, whatever the chunks, and are those of single appends") {
  std::vector<TokenId> tokens;
  for (int i = 0; i < 45; ++i) tokens.emplace_back(i * 3 % 8);
  for (const int64_t chunk : {1, 7, 16, 45, 64}) {
    SumModel model(Lifetime::All());
    const SequenceRunner::Options options = {.context = TokenCount(64), .chunk = TokenCount(chunk)};
    const auto store = StoreFor(model, options);
    const auto runner = *SequenceRunner::Make(model, *store, options);
    REQUIRE(runner->Append(Ids({5})));
    std::vector<float> seen;
    REQUIRE(runner->AppendForLogits(tokens, [&](int64_t first, std::span<const float> rows) {
      CHECK(first * 8 == static_cast<int64_t>(seen.size()));
      seen.insert(seen.end(), rows.begin(), rows.end());
    }));
    REQUIRE(seen.size() == 45 * 8);
    float sum = 5;
    for (size_t i = 0; i < tokens.size(); ++i) {
      sum += static_cast<float>(tokens[i].value());
      CHECK(seen[i * 8 + 7] == sum);
    }
    CHECK(runner->logits()[0] == sum);
    CHECK(runner->tokens().size() == 46);
    CHECK_FALSE(runner->AppendForLogits(tokens, [](int64_t, std::span<const float>) {}));
    CHECK(runner->tokens().size() == 46);
  }
}

TEST_CASE("after a rewind the sequence goes on as if the rest had never been") {
  SumModel model(Lifetime::All());
  const SequenceRunner::Options options = {.context = TokenCount(50), .chunk = TokenCount(8)};
  const auto store = StoreFor(model, options);
  const auto runner = *SequenceRunner::Make(model, *store, options);
  REQUIRE(runner->Append(Ids({1, 2, 3, 4, 5})));
  REQUIRE(runner->Rewind(TokenCount(2)));
  REQUIRE(runner->Append(Ids({7})));
  CHECK(runner->logits()[0] == 10.0f);
  CHECK(runner->tokens().size() == 3);
}

TEST_CASE("the bytes planned for a runner are enough at every length and no byte too many") {
  for (const Lifetime& lifetime : {Lifetime::All(), Lifetime::Window(TokenCount(20))}) {
    for (const int64_t chunk : {1, 5, 16, 40}) {
      SumModel model(lifetime);
      const SequenceRunner::Options options = {.context = TokenCount(200),
                                               .chunk = TokenCount(chunk)};
      const auto store = StoreFor(model, options);
      const auto runner = *SequenceRunner::Make(model, *store, options);
      CHECK(runner->Append(std::vector<TokenId>(200, TokenId(1))));
      CHECK(store->stats().live <= StateBytesFor(model.layout(), options));
    }
  }
}

}  // namespace cairn
