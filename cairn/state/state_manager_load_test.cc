// Leases that begin on a tier: when reads are tried, when they are given up, and what is then said.
#include <doctest/doctest.h>

#include <memory>

#include "cairn/state/object_store_for_tests.h"
#include "cairn/state/state_manager.h"
#include "cairn/state/tier_for_tests.h"

namespace cairn {
namespace {

// A store, a tier and their manager, fed as an engine would.
struct Fed {
  explicit Fed(bool with_fixed, Bytes budget = Bytes(1 << 20))
      : store(PatternStore(with_fixed, budget)) {
    Restart();
  }
  // Two layers: rows of all tokens, and of those that the lifetime says.
  void UseLayersWith(Lifetime lifetime) {
    Rows rows;
    rows.name = "keys";
    rows.width = 16;
    Rows recent = rows;
    recent.name = "recent";
    recent.lifetime = lifetime;
    std::vector<LayerState> layers(2);
    layers[0].components = {rows};
    layers[1].components = {recent};
    manager.reset();
    store = *StateStore::Make(*StateLayout::Make({.layers = std::move(layers)}),
                              {.budget = Bytes(1 << 20)});
    Restart();
  }
  // The process comes back with nothing but the tier.
  void Restart() {
    manager.reset();
    StateManager::Options options;
    options.tiers.push_back({.name = "disk", .objects = &disk});
    options.run_tokens = TokenCount(32);
    manager = *StateManager::Make(*store, options);
  }
  void Read(LeaseId id, const Tokens& tokens) {
    const SequenceId sequence = manager->Sequence(id);
    const TokenCount added =
        TokenCount(static_cast<int64_t>(tokens.size())) - store->Length(sequence);
    REQUIRE(manager->Prepare(id, added));
    WriteTokens(store->layout(), store->View(sequence), StampsOf(key, tokens));
    store->Commit(sequence, added);
  }
  void ReadAndClose(const Tokens& tokens) {
    const LeaseId id = *manager->Open(key, tokens, now_us);
    Read(id, tokens);
    manager->Close(id, tokens, now_us);
    manager->Flush(now_us);
  }
  void ComputingIs(int64_t us_per_token) {
    manager->NoteCompute(TokenCount(0), TokenCount(1), us_per_token);
  }

  StateKey key;
  int64_t now_us = 0;
  std::unique_ptr<StateStore> store;
  MemoryObjectStore disk;
  std::unique_ptr<StateManager> manager;
};

}  // namespace

// sglang PR#30850: prompts of some lengths are never backed up.
TEST_CASE("state of every length is written and comes back after a restart") {
  for (const int layers : {0, 1, 2, 3}) {
    for (int64_t n = 1; n <= 100; ++n) {
      CAPTURE(layers);
      CAPTURE(n);
      Fed fed(/*with_fixed=*/layers == 1);
      if (layers == 2) fed.UseLayersWith(Lifetime::Window(TokenCount(24)));
      if (layers == 3) fed.UseLayersWith(Lifetime::Chunk(TokenCount(32)));  // nothing after 32
      const Tokens tokens = NumberTokens(n);
      fed.ReadAndClose(tokens);
      fed.Restart();
      const LeaseId id = *fed.manager->Open(fed.key, NumberTokens(n + 1), 0);
      CHECK_FALSE(fed.manager->Ready(id));
      fed.disk.Run();
      fed.manager->Poll(0);
      REQUIRE(fed.manager->Ready(id));
      CHECK(fed.manager->Origin(id).loaded == TokenCount(n));
      CHECK(fed.manager->Origin(id).why == MissReason::kNone);
      CheckBytes(*fed.store, fed.manager->Sequence(id), fed.key, tokens);
      fed.manager->Drop(id);
      fed.manager->Audit();
    }
  }
}

TEST_CASE("what is faster to compute than to read is computed, and the answer says so") {
  Fed fed(/*with_fixed=*/true);
  fed.ReadAndClose(NumberTokens(100));
  fed.Restart();
  fed.disk.read_bytes_per_second = 1e6;  // some 4 ms for 4 KB in 5 objects
  fed.ComputingIs(10);
  const LeaseId cheap = *fed.manager->Open(fed.key, NumberTokens(120), 0);
  CHECK(fed.manager->Ready(cheap));
  CHECK(fed.manager->Origin(cheap).why == MissReason::kNotLoaded);
  CHECK(fed.manager->stats().loads_declined == 1);
  CHECK(fed.disk.gets() == 0);
  fed.manager->Drop(cheap);

  for (int i = 0; i < 50; ++i) fed.ComputingIs(1000);
  const LeaseId dear = *fed.manager->Open(fed.key, NumberTokens(120), 0);
  CHECK_FALSE(fed.manager->Ready(dear));
  fed.disk.Run();
  fed.manager->Poll(1);
  CHECK(fed.manager->Origin(dear).loaded == TokenCount(100));
  fed.manager->Drop(dear);
}

TEST_CASE("a read that doesn't come is given up, and the tier looks dearer from then on") {
  Fed fed(/*with_fixed=*/false);
  fed.ReadAndClose(NumberTokens(100));
  fed.Restart();
  fed.ComputingIs(100);
  const double before = fed.manager->tiers()[0].ReadTimeUs(Bytes(10'000), 1);
  const LeaseId id = *fed.manager->Open(fed.key, NumberTokens(120), 0);
  fed.manager->Poll(10'000);
  CHECK_FALSE(fed.manager->Ready(id));
  fed.manager->Poll(100'000);
  REQUIRE(fed.manager->Ready(id));
  CHECK(fed.manager->Origin(id).resumed() == TokenCount(0));
  CHECK(fed.manager->Origin(id).why == MissReason::kNotLoaded);
  CHECK(fed.manager->stats().loads_late == 1);
  CHECK(fed.manager->tiers()[0].ReadTimeUs(Bytes(10'000), 1) > 2 * before);
  fed.Read(id, NumberTokens(120));
  fed.disk.Run();  // too late: into blocks that nobody looks at
  fed.manager->Poll(200'000);
  CheckBytes(*fed.store, fed.manager->Sequence(id), fed.key, NumberTokens(120));
  fed.manager->Drop(id);
  fed.manager->Audit();
}

TEST_CASE("a tier that was slow once is tried again after many reads were declined") {
  Fed fed(/*with_fixed=*/false);
  fed.ReadAndClose(NumberTokens(100));
  fed.Restart();
  fed.ComputingIs(20);
  const LeaseId late = *fed.manager->Open(fed.key, NumberTokens(101), 0);
  fed.manager->Poll(100'000);
  CHECK(fed.manager->stats().loads_late == 1);
  fed.manager->Drop(late);
  fed.disk.Run();
  fed.manager->Poll(200'000);
  int declined = 0;
  while (declined < 1000) {
    const LeaseId id = *fed.manager->Open(fed.key, NumberTokens(101), 300'000);
    const bool reads = !fed.manager->Ready(id);
    fed.manager->Drop(id);
    if (reads) break;
    ++declined;
  }
  CHECK(declined > 20);
  CHECK(declined < 200);
}

TEST_CASE("a read that had ended long before anybody looked doesn't make the tier look slow") {
  Fed fed(/*with_fixed=*/false);
  fed.ReadAndClose(NumberTokens(100));
  fed.Restart();
  fed.ComputingIs(100);
  const double before = fed.manager->tiers()[0].ReadTimeUs(Bytes(10'000), 1);
  const LeaseId id = *fed.manager->Open(fed.key, NumberTokens(101), 1000);
  fed.disk.Run();
  fed.manager->Poll(2'000'000);  // a long step
  CHECK(fed.manager->Origin(id).loaded == TokenCount(100));
  CHECK(fed.manager->tiers()[0].ReadTimeUs(Bytes(10'000), 1) == doctest::Approx(before));
  fed.manager->Drop(id);
}

// vllm#45388: under pressure transfers hold the last blocks, and nothing moves any more.
TEST_CASE("blocks that a hung tier holds are never the last ones") {
  constexpr Bytes kBudget{int64_t{16} << 20};
  Fed fed(/*with_fixed=*/false, kBudget);
  int32_t first = 0;
  for (int64_t left = 3 * kBudget.value() / 32; left > 0; left -= 20'000) {
    const Tokens tokens = NumberTokens(20'000, first);
    first += 20'000;
    const LeaseId id = *fed.manager->Open(fed.key, tokens, ++fed.now_us);
    fed.Read(id, tokens);
    fed.manager->Close(id, tokens, fed.now_us);
    fed.manager->Poll(fed.now_us);
  }
  CHECK(fed.disk.waiting() > 0);
  CHECK(fed.manager->writes().given_up > 0);
  const int64_t most_tokens = kBudget.value() / 32 * 3 / 4;
  const Tokens large = NumberTokens(most_tokens, 1 << 30);
  const LeaseId id = *fed.manager->Open(fed.key, large, ++fed.now_us);
  fed.Read(id, large);
  fed.manager->Drop(id);
  fed.manager->Audit();
}

TEST_CASE("while given-up reads of a hung tier hold much no more are begun") {
  constexpr int64_t kTokens = 40'000;  // more than a MiB
  Fed fed(/*with_fixed=*/false, Bytes(8 << 20));
  fed.disk.requests_max = 10'000;
  fed.ReadAndClose(NumberTokens(kTokens));
  fed.Restart();
  const Tokens asked = NumberTokens(kTokens + 1);
  LeaseId id = *fed.manager->Open(fed.key, asked, 0);
  CHECK_FALSE(fed.manager->Ready(id));
  fed.manager->Drop(id);
  const int64_t gets = fed.disk.gets();
  id = *fed.manager->Open(fed.key, asked, 0);
  CHECK(fed.manager->Ready(id));
  CHECK(fed.manager->Origin(id).why == MissReason::kNotLoaded);
  CHECK(fed.disk.gets() == gets);
  fed.manager->Drop(id);
  fed.disk.Run();
  fed.manager->Poll(0);
  id = *fed.manager->Open(fed.key, asked, 0);
  CHECK_FALSE(fed.manager->Ready(id));
  fed.manager->Drop(id);
  fed.manager->Audit();
}

TEST_CASE("two tiers complete each other") {
  Fed fed(/*with_fixed=*/true);
  const Tokens tokens = NumberTokens(100);
  fed.ReadAndClose(tokens);
  MemoryObjectStore far;
  far.objects() = fed.disk.objects();
  const PrefixChain chain(fed.key, tokens, TokenCount(32));
  fed.disk.objects().erase(chain.RunKey(1));
  far.objects().erase(chain.EndKey(TokenCount(100)));
  fed.manager.reset();
  StateManager::Options options;
  options.tiers.push_back({.name = "disk", .objects = &fed.disk});
  options.tiers.push_back({.name = "store", .objects = &far});
  options.run_tokens = TokenCount(32);
  fed.manager = *StateManager::Make(*fed.store, options);
  const LeaseId id = *fed.manager->Open(fed.key, NumberTokens(120), 0);
  CHECK(far.gets() == 1);
  fed.disk.Run();
  far.Run();
  fed.manager->Poll(0);
  CHECK(fed.manager->Origin(id).loaded == TokenCount(100));
  CheckBytes(*fed.store, fed.manager->Sequence(id), fed.key, tokens);
  fed.manager->Drop(id);
  fed.manager.reset();
}

TEST_CASE("why a prefix was missed is said") {
  Fed fed(/*with_fixed=*/true);
  fed.manager.reset();
  fed.manager = *StateManager::Make(*fed.store, {});
  const auto why = [&](const Tokens& tokens) {
    const LeaseId id = *fed.manager->Open(fed.key, tokens, ++fed.now_us);
    const MissReason reason = fed.manager->Origin(id).why;
    fed.manager->Drop(id);
    return reason;
  };
  const int64_t run = RunTokensFor(fed.store->layout()).value();
  CHECK(why(NumberTokens(2 * run)) == MissReason::kNew);
  fed.ReadAndClose(NumberTokens(2 * run));
  CHECK(why(NumberTokens(2 * run + 1)) == MissReason::kNone);
  CHECK(why(NumberTokens(3 * run)) == MissReason::kNew);
  CHECK(why(NumberTokens(run)) == MissReason::kNoPoint);
  Tokens other = NumberTokens(2 * run);
  other[0] = TokenId(1 << 20);
  CHECK(why(other) == MissReason::kNew);
  CHECK(fed.manager->MakeRoom(fed.store->stats().budget));
  CHECK(why(NumberTokens(2 * run + 1)) == MissReason::kEvicted);

  Fed rows(/*with_fixed=*/false);
  rows.ReadAndClose(NumberTokens(100));
  Tokens forked = NumberTokens(100);
  forked[50] = TokenId(1 << 20);
  const LeaseId id = *rows.manager->Open(rows.key, forked, 0);
  CHECK(rows.manager->Origin(id).memory == TokenCount(50));
  CHECK(rows.manager->Origin(id).why == MissReason::kDiverged);
  rows.manager->Drop(id);
}

TEST_CASE("what a read from a tier couldn't bring is said, too") {
  Fed fed(/*with_fixed=*/true);
  fed.ReadAndClose(NumberTokens(100));
  fed.ReadAndClose(NumberTokens(200));
  const Tokens all = NumberTokens(200);
  fed.disk.objects().erase(PrefixChain(fed.key, all, TokenCount(32)).EndKey(TokenCount(200)));
  CHECK(fed.manager->MakeRoom(fed.store->stats().budget));
  const LeaseId id = *fed.manager->Open(fed.key, NumberTokens(201), 0);
  fed.disk.Run();
  fed.manager->Poll(0);
  CHECK(fed.manager->Origin(id).loaded == TokenCount(100));
  CHECK(fed.manager->Origin(id).why == MissReason::kEvicted);
  fed.manager->Drop(id);
}

TEST_CASE("long prompts of models that can't resume anywhere are kept on their way") {
  Fed rows(/*with_fixed=*/false);
  LeaseId id = *rows.manager->Open(rows.key, NumberTokens(10), 0);
  CHECK(rows.manager->NextKeep(id, TokenCount(5000)) == TokenCount(5000));
  rows.manager->Drop(id);
  Fed fixed(/*with_fixed=*/true);
  id = *fixed.manager->Open(fixed.key, NumberTokens(10), 0);
  CHECK(fixed.manager->NextKeep(id, TokenCount(5000)) == TokenCount(1024));
  fixed.Read(id, NumberTokens(1024));
  CHECK(fixed.manager->NextKeep(id, TokenCount(5000)) == TokenCount(2048));
  CHECK(fixed.manager->NextKeep(id, TokenCount(1500)) == TokenCount(1499));
  fixed.manager->Drop(id);
}

}  // namespace cairn
