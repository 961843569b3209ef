#include "cairn/state/state_store.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <numeric>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "cairn/spec/state_spec_for_tests.h"
#include "cairn/state/audit.h"
#include "cairn/state/state_pattern_for_tests.h"

namespace cairn {
namespace {

constexpr Bytes kPlenty{int64_t{1} << 30};

Rows MakeRows(std::string name, Lifetime lifetime, RowOrder order = RowOrder::kRowMajor) {
  Rows rows;
  rows.name = std::move(name);
  rows.heads = 2;
  rows.width = 8;
  rows.lifetime = lifetime;
  rows.order = order;
  return rows;  // 32 bytes a row, 512 a block
}

LayerState KeysAndValues(Lifetime lifetime) {
  return {{MakeRows("keys", lifetime, RowOrder::kTransposedTiles), MakeRows("values", lifetime)}};
}

Fixed MakeFixed() {
  Fixed fixed;
  fixed.name = "memory";
  fixed.elements = ElementCount(25);
  return fixed;
}

std::unique_ptr<StateStore> MakeStore(StateSpec spec, StateStore::Options options) {
  auto layout = StateLayout::Make(std::move(spec));
  REQUIRE(layout.has_value());
  auto store = StateStore::Make(*std::move(layout), options);
  REQUIRE(store.has_value());
  return *std::move(store);
}

SequenceId Create(StateStore& store) {
  const auto id = store.Create();
  REQUIRE(id.has_value());
  return *id;
}

SequenceId Fork(StateStore& store, SequenceId source) {
  const auto id = store.Fork(source);
  REQUIRE(id.has_value());
  return *id;
}

// Computes tokens [length, tokens.size()) in calls of at most `chunk` tokens.
void Feed(StateStore& store, SequenceId id, const std::vector<Stamp>& tokens, int64_t chunk) {
  while (store.Length(id).value() < static_cast<int64_t>(tokens.size())) {
    const int64_t before = store.Length(id).value();
    const int64_t added = std::min(chunk, static_cast<int64_t>(tokens.size()) - before);
    REQUIRE(store.Prepare(id, TokenCount(added)).has_value());
    WriteTokens(store.layout(), store.View(id), {tokens.begin(), tokens.begin() + before + added});
    store.Commit(id, TokenCount(added));
  }
}

std::vector<Stamp> Tokens(int64_t count, Stamp first = 1) {
  std::vector<Stamp> tokens(static_cast<size_t>(count));
  std::iota(tokens.begin(), tokens.end(), first);
  return tokens;
}

using Block = std::tuple<ClassIndex, int64_t, std::vector<std::byte>>;

std::vector<Block> BytesOfState(const StateStore& store, SequenceId id) {
  std::vector<Block> blocks;
  store.ForEachBlock(id, [&](ClassIndex c, int64_t logical, std::span<const std::byte> bytes) {
    blocks.emplace_back(c, logical, std::vector<std::byte>(bytes.begin(), bytes.end()));
  });
  const std::span<const std::byte> fixed = store.FixedBytes(id);
  blocks.emplace_back(ClassIndex(-1), 0, std::vector<std::byte>(fixed.begin(), fixed.end()));
  return blocks;
}

bool Contains(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

const StateSpec kMixed = {{KeysAndValues(Lifetime::All()),
                           KeysAndValues(Lifetime::Window(TokenCount(40))),
                           {{MakeRows("open_window", Lifetime::Chunk(TokenCount(12)))}}}};

}  // namespace

TEST_CASE("live bytes are what the layout predicts, at every length and chunk size") {
  for (uint64_t seed = 0; seed < 60; ++seed) {
    RandomChoice choose(seed);
    const auto store = MakeStore(RandomStateSpec(choose, 4), {.budget = kPlenty});
    const StateLayout& layout = store->layout();
    const SequenceId id = Create(*store);
    CHECK_EQ(store->LiveBytes(), layout.AllocatedBytes(TokenCount(0)));
    while (store->Length(id) < TokenCount(400)) {
      const TokenCount length = store->Length(id);
      const TokenCount added(seed % 2 == 0 ? 1 : 1 + choose(90));
      REQUIRE(store->Prepare(id, added).has_value());
      REQUIRE_EQ(store->LiveBytes(), layout.AllocatedBytesWhileAdding(length, added));
      store->Commit(id, added);
      REQUIRE_EQ(store->LiveBytes(), layout.AllocatedBytes(length + added));
      REQUIRE_EQ(store->HeldBytes(id), store->LiveBytes());
    }
    Audit(*store);
    store->Release(id);
    CHECK_EQ(store->LiveBytes(), Bytes(0));
    Audit(*store);
  }
}

TEST_CASE("a fork costs no bytes until it is written to, then one block of each class") {
  StateSpec spec = kMixed;
  spec.layers.push_back({{MakeFixed()}});
  // Token 51 is the fourth of a block of every class, and of a chunk that isn't new.
  const auto store = MakeStore(spec, {.budget = kPlenty});
  const SequenceId source = Create(*store);
  Feed(*store, source, Tokens(51), 7);
  const Bytes before = store->LiveBytes();
  const auto state = BytesOfState(*store, source);

  const SequenceId fork = Fork(*store, source);
  CHECK_EQ(store->LiveBytes(), before);
  CHECK_EQ(store->HeldBytes(fork), before);
  CHECK(BytesOfState(*store, fork) == state);

  Bytes one_of_each = store->layout().fixed_bytes();
  for (const BlockClass& c : store->layout().classes()) one_of_each += c.block_bytes;
  CHECK_EQ(store->BytesToPrepare(fork, TokenCount(1)), one_of_each);
  REQUIRE(store->Prepare(fork, TokenCount(1)).has_value());
  CHECK_EQ(store->LiveBytes(), before + one_of_each);
  store->Commit(fork, TokenCount(0));
  Audit(*store);
  CHECK(BytesOfState(*store, source) == state);
  // The source is alone with its blocks again.
  CHECK_EQ(store->BytesToPrepare(source, TokenCount(1)), Bytes(0));
}

TEST_CASE("a fork at a block's border copies nothing") {
  const auto store = MakeStore({{KeysAndValues(Lifetime::All())}}, {.budget = kPlenty});
  const SequenceId source = Create(*store);
  Feed(*store, source, Tokens(48), 48);
  const SequenceId fork = Fork(*store, source);
  CHECK_EQ(store->BytesToPrepare(fork, TokenCount(16)), store->layout().classes()[0].block_bytes);
}

TEST_CASE("state bytes depend on the tokens alone, not on how they came") {
  StateSpec with_fixed = kMixed;
  with_fixed.layers.push_back({{MakeFixed()}});
  for (const StateSpec& spec : {kMixed, with_fixed}) {
    const auto store = MakeStore(spec, {.budget = kPlenty});
    const std::vector<Stamp> tokens = Tokens(300);
    const SequenceId reference = Create(*store);
    Feed(*store, reference, tokens, 1);
    const auto expected = BytesOfState(*store, reference);
    for (const int64_t chunk : {2, 7, 16, 64, 300}) {
      const SequenceId id = Create(*store);
      Feed(*store, id, tokens, chunk);
      CHECK(BytesOfState(*store, id) == expected);
      store->Release(id);
    }
    // Forked in the middle, while the source goes another way.
    const SequenceId source = Create(*store);
    Feed(*store, source, {tokens.begin(), tokens.begin() + 150}, 40);
    const SequenceId fork = Fork(*store, source);
    std::vector<Stamp> other(tokens.begin(), tokens.begin() + 150);
    other.resize(290, 999);
    Feed(*store, source, other, 3);
    Feed(*store, fork, tokens, 5);
    CHECK(BytesOfState(*store, fork) == expected);
    Audit(*store);
  }
}

TEST_CASE("tokens that were drafted and rejected leave no trace") {
  const auto store = MakeStore(kMixed, {.budget = kPlenty});
  const std::vector<Stamp> tokens = Tokens(200);
  const SequenceId reference = Create(*store);
  Feed(*store, reference, tokens, 200);
  const SequenceId id = Create(*store);
  for (int64_t n = 0; n < 200; n = store->Length(id).value()) {
    const int64_t accepted = std::min<int64_t>(1 + n % 3, 200 - n);
    std::vector<Stamp> draft(tokens.begin(), tokens.begin() + n + accepted);
    draft.resize(static_cast<size_t>(n + 20), 12345);
    REQUIRE(store->Prepare(id, TokenCount(20)).has_value());
    WriteTokens(store->layout(), store->View(id), draft);
    store->Commit(id, TokenCount(accepted));
    Audit(*store);
  }
  CHECK(BytesOfState(*store, id) == BytesOfState(*store, reference));
}

TEST_CASE("going back and writing again gives the bytes of a fresh run") {
  const auto store = MakeStore({{KeysAndValues(Lifetime::All())}}, {.budget = kPlenty});
  const std::vector<Stamp> tokens = Tokens(100);
  const SequenceId reference = Create(*store);
  Feed(*store, reference, tokens, 100);
  for (const int64_t back : {0, 1, 15, 16, 17, 40, 99}) {
    const SequenceId id = Create(*store);
    std::vector<Stamp> wrong(tokens.begin(), tokens.begin() + back);
    wrong.resize(120, 777);
    Feed(*store, id, wrong, 50);
    const SequenceId witness = Fork(*store, id);
    const auto witnessed = BytesOfState(*store, witness);
    REQUIRE(store->Rewind(id, TokenCount(back)).has_value());
    CHECK_EQ(store->Length(id), TokenCount(back));
    Audit(*store);
    Feed(*store, id, tokens, 9);
    CHECK(BytesOfState(*store, id) == BytesOfState(*store, reference));
    CHECK(BytesOfState(*store, witness) == witnessed);
  }
}

TEST_CASE("a window can go back as far as its blocks reach, and says why not further") {
  const auto store =
      MakeStore({{KeysAndValues(Lifetime::Window(TokenCount(40)))}}, {.budget = kPlenty});
  const SequenceId id = Create(*store);
  Feed(*store, id, Tokens(100), 100);  // rows 61..99 are needed, blocks from row 48 on are there
  REQUIRE(store->Rewind(id, TokenCount(87)).has_value());  // needs rows 48..86
  Audit(*store);
  const Status status = store->Rewind(id, TokenCount(86));
  REQUIRE_FALSE(status.has_value());
  CHECK_EQ(status.error().code, ErrorCode::kUnsupported);
  CHECK_EQ(status.error().message,
           "a sequence of 87 tokens can't go back to 86: layer 0 needs tokens from 47 on there, "
           "and those before 48 have left its window of 40");
  CHECK_EQ(store->Length(id), TokenCount(87));
  CHECK(store->Rewind(id, TokenCount(0)).has_value());  // nothing is needed there
  CHECK_EQ(store->LiveBytes(), Bytes(0));
  Audit(*store);
}

TEST_CASE("fixed state can go back only to its present length or to nothing") {
  const auto store = MakeStore({{{{MakeFixed()}}}}, {.budget = kPlenty});
  const SequenceId fresh = Create(*store);
  const SequenceId id = Create(*store);
  Feed(*store, id, Tokens(10), 10);
  const SequenceId fork = Fork(*store, id);
  CHECK(store->Rewind(id, TokenCount(10)).has_value());
  const Status status = store->Rewind(id, TokenCount(9));
  REQUIRE_FALSE(status.has_value());
  CHECK_EQ(status.error().code, ErrorCode::kUnsupported);
  CHECK(Contains(status.error().message, "only for its present length"));
  const auto before = BytesOfState(*store, fork);
  REQUIRE(store->Rewind(id, TokenCount(0)).has_value());
  CHECK(BytesOfState(*store, id) == BytesOfState(*store, fresh));
  CHECK(BytesOfState(*store, fork) == before);
  REQUIRE(store->Rewind(fork, TokenCount(0)).has_value());
  CHECK(BytesOfState(*store, fork) == BytesOfState(*store, fresh));
  Audit(*store);
}

TEST_CASE("a shared fixed state goes back to nothing only if there is room for its own") {
  const auto store = MakeStore({{{{MakeFixed()}}}}, {.budget = Bytes(150)});
  const SequenceId id = Create(*store);
  Feed(*store, id, Tokens(10), 10);
  const SequenceId fork = Fork(*store, id);
  const Status status = store->Rewind(fork, TokenCount(0));
  REQUIRE_FALSE(status.has_value());
  CHECK_EQ(status.error().code, ErrorCode::kExhausted);
  CHECK_EQ(store->Length(fork), TokenCount(10));
  Audit(*store);
  store->Release(id);
  CHECK(store->Rewind(fork, TokenCount(0)).has_value());
}

TEST_CASE("an exhausted budget changes nothing and says how many bytes are missing") {
  // Three blocks of 1,024 bytes and a bit.
  const auto store = MakeStore({{KeysAndValues(Lifetime::All())}}, {.budget = Bytes(3100)});
  const SequenceId id = Create(*store);
  Feed(*store, id, Tokens(40), 40);
  const auto before = BytesOfState(*store, id);
  const Status status = store->Prepare(id, TokenCount(25));  // tokens 40..64: two blocks more
  REQUIRE_FALSE(status.has_value());
  CHECK_EQ(status.error().code, ErrorCode::kExhausted);
  CHECK_EQ(
      status.error().message,
      "state needs 2048 more bytes, 28 of the budget of 3100 are free: 2020 bytes are missing");
  CHECK(BytesOfState(*store, id) == before);
  Audit(*store);
  CHECK(store->Prepare(id, TokenCount(8)).has_value());
  store->Commit(id, TokenCount(8));

  // A fork's first write and its rewind need a copy for which there is no room.
  REQUIRE(store->Rewind(id, TokenCount(40)).has_value());
  const SequenceId fork = Fork(*store, id);
  CHECK_FALSE(store->Prepare(fork, TokenCount(1)).has_value());
  CHECK_FALSE(store->Rewind(fork, TokenCount(33)).has_value());
  CHECK_EQ(store->Length(fork), TokenCount(40));
  Audit(*store);
  store->Release(id);
  CHECK(store->Prepare(fork, TokenCount(1)).has_value());
}

TEST_CASE("what a rewind frees may pay for the copy that it needs") {
  const auto store = MakeStore({{KeysAndValues(Lifetime::All())}}, {.budget = Bytes(3 * 1024)});
  const SequenceId id = Create(*store);
  Feed(*store, id, Tokens(32), 32);
  const SequenceId fork = Fork(*store, id);
  Feed(*store, fork, Tokens(40), 8);
  CHECK_EQ(store->LiveBytes(), Bytes(3 * 1024));
  REQUIRE(store->Rewind(fork, TokenCount(20)).has_value());
  CHECK_EQ(store->LiveBytes(), Bytes(3 * 1024));
  Audit(*store);
}

TEST_CASE("views of several sequences are valid at once") {
  const auto store = MakeStore(kMixed, {.budget = kPlenty});
  std::vector<SequenceId> ids = {Create(*store)};
  Feed(*store, ids[0], Tokens(50), 50);
  for (int i = 0; i < 40; ++i) ids.push_back(Fork(*store, ids[0]));
  for (const SequenceId id : ids) REQUIRE(store->Prepare(id, TokenCount(20)).has_value());
  std::vector<SequenceView> views;
  views.reserve(ids.size());
  for (const SequenceId id : ids) views.push_back(store->View(id));
  std::vector<std::vector<Stamp>> tokens;
  for (size_t i = 0; i < ids.size(); ++i) {
    tokens.push_back(Tokens(50));
    for (Stamp t = 0; t < 20; ++t) tokens.back().push_back(1000 * i + t);
    WriteTokens(store->layout(), views[i], tokens.back());
  }
  for (const SequenceId id : ids) store->Commit(id, TokenCount(20));
  for (size_t i = 0; i < ids.size(); ++i) {
    const SequenceId fresh = Create(*store);
    Feed(*store, fresh, tokens[i], 70);
    CHECK(BytesOfState(*store, ids[i]) == BytesOfState(*store, fresh));
    store->Release(fresh);
  }
}

TEST_CASE("the number of sequences has a limit") {
  const auto store = MakeStore(kMixed, {.budget = kPlenty, .max_sequences = 2});
  const SequenceId id = Create(*store);
  const SequenceId fork = Fork(*store, id);
  for (const auto& more : {store->Create(), store->Fork(id)}) {
    REQUIRE_FALSE(more.has_value());
    CHECK_EQ(more.error().code, ErrorCode::kExhausted);
    CHECK(Contains(more.error().message, "2 sequences"));
  }
  store->Release(fork);
  CHECK(store->Create().has_value());
}

TEST_CASE("a sequence of more tokens than are possible is refused") {
  const auto store = MakeStore(kMixed, {.budget = kPlenty});
  const SequenceId id = Create(*store);
  for (const TokenCount added : {kMaxStateTokens + TokenCount(1), TokenCount(INT64_MAX)}) {
    const Status status = store->Prepare(id, added);
    REQUIRE_FALSE(status.has_value());
    CHECK_EQ(status.error().code, ErrorCode::kInvalidArgument);
  }
}

TEST_CASE("calls out of order fail a CHECK") {
  const auto store = MakeStore(kMixed, {.budget = kPlenty});
  const SequenceId id = Create(*store);
  CHECK_THROWS(store->Commit(id, TokenCount(0)));  // not prepared
  REQUIRE(store->Prepare(id, TokenCount(5)).has_value());
  CHECK_THROWS(static_cast<void>(store->Prepare(id, TokenCount(5))));
  CHECK_THROWS(static_cast<void>(store->Fork(id)));
  CHECK_THROWS(static_cast<void>(store->Rewind(id, TokenCount(0))));
  CHECK_THROWS(store->Commit(id, TokenCount(6)));
  CHECK_THROWS(store->Commit(id, TokenCount(-1)));
  store->Commit(id, TokenCount(5));
  CHECK_THROWS(static_cast<void>(store->Prepare(id, TokenCount(-1))));
  CHECK_THROWS(static_cast<void>(store->Rewind(id, TokenCount(6))));
  store->Release(id);
  CHECK_THROWS(store->Release(id));
  CHECK_THROWS(static_cast<void>(store->View(id)));
}

}  // namespace cairn
