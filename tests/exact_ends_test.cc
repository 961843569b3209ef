// State whose first and last rows are kept exactly as well, in whole models.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <span>
#include <string>
#include <vector>

#include "cairn/state/audit.h"
#include "tests/model_for_tests.h"

namespace cairn {
namespace {

constexpr int64_t kWhole = 512;
constexpr size_t kTokens = 210;  // some are neither among the first nor among the last

StateCodecs Coarse(bool ends) {
  return {.keys = {DType::kLM2, RowTransform::kRotated, ends},
          .values = {DType::kLM2, RowTransform::kRotated, ends},
          .convolutions = DType::kF32};
}

// Not all goldens have heads of whole blocks of 32 channels, or keys that are read whole.
bool CanHaveEnds(const std::string& name) {
  const auto layout = StateLayout::Make(StateSpecOf(GoldenSpec(name), Coarse(true)));
  if (!layout) return false;
  for (int32_t i = 0; i < static_cast<int32_t>(layout->spec().layers.size()); ++i) {
    if (layout->FindPlace(LayerIndex(i), std::string("keys") + kRecentSuffix)) return true;
  }
  return false;
}

std::vector<TokenId> LongPrompt(const Golden& golden) {
  std::vector<TokenId> tokens;
  for (size_t i = 0; i < kTokens; ++i) {
    tokens.push_back(golden.prompt[(i * i / 3 + i) % golden.prompt.size()]);
  }
  return tokens;
}

double MeanDifference(std::span<const float> a, std::span<const float> b) {
  REQUIRE(a.size() == b.size());
  double sum = 0;
  for (size_t i = 0; i < a.size(); ++i) sum += std::abs(double{a[i]} - b[i]);
  return sum / static_cast<double>(a.size());
}

}  // namespace

TEST_CASE("exact first and last rows bring answers nearer, and no split or fork changes a bit") {
  int tried = 0;
  for (const std::string& name : GoldenNames()) {
    if (!CanHaveEnds(name)) continue;
    CAPTURE(name);
    ++tried;
    const std::vector<TokenId> tokens = LongPrompt(ReadGolden(name));
    LoadedModel exact(GoldenFolder(name), {.keys = DType::kF32, .values = DType::kF32}, 1);
    const std::vector<float> wanted = exact.Feed(*exact.store().Create(), tokens, kWhole);
    LoadedModel coarse(GoldenFolder(name), Coarse(false), 1);
    const std::vector<float> without = coarse.Feed(*coarse.store().Create(), tokens, kWhole);

    LoadedModel loaded(GoldenFolder(name), Coarse(true), 1);
    const SequenceId whole = *loaded.store().Create();
    const std::vector<float> expected = loaded.Feed(whole, tokens, kWhole);
    CHECK(MeanDifference(expected, wanted) < MeanDifference(without, wanted));
    const StateBytes state = loaded.StateOf(whole);
    for (const int threads : {1, 2}) {
      LoadedModel again(GoldenFolder(name), Coarse(true), threads);
      for (const int64_t chunk : {1, 7, 64}) {
        const SequenceId id = *again.store().Create();
        CHECK(SameBits(again.Feed(id, tokens, chunk), expected));
        CHECK(again.StateOf(id) == state);
        again.store().Release(id);
      }
      for (const size_t cut : {size_t{9}, size_t{101}}) {
        const SequenceId parent = *again.store().Create();
        again.Feed(parent, std::span(tokens).first(cut), kWhole);
        const SequenceId fork = *again.store().Fork(parent);
        const std::vector<float> after = again.Feed(fork, std::span(tokens).subspan(cut), kWhole);
        CHECK(SameBits(after, std::span(expected).last(after.size())));
        Audit(again.store());
        again.store().Release(parent);
        again.store().Release(fork);
      }
    }
  }
  CHECK(tried >= 5);
}

TEST_CASE("a sequence of any length holds the exact rows that its next token reads, no others") {
  const auto layout = StateLayout::Make(StateSpecOf(GoldenSpec("llama_mqa"), Coarse(true)));
  REQUIRE(layout.has_value());
  const auto first = layout->PlaceOf(LayerIndex(0), std::string("keys") + kFirstSuffix);
  const auto recent = layout->PlaceOf(LayerIndex(0), std::string("keys") + kRecentSuffix);
  for (int64_t n = 0; n < 300; ++n) {
    const TokenCount tokens(n);
    CHECK_EQ(layout->RowsNeeded(first.block_class, tokens), std::min(n, kExactFirst));
    CHECK_EQ(layout->RowsNeeded(recent.block_class, tokens), n - FirstExactBefore(n));
  }
}

}  // namespace cairn
