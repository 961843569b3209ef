#include "cairn/state/tier_writer.h"

#include <doctest/doctest.h>

#include "cairn/state/audit.h"
#include "cairn/state/object_store_for_tests.h"
#include "cairn/state/tier_for_tests.h"

namespace cairn {
namespace {

constexpr TokenCount kRun{32};

struct Written {
  explicit Written(Bytes in_flight_max = Bytes(1 << 20)) {
    tiers.emplace_back("near", near);
    tiers.emplace_back("far", far);
    writer = std::make_unique<TierWriter>(*store, tiers, in_flight_max);
  }
  void Write(const Tokens& tokens, SequenceId id) {
    writer->Write(PrefixChain(key, tokens, kRun), id, /*with_end=*/true);
  }
  void Poll() {
    MemoryObjectStore* stores[] = {&near, &far};
    for (size_t tier = 0; tier < 2; ++tier) {
      for (const auto& completion : stores[tier]->Poll()) CHECK(writer->Take(tier, completion));
    }
    writer->Push();
  }
  void Audit() const {
    cairn::Audit(*store, [this](const RefVisitor& visit) { writer->ForEachRef(visit); });
  }

  StateKey key;
  std::unique_ptr<StateStore> store = PatternStore(/*with_fixed=*/true);
  MemoryObjectStore near, far;
  std::vector<Tier> tiers;
  std::unique_ptr<TierWriter> writer;
};

}  // namespace

TEST_CASE("runs and the end of a sequence go to every tier once, and their blocks are let go") {
  Written w;
  const Tokens tokens = NumberTokens(100);
  const SequenceId id = ReadTokens(*w.store, w.key, tokens);
  w.Write(tokens, id);
  w.Write(tokens, id);
  CHECK(w.near.waiting() == 4);  // three runs and an end
  w.store->Release(id);
  w.Audit();
  CHECK(w.store->LiveBytes() > Bytes(0));
  w.near.Run();
  w.Poll();
  CHECK(w.near.objects().size() == 4);
  CHECK(w.far.objects().empty());
  w.far.Run();
  w.Poll();
  CHECK(w.far.objects().size() == 4);
  CHECK(w.writer->idle());
  CHECK(w.writer->stats().written == 8);
  CHECK(w.store->LiveBytes() == Bytes(0));
  for (const auto& [key, object] : w.near.objects()) {
    CHECK(object.bytes == w.far.objects().at(key).bytes);
    CHECK(TierObjectOf(object.info.metadata).has_value());
  }

  const SequenceId again = ReadTokens(*w.store, w.key, tokens);
  w.Write(tokens, again);
  CHECK(w.writer->idle());  // all of it is there
  w.store->Release(again);
}

TEST_CASE("a store that takes no more is tried again, and doesn't keep the others waiting") {
  Written w;
  w.near.requests_max = 1;
  const Tokens tokens = NumberTokens(100);
  const SequenceId id = ReadTokens(*w.store, w.key, tokens);
  w.Write(tokens, id);
  w.store->Release(id);
  CHECK(w.near.waiting() == 1);
  CHECK(w.far.waiting() == 4);
  for (int i = 0; i < 4; ++i) {
    w.near.Run();
    w.Poll();
  }
  CHECK(w.near.objects().size() == 4);
}

TEST_CASE("no more bytes than allowed are in the hands of stores, but one object always may be") {
  Written w(Bytes(1));
  const Tokens tokens = NumberTokens(100);
  const SequenceId id = ReadTokens(*w.store, w.key, tokens);
  w.Write(tokens, id);
  CHECK(w.near.waiting() == 1);
  CHECK(w.far.waiting() == 1);
  for (int i = 0; i < 8; ++i) {
    w.near.Run();
    w.far.Run();
    w.Poll();
  }
  CHECK(w.writer->stats().written == 8);
  w.store->Release(id);
}

TEST_CASE("a store that hangs with all that it may have doesn't keep the others waiting") {
  Written w(Bytes(2));
  const Tokens tokens = NumberTokens(400);
  const SequenceId id = ReadTokens(*w.store, w.key, tokens);
  w.Write(tokens, id);
  w.store->Release(id);
  for (int i = 0; i < 13; ++i) {
    w.near.Run();
    w.Poll();
  }
  CHECK(w.near.objects().size() == 13);
  CHECK(w.far.waiting() == 1);
  w.writer->GiveUpAll();
  w.far.Run();
  w.Poll();
  CHECK(w.writer->idle());
  CHECK(w.store->LiveBytes() == Bytes(0));
}

TEST_CASE("an end that a tier has without having told is learned when it is written again") {
  Written w;
  const Tokens tokens = NumberTokens(40);
  const SequenceId id = ReadTokens(*w.store, w.key, tokens);
  const PrefixChain chain(w.key, tokens, kRun);
  const Bytes size = EndBlocks(w.store->layout(), kRun, TokenCount(40)).bytes +
                     chain.End(TokenCount(40)).TokenBytes();
  const ObjectKey key = chain.EndKey(TokenCount(40));
  w.near.objects()[key].info = {.key = key, .metadata = {}, .size = size};
  w.Write(tokens, id);
  CHECK(w.tiers[0].EndsBehind(chain.Tag(1), TokenCount(40)).size() == 1);
  CHECK(w.near.waiting() == 1);  // the run
  w.near.Run();
  w.far.Run();
  w.Poll();
  w.store->Release(id);
}

TEST_CASE("what waits is given up for its bytes only when nobody else has them") {
  Written w(Bytes(1));
  const Tokens tokens = NumberTokens(100);
  const SequenceId id = ReadTokens(*w.store, w.key, tokens);
  w.Write(tokens, id);
  CHECK(w.writer->GiveUp(Bytes(10'000)) == Bytes(0));
  w.store->Release(id);
  const Bytes live = w.store->LiveBytes();
  const Bytes freed = w.writer->GiveUp(Bytes(1));
  CHECK(freed > Bytes(0));
  CHECK(freed < live);
  CHECK(w.store->LiveBytes() == live - freed);
  w.writer->GiveUp(Bytes(10'000));
  CHECK(w.writer->stats().waiting ==
        2);  // one object, in a store's hands and on its way to another
  w.Audit();
  for (int i = 0; i < 2; ++i) {
    w.near.Run();
    w.far.Run();
    w.Poll();
  }
  CHECK(w.store->LiveBytes() == Bytes(0));
}

TEST_CASE("a failed write is counted with its reason and may be tried again") {
  Written w;
  w.near.next_outcomes = ObjectOutcome::kFailed;
  const Tokens tokens = NumberTokens(40);
  const SequenceId id = ReadTokens(*w.store, w.key, tokens);
  w.Write(tokens, id);
  w.near.Run();
  w.far.Run();
  w.Poll();
  CHECK(w.writer->stats().failed == 2);
  CHECK(w.writer->stats().problem == "as the test wants it");
  w.near.next_outcomes = ObjectOutcome::kDone;
  w.Write(tokens, id);
  CHECK(w.near.waiting() == 2);
  w.near.Run();
  w.Poll();
  CHECK(w.near.objects().size() == 2);
  w.store->Release(id);
}

}  // namespace cairn
