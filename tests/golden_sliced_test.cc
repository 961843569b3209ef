// Pieces of a prompt that pass the layers in several calls, among others: the bits of one call.
#include <doctest/doctest.h>

#include <algorithm>
#include <vector>

#include "cairn/spec/state_spec_for_tests.h"
#include "cairn/state/audit.h"
#include "tests/model_for_tests.h"

namespace cairn {
namespace {

// Reads the prompt with one sequence piece by piece and slice by slice, while others read it too,
// one token in some of the calls.
class SlicedReading {
 public:
  SlicedReading(LoadedModel& loaded, const Golden& golden, uint64_t seed)
      : loaded_(loaded),
        tokens_(golden.prompt),
        layers_(static_cast<int64_t>(loaded.model().spec().layers.size())),
        choose_(seed),
        sliced_{.id = *loaded.store().Create(), .logits = {}},
        others_(3) {
    for (Reader& other : others_) other.id = *loaded.store().Create();
  }

  void Run() {
    while (Read(sliced_) < std::ssize(tokens_)) {
      const int64_t left = std::ssize(tokens_) - Read(sliced_);
      piece_ = std::min<int64_t>(left, 1 + choose_(20));
      Prepare(sliced_.id, piece_);
      for (slice_ = {0, 0}; slice_.end < layers_; slice_.first = slice_.end) {
        slice_.end = std::min(layers_, slice_.first + 1 + choose_(layers_));
        Call(true);
        if (choose_(3) == 0) Call(false);
        Audit(loaded_.store());
        // It may be dropped on its way, where no region has been moved on.
        const bool can_drop = loaded_.model().layout().fixed_bytes() == Bytes(0);
        if (slice_.end < layers_ && can_drop && choose_(8) == 0) break;
      }
      const bool dropped = slice_.end < layers_;
      loaded_.store().Commit(sliced_.id, TokenCount(dropped ? 0 : piece_));
      drops_ += dropped ? 1 : 0;
    }
  }
  void Compare(std::span<const float> expected, const StateBytes& state) {
    CHECK(SameBits(sliced_.logits, expected));
    CHECK(loaded_.StateOf(sliced_.id) == state);
    for (const Reader& other : others_) {
      CHECK(SameBits(other.logits, expected.first(other.logits.size())));
    }
  }
  int64_t drops() const { return drops_; }

 private:
  struct Reader {
    SequenceId id;
    std::vector<float> logits;
  };

  int64_t Read(const Reader& reader) const { return loaded_.store().Length(reader.id).value(); }
  void Prepare(SequenceId id, int64_t count) {
    REQUIRE(loaded_.store().Prepare(id, TokenCount(count)).has_value());
  }
  void Add(const Reader& reader, int64_t count, LayerRange layers) {
    batch_.push_back({.state = loaded_.store().View(reader.id),
                      .tokens = std::span(tokens_).subspan(static_cast<size_t>(Read(reader)),
                                                           static_cast<size_t>(count)),
                      .logits = count,
                      .layers = layers});
  }
  void Call(bool with_slice) {
    batch_.clear();
    std::vector<Reader*> reading;
    for (Reader& other : others_) {
      if (choose_(2) == 0 || Read(other) == std::ssize(tokens_)) continue;
      Prepare(other.id, 1);
      Add(other, 1, {});
      reading.push_back(&other);
    }
    if (with_slice) Add(sliced_, piece_, slice_);
    if (batch_.empty()) return;
    loaded_.model().Forward(batch_);
    int64_t row = 0;
    for (Reader* other : reading) {
      TakeLogits(*other, row++, 1);
      loaded_.store().Commit(other->id, TokenCount(1));
    }
    const bool ends = with_slice && slice_.end == layers_;
    if (ends) TakeLogits(sliced_, row, piece_);
    CHECK(loaded_.model().logit_rows() == row + (ends ? piece_ : 0));
  }
  void TakeLogits(Reader& reader, int64_t first, int64_t count) {
    const size_t before = reader.logits.size();
    reader.logits.resize(before + static_cast<size_t>(count * loaded_.vocabulary()));
    loaded_.model().Logits(first, count, reader.logits.data() + before);
  }

  LoadedModel& loaded_;
  const std::vector<TokenId>& tokens_;
  const int64_t layers_;
  RandomChoice choose_;
  Reader sliced_;
  std::vector<Reader> others_;
  std::vector<BatchSpan> batch_;
  LayerRange slice_;
  int64_t piece_ = 0;
  int64_t drops_ = 0;
};

}  // namespace

TEST_CASE("a piece whose layers are shared out among calls leaves the bits of one call") {
  int64_t drops = 0;
  for (const std::string& name : GoldenNames()) {
    CAPTURE(name);
    const Golden golden = ReadGolden(name);
    LoadedModel whole(GoldenFolder(name), {}, 1);
    const SequenceId id = *whole.store().Create();
    const std::vector<float> expected = whole.Feed(id, golden.prompt, 512);
    const StateBytes state = whole.StateOf(id);
    LoadedModel loaded(GoldenFolder(name), {}, 2);
    REQUIRE(loaded.model().CanSlice());
    for (uint64_t seed = 1; seed <= 3; ++seed) {
      CAPTURE(seed);
      SlicedReading reading(loaded, golden, seed);
      reading.Run();
      reading.Compare(expected, state);
      drops += reading.drops();
    }
  }
  CHECK(drops > 50);
}

}  // namespace cairn
