#include "cairn/state/session_file.h"

#include <doctest/doctest.h>

#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "cairn/base/env.h"
#include "cairn/base/temp_folder_for_tests.h"
#include "cairn/spec/state_spec_for_tests.h"
#include "cairn/state/audit.h"
#include "cairn/state/prefix_tree_model_for_tests.h"

namespace cairn {
namespace {

constexpr std::string_view kNote = "what the owner wants to know";

std::unique_ptr<StateStore> MakeStore(StateSpec spec, Bytes budget = Bytes(1 << 26)) {
  auto layout = StateLayout::Make(std::move(spec));
  REQUIRE(layout.has_value());
  auto store = StateStore::Make(*std::move(layout), {.budget = budget});
  REQUIRE(store.has_value());
  return *std::move(store);
}

StateSpec WindowAndFixed() {
  Rows rows;
  rows.name = "keys";
  rows.width = 16;
  Rows window = rows;
  window.name = "near";
  window.lifetime = Lifetime::Window(TokenCount(20));
  Fixed fixed;
  fixed.name = "memory";
  fixed.elements = ElementCount(25);
  return {.layers = {{{rows, window, fixed}}}};
}

SequenceId Read(StateStore& store, const StateKey& key, const Tokens& tokens) {
  const auto id = store.Create();
  REQUIRE(id.has_value());
  const TokenCount count(static_cast<int64_t>(tokens.size()));
  REQUIRE(store.Prepare(*id, count));
  WriteTokens(store.layout(), store.View(*id), StampsOf(key, tokens));
  store.Commit(*id, count);
  return *id;
}

Tokens SomeTokens(int64_t count) {
  Tokens tokens;
  for (int64_t i = 0; i < count; ++i) tokens.emplace_back(static_cast<int32_t>(i * i % 101));
  return tokens;
}

StateKey KeyOf(int tenant) {
  StateKey key;
  key.bytes[0] = static_cast<std::byte>(tenant);
  return key;
}

}  // namespace

TEST_CASE("a session of any state and length comes back in another store, byte for byte") {
  const TempFolder folder;
  const std::string path = folder.File("s.session");
  for (uint64_t seed = 0; seed < 60; ++seed) {
    CAPTURE(seed);
    RandomChoice choose(seed);
    const StateSpec spec = RandomStateSpec(choose, 4);
    const auto store = MakeStore(spec);
    const Tokens tokens = SomeTokens(choose(300));
    const SequenceId id = Read(*store, KeyOf(1), tokens);
    REQUIRE(WriteSession(path, KeyOf(1), tokens, kNote, *store, id));
    const auto file = ReadFile(path, 1 << 26);
    REQUIRE(file.has_value());
    const TokenCount length(static_cast<int64_t>(tokens.size()));
    CHECK(static_cast<int64_t>(file->size()) ==
          SessionFileBytes(store->layout(), length, Bytes(kNote.size())).value());
    store->Release(id);

    const auto other = MakeStore(spec);
    const auto session = ReadSession(path, KeyOf(1), *other);
    REQUIRE(session.has_value());
    CHECK(session->tokens == tokens);
    CHECK(session->note == kNote);
    REQUIRE(session->state.has_value());
    CheckBytes(*other, *session->state, KeyOf(1), tokens);
    CHECK_NOTHROW(Audit(*other));
    other->Release(*session->state);
  }
}

TEST_CASE("a session under another key gives its tokens and no state") {
  const TempFolder folder;
  const std::string path = folder.File("s.session");
  const auto store = MakeStore(WindowAndFixed());
  const Tokens tokens = SomeTokens(50);
  REQUIRE(WriteSession(path, KeyOf(1), tokens, "", *store, Read(*store, KeyOf(1), tokens)));
  const auto session = ReadSession(path, KeyOf(2), *store);
  REQUIRE(session.has_value());
  CHECK_FALSE(session->state.has_value());
  CHECK(session->why_not == "it belongs to another model, state format or tenant");
  CHECK(session->tokens == tokens);
}

TEST_CASE("no changed byte and no cut of a session file is ever taken for its state") {
  const TempFolder folder;
  const std::string path = folder.File("s.session");
  const auto store = MakeStore(WindowAndFixed());
  const Tokens tokens = SomeTokens(37);
  REQUIRE(WriteSession(path, KeyOf(1), tokens, kNote, *store, Read(*store, KeyOf(1), tokens)));
  const std::string whole = *ReadFile(path, 1 << 26);
  const auto try_file = [&](const std::string& content) {
    REQUIRE(WriteFileAtomically(path, std::as_bytes(std::span(content))));
    const auto session = ReadSession(path, KeyOf(1), *store);
    if (!session) {
      CHECK(session.error().IsBadInput());
      return;
    }
    CHECK_FALSE(session->state.has_value());
    CHECK(session->tokens == tokens);  // they have a checksum of their own
  };
  for (size_t at = 0; at < whole.size(); at += at < 400 ? 1 : 97) {
    CAPTURE(at);
    std::string changed = whole;
    changed[at] = static_cast<char>(changed[at] ^ 0x10);
    try_file(changed);
    if (at > 0) try_file(whole.substr(0, at));
  }
  try_file(whole + "x");
}

TEST_CASE("a session that finds no room is refused, and takes none") {
  const TempFolder folder;
  const std::string path = folder.File("s.session");
  const auto store = MakeStore(WindowAndFixed());
  const Tokens tokens = SomeTokens(100);
  REQUIRE(WriteSession(path, KeyOf(1), tokens, "", *store, Read(*store, KeyOf(1), tokens)));
  const auto small = MakeStore(WindowAndFixed(), Bytes(4000));
  const auto session = ReadSession(path, KeyOf(1), *small);
  REQUIRE_FALSE(session.has_value());
  CHECK(session.error().code == ErrorCode::kExhausted);
  CHECK(small->LiveBytes() == Bytes(0));
}

}  // namespace cairn
