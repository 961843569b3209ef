// What a step costs after many tokens beside what it costs after few: as much for recurrent layers,
// bounded by the window for windows and by the picks for an index, in proportion to the rows seen
// for the rest.
#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <ctime>
#include <numeric>
#include <optional>
#include <variant>
#include <vector>

#include "cairn/base/work_log.h"
#include "cairn/sizing/bounds_flops.h"
#include "tests/model_for_tests.h"

namespace cairn {
namespace {

int64_t Sum(const OperationCounts& operations) {
  return std::accumulate(operations.counts.begin(), operations.counts.end(), int64_t{0});
}

// Feeds one sequence with the prompt of its golden, over and over.
class Feeder {
 public:
  Feeder(const Golden& golden, LoadedModel& loaded)
      : prompt_(golden.prompt), loaded_(loaded), id_(*loaded.store().Create()) {}
  ~Feeder() { loaded_.store().Release(id_); }
  Feeder(const Feeder&) = delete;
  Feeder& operator=(const Feeder&) = delete;

  void AdvanceTo(int64_t position) { Advance(position - position_, 256); }
  void Advance(int64_t tokens, int64_t chunk) {
    std::vector<TokenId> fed;
    for (; tokens > 0; --tokens) {
      fed.push_back(prompt_[static_cast<size_t>(position_++) % prompt_.size()]);
    }
    loaded_.Feed(id_, fed, chunk);
  }
  WorkLog LogOfStep() {
    WorkLog log;
    loaded_.pool().set_work_log(&log);
    Advance(1, 1);
    loaded_.pool().set_work_log(nullptr);
    return log;
  }

 private:
  const std::vector<TokenId>& prompt_;
  LoadedModel& loaded_;
  const SequenceId id_;
  int64_t position_ = 0;
};

// Whether some layer reads all rows, however many there are.
struct ReadsAll {
  bool operator()(const AttentionSpec& attention) const {
    return attention.lifetime.kind == Lifetime::Kind::kAll && attention.picks == 0;
  }
  bool operator()(const SharedAttentionSpec& shared) const { return (*this)(shared.attention); }
  bool operator()(const AttentionBesideMambaSpec& both) const { return (*this)(both.attention); }
  bool operator()(const LatentAttentionSpec& latent) const { return latent.picks == 0; }
  bool operator()(const CompressedAttentionSpec& entries) const {
    return entries.ratio > 0 && entries.picks == 0;
  }
  bool operator()(const auto& /*keeps no row a token*/) const { return false; }
};

bool IsBounded(const ModelSpec& spec) {
  return std::ranges::none_of(
      spec.layers, [](const LayerSpec& layer) { return std::visit(ReadsAll(), layer.mixer); });
}

const AttentionSpec* SoftmaxOf(const LayerSpec& layer) {
  return std::get_if<AttentionSpec>(&layer.mixer);
}

const std::optional<SparseIndexSpec>* IndexOf(const LayerSpec& layer) {
  if (const auto* latent = std::get_if<LatentAttentionSpec>(&layer.mixer)) return &latent->index;
  if (const auto* entries = std::get_if<CompressedAttentionSpec>(&layer.mixer)) {
    return &entries->index;
  }
  return SoftmaxOf(layer) != nullptr ? &SoftmaxOf(layer)->index : nullptr;
}

// An index scores a key of each token, however few rows it picks.
bool HasIndex(const ModelSpec& spec) {
  return std::ranges::any_of(spec.layers, [](const LayerSpec& layer) {
    return IndexOf(layer) != nullptr && IndexOf(layer)->has_value();
  });
}

bool PicksBlocks(const ModelSpec& spec) {
  return std::ranges::any_of(spec.layers, [](const LayerSpec& layer) {
    const AttentionSpec* attention = SoftmaxOf(layer);
    return attention != nullptr && attention->index && attention->index->block > 0;
  });
}

// A router that may choose no expert makes steps unlike.
bool MaySkipExperts(const ModelSpec& spec) {
  return std::ranges::any_of(spec.layers, [](const LayerSpec& layer) {
    const auto* mixture = std::get_if<MixtureSpec>(&layer.feed_forward);
    return mixture != nullptr && mixture->router.network_width > 0;
  });
}

int64_t ProcessNanoseconds() {
  timespec now = {};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return int64_t{1000000000} * now.tv_sec + now.tv_nsec;
}

}  // namespace

TEST_CASE("a step's work grows with the rows that its layers see, and with nothing else") {
  constexpr std::array<int64_t, 3> kPositions = {64, 512, 1024};
  for (const std::string& name : GoldenNames()) {
    CAPTURE(name);
    const Golden golden = ReadGolden(name);
    LoadedModel loaded(GoldenFolder(name), {}, 1);
    const ModelSpec& spec = loaded.model().spec();
    Feeder feeder(golden, loaded);
    std::array<WorkLog, kPositions.size()> logs;
    for (size_t i = 0; i < kPositions.size(); ++i) {
      CAPTURE(kPositions[i]);
      feeder.AdvanceTo(kPositions[i]);
      logs[i] = feeder.LogOfStep();
      const Flops predicted = DecodeFlops(spec, 0, TokenCount(kPositions[i]));
      const auto done = static_cast<double>(Sum(logs[i][WorkKind::kAttention].operations));
      // Of the blocks that an index picks, the token's own isn't full.
      CHECK_LE(done, predicted.attention);
      if (!PicksBlocks(spec)) CHECK_EQ(done, predicted.attention);
      if (MaySkipExperts(spec)) continue;
      const WorkDone& products = logs[i][WorkKind::kMatrixProduct];
      CHECK_EQ(Sum(products.operations), Sum(logs[0][WorkKind::kMatrixProduct].operations));
      CHECK_EQ(products.weight_bytes, logs[0][WorkKind::kMatrixProduct].weight_bytes);
    }
    if (!IsBounded(spec)) continue;
    CHECK_EQ(Sum(logs[1][WorkKind::kAttention].operations),
             Sum(logs[2][WorkKind::kAttention].operations));
  }
}

// Recurrences note no work. Times of the process, the best of several, in turns; a state that grew,
// or was walked again, would take dozens of times as long.
TEST_CASE("a step without attention to all rows takes as long after many tokens as after few") {
  constexpr int64_t kFew = 64;
  constexpr int64_t kMany = 2048;
  constexpr int kSamples = 7;
  constexpr int64_t kSteps = 32;
  int models = 0;
  for (const std::string& name : GoldenNames()) {
    CAPTURE(name);
    const Golden golden = ReadGolden(name);
    LoadedModel loaded(GoldenFolder(name), {}, 1);
    if (!IsBounded(loaded.model().spec()) || HasIndex(loaded.model().spec())) continue;
    ++models;
    Feeder many(golden, loaded);
    many.AdvanceTo(kMany);
    std::array<int64_t, 2> best_ns = {INT64_MAX, INT64_MAX};
    for (int sample = 0; sample < kSamples; ++sample) {
      Feeder few(golden, loaded);
      few.AdvanceTo(kFew);
      for (Feeder* feeder : {&few, &many}) {
        const int64_t start_ns = ProcessNanoseconds();
        feeder->Advance(kSteps, 1);
        int64_t& best = best_ns[feeder == &many ? 1 : 0];
        best = std::min(best, ProcessNanoseconds() - start_ns);
      }
    }
    CHECK_LT(best_ns[1], 2 * best_ns[0]);
  }
  CHECK_GE(models, 4);  // two Mambas, RWKV, RetNet
}

}  // namespace cairn
