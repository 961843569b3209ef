// Rows that are stored rotated or standardised: the goldens' answers, and the same bits in any
// parts.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <variant>
#include <vector>

#include "cairn/models/key_standards.h"
#include "cairn/state/audit.h"
#include "tests/model_for_tests.h"

namespace cairn {
namespace {

constexpr int64_t kWhole = 512;

StateCodecs Turned(DType codec, RowTransform keys) {
  return {.keys = {codec, keys},
          .values = {codec, RowTransform::kRotated},
          .convolutions = DType::kF32};
}

// Keys of the golden's own prompt.
KeyStandards StandardsOf(const Golden& golden) {
  LoadedModel exact(GoldenFolder(golden.name), {DType::kF32, DType::kF32}, 1);
  KeyMeter meter(exact.model().spec(), TokenCount(2048));
  exact.model().ObserveKeys(&meter);
  exact.Feed(*exact.store().Create(), golden.prompt, kWhole);
  const Result<KeyStandards> standards = meter.Standards();
  REQUIRE_MESSAGE(standards.has_value(), (standards ? "" : standards.error().message));
  return *standards;
}

bool HasRows(const StateSpec& spec, RowTransform transform) {
  for (const LayerState& layer : spec.layers) {
    for (const Component& component : layer.components) {
      const auto* rows = std::get_if<Rows>(&component);
      if (rows != nullptr && rows->transform == transform) return true;
    }
  }
  return false;
}

double MedianDifference(std::span<const float> a, std::span<const float> b) {
  REQUIRE(a.size() == b.size());
  std::vector<double> differences;
  for (size_t i = 0; i < a.size(); ++i) differences.push_back(std::abs(double{a[i]} - b[i]));
  const auto middle = differences.begin() + std::ssize(differences) / 2;
  std::ranges::nth_element(differences, middle);
  return *middle;
}

double LargestOf(std::span<const float> values) {
  double largest = 0;
  for (const float v : values) largest = std::max(largest, std::abs(double{v}));
  return largest;
}

}  // namespace

// Means pass through bf16 when they are added to scores, as keys of bf16 state do.
TEST_CASE("rotated and standardised rows answer as plain ones do, and no split changes a bit") {
  int standardised = 0;
  int rotated = 0;
  for (const std::string& name : GoldenNames()) {
    CAPTURE(name);
    const Golden golden = ReadGolden(name);
    const StateSpec plain =
        StateSpecOf(GoldenSpec(name), Turned(DType::kF32, RowTransform::kStandardized));
    if (!HasRows(plain, RowTransform::kRotated)) continue;
    KeyStandards standards;
    const bool has_keys = HasRows(plain, RowTransform::kStandardized);
    if (has_keys) standards = StandardsOf(golden);
    for (const RowTransform keys : {RowTransform::kRotated, RowTransform::kStandardized}) {
      if (keys == RowTransform::kStandardized && !has_keys) continue;
      ++(keys == RowTransform::kStandardized ? standardised : rotated);
      LoadedModel loaded(GoldenFolder(name), Turned(DType::kF32, keys), 1, standards);
      const SequenceId whole = *loaded.store().Create();
      const std::vector<float> expected = loaded.Feed(whole, golden.prompt, kWhole);
      CHECK(MedianDifference(expected, golden.logits) < 0.005 * LargestOf(golden.logits));
      const StateBytes state = loaded.StateOf(whole);
      for (const int threads : {1, 2}) {
        LoadedModel again(GoldenFolder(name), Turned(DType::kF32, keys), threads, standards);
        for (const int64_t chunk : {1, 7, 64}) {
          const SequenceId id = *again.store().Create();
          CHECK(SameBits(again.Feed(id, golden.prompt, chunk), expected));
          CHECK(again.StateOf(id) == state);
        }
        const auto head = std::span(golden.prompt).first(37);
        const SequenceId parent = *again.store().Create();
        again.Feed(parent, head, kWhole);
        const SequenceId fork = *again.store().Fork(parent);
        const std::vector<float> after =
            again.Feed(fork, std::span(golden.prompt).subspan(37), kWhole);
        CHECK(SameBits(after, std::span(expected).last(after.size())));
        Audit(again.store());
      }
    }
  }
  CHECK(standardised >= 20);
  CHECK(rotated >= standardised);
}

TEST_CASE("keys are standardised with what was measured of this model, or not at all") {
  ThreadPool pool(1);
  const ModelOptions options = {.codecs = Turned(DType::kF16, RowTransform::kStandardized),
                                .standards = {},
                                .context = TokenCount(128)};
  CHECK_FALSE(LoadModel(GoldenFolder("llama_mqa"), options, pool));
}

}  // namespace cairn
