#include "cairn/state/tier_reader.h"

#include <doctest/doctest.h>

#include "cairn/state/audit.h"
#include "cairn/state/object_store_for_tests.h"
#include "cairn/state/tier_for_tests.h"
#include "cairn/state/tier_writer.h"

namespace cairn {
namespace {

constexpr TokenCount kRun{32};

// Tokens that were written to a tier; memory has nothing of them.
struct Below {
  Below(bool with_fixed, const Tokens& tokens) : store(PatternStore(with_fixed)), written(tokens) {
    tiers.emplace_back("disk", disk);
    const SequenceId id = ReadTokens(*store, key, tokens);
    TierWriter writer(*store, tiers, Bytes(1 << 20));
    writer.Write(PrefixChain(key, tokens, kRun), id, /*with_end=*/true);
    disk.Run();
    for (const auto& completion : disk.Poll()) CHECK(writer.Take(0, completion));
    store->Release(id);
    reader = std::make_unique<TierReader>(*store, tiers);
  }
  std::optional<LoadPlan> Plan(const Tokens& tokens, int64_t in_memory = 0, int64_t resumable = 0) {
    const TokenCount most(static_cast<int64_t>(tokens.size()) - 1);
    return reader->Plan(PrefixChain(key, tokens, kRun), TokenCount(in_memory),
                        TokenCount(resumable), most, 0);
  }
  void Poll() {
    for (const auto& completion : disk.Poll()) CHECK(reader->Take(0, completion, 0));
  }
  void Audit() const {
    cairn::Audit(*store, [this](const RefVisitor& visit) { reader->ForEachRef(visit); });
  }

  StateKey key;
  std::unique_ptr<StateStore> store;
  Tokens written;
  MemoryObjectStore disk;
  std::vector<Tier> tiers;
  std::unique_ptr<TierReader> reader;
};

}  // namespace

TEST_CASE("a load brings back the longest sequence that a tier has, byte for byte") {
  for (const bool with_fixed : {false, true}) {
    Below below(with_fixed, NumberTokens(100));
    const Tokens asked = NumberTokens(120);
    const std::optional<LoadPlan> plan = below.Plan(asked);
    REQUIRE(plan.has_value());
    CHECK(plan->tokens == TokenCount(100));
    CHECK(plan->objects.size() == 4);
    CHECK(plan->bytes ==
          below.store->layout().AllocatedBytes(TokenCount(100)) + Bytes(sizeof(TokenId)) * 100);
    const SequenceId id = *below.store->BeginLoad({}, TokenCount(0), plan->tokens);
    const LoadId load = below.reader->Start(*plan, id);
    below.disk.Run(2);
    below.Poll();
    CHECK(below.reader->StateOf(load) == LoadState::kReading);
    below.Audit();
    below.disk.Run();
    below.Poll();
    REQUIRE(below.reader->StateOf(load) == LoadState::kDone);
    CHECK(below.reader->Finish(load) == id);
    below.store->EndLoad(id);
    CheckBytes(*below.store, id, below.key, below.written);
    below.Audit();
    below.store->Release(id);
  }
}

TEST_CASE("rows that memory has are shared and not read") {
  Below below(/*with_fixed=*/true, NumberTokens(100));
  const SequenceId live = ReadTokens(*below.store, below.key, NumberTokens(70));
  const KeptRows rows = below.store->KeepRows(live, TokenCount(0), TokenCount(70));
  const std::optional<LoadPlan> plan = below.Plan(NumberTokens(120), 70, 0);
  REQUIRE(plan.has_value());
  CHECK(plan->shared == TokenCount(64));
  CHECK(plan->objects.size() == 2);
  const KeptRows* const path[] = {&rows};
  const Bytes before = below.store->LiveBytes();
  const SequenceId id = *below.store->BeginLoad(path, plan->shared, plan->tokens);
  CHECK(below.store->LiveBytes() - before == below.store->BytesToLoad(plan->shared, plan->tokens));
  const LoadId load = below.reader->Start(*plan, id);
  below.disk.Run();
  below.Poll();
  CHECK(below.reader->Finish(load) == id);
  below.store->EndLoad(id);
  CheckBytes(*below.store, id, below.key, below.written);
  below.store->Release(id);
  below.store->Release(live);
}

TEST_CASE("nothing is planned that isn't longer, whole, and of these tokens") {
  for (const bool with_fixed : {false, true}) {
    Below below(with_fixed, NumberTokens(100));
    CHECK_FALSE(below.Plan(NumberTokens(120), 100, 100).has_value());
    Tokens other = NumberTokens(120);
    other[40] = TokenId(999);
    const std::optional<LoadPlan> first_run = below.Plan(other);
    CHECK(first_run.has_value() == !with_fixed);  // Fixed components exist at the end alone
    if (first_run) CHECK(first_run->tokens == TokenCount(32));
    below.disk.objects().erase(PrefixChain(below.key, below.written, kRun).RunKey(1));
    const std::optional<LoadPlan> gap = below.Plan(NumberTokens(120));
    CHECK(gap.has_value() == !with_fixed);
    if (gap) CHECK(gap->tokens == TokenCount(32));
  }
}

TEST_CASE("an object of other tokens than its key says is not believed") {
  Below below(/*with_fixed=*/false, NumberTokens(100));
  auto& object =
      below.disk.objects().at(PrefixChain(below.key, below.written, kRun).EndKey(TokenCount(100)));
  object.bytes.back() ^= std::byte{1};
  const std::optional<LoadPlan> plan = below.Plan(NumberTokens(120));
  const SequenceId id = *below.store->BeginLoad({}, TokenCount(0), plan->tokens);
  const LoadId load = below.reader->Start(*plan, id);
  below.disk.Run();
  below.Poll();
  CHECK(below.reader->StateOf(load) == LoadState::kFailed);
  below.reader->Abandon(load);
  CHECK_FALSE(below.Plan(NumberTokens(120)).has_value());  // of a store that lies
  // It makes room for the right one.
  CHECK(below.disk.objects().size() == 3);
  CHECK_FALSE(below.reader->idle());
  below.Poll();
  CHECK(below.reader->idle());
}

TEST_CASE("one object that fails fails the load, and its blocks stay until all requests ended") {
  Below below(/*with_fixed=*/false, NumberTokens(100));
  const std::optional<LoadPlan> plan = below.Plan(NumberTokens(120));
  const SequenceId id = *below.store->BeginLoad({}, TokenCount(0), plan->tokens);
  const LoadId load = below.reader->Start(*plan, id);
  below.disk.next_outcomes = ObjectOutcome::kDamaged;
  below.disk.Run(1);
  below.disk.next_outcomes = ObjectOutcome::kDone;
  below.Poll();
  CHECK(below.reader->StateOf(load) == LoadState::kReading);
  below.reader->Abandon(load);
  CHECK(below.store->sequence_count() == 0);
  CHECK(below.store->LiveBytes() > Bytes(0));
  below.Audit();
  below.disk.Run();
  below.Poll();
  CHECK(below.store->LiveBytes() == Bytes(0));
  CHECK(below.reader->loading() == 0);
}

}  // namespace cairn
