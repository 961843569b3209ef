// State that comes back from a prefix tree or a file continues as if it had never left, bit for
// bit.
#include <doctest/doctest.h>

#include "cairn/base/temp_folder_for_tests.h"
#include "cairn/state/audit.h"
#include "cairn/state/prefix_tree.h"
#include "cairn/state/session_file.h"
#include "tests/cold_run_for_tests.h"
#include "tests/model_for_tests.h"

namespace cairn {
namespace {

constexpr int64_t kHead = 37;  // in the middle of a block, and of most windows

}  // namespace

TEST_CASE(
    "every golden resumed from a tree gives the bits of a cold run, and so does a second fork") {
  for (const std::string& name : GoldenNames()) {
    CAPTURE(name);
    const Golden golden = ReadGolden(name);
    LoadedModel loaded(GoldenFolder(name), {DType::kF16, DType::kF16}, 1);
    const Cold cold(loaded, golden.prompt);
    const StateKey key = GoldenKey(loaded);
    PrefixTree tree(loaded.store(), *MakeEvictionPolicy("lru"));

    const auto head = std::span(golden.prompt).first(kHead);
    PrefixTree::Lock lock;
    const SequenceId first = *loaded.store().Create();
    loaded.Feed(first, head, 512);
    tree.Keep(key, head, first, 1, lock);
    cold.Continue(loaded, first, golden.prompt);  // who kept it goes on unharmed
    loaded.store().Release(first);
    tree.Unlock(lock);

    for (int64_t time = 2; time < 4; ++time) {
      const TokenCount most(static_cast<int64_t>(golden.prompt.size()) - 1);
      const auto resumed = tree.Resume(key, golden.prompt, most, time, lock);
      REQUIRE(resumed.has_value());
      CHECK(resumed->tokens == TokenCount(kHead));
      cold.Continue(loaded, resumed->id, golden.prompt);
      tree.Audit();
      loaded.store().Release(resumed->id);
      tree.Unlock(lock);
    }
  }
}

TEST_CASE(
    "every golden goes on from a session file in another process's place with the same bits") {
  const TempFolder folder;
  const std::string path = folder.File("golden.session");
  for (const std::string& name : GoldenNames()) {
    CAPTURE(name);
    const Golden golden = ReadGolden(name);
    const auto head = std::span(golden.prompt).first(kHead);
    LoadedModel first(GoldenFolder(name), {DType::kBF16, DType::kBF16}, 1);
    const Cold cold(first, golden.prompt);
    const SequenceId id = *first.store().Create();
    first.Feed(id, head, 512);
    REQUIRE(WriteSession(path, GoldenKey(first), head, "", first.store(), id));

    LoadedModel second(GoldenFolder(name), {DType::kBF16, DType::kBF16}, 2);
    const auto session = ReadSession(path, GoldenKey(second), second.store());
    REQUIRE(session.has_value());
    CHECK(session->why_not == "");
    REQUIRE(session->state.has_value());
    cold.Continue(second, *session->state, golden.prompt);
    Audit(second.store());

    LoadedModel other(GoldenFolder(name), {DType::kF32, DType::kBF16}, 1);
    if (other.model().layout().spec() == second.model().layout().spec()) continue;  // Fixed alone
    const auto refused = ReadSession(path, GoldenKey(other), other.store());
    REQUIRE(refused.has_value());
    CHECK_FALSE(refused->state.has_value());
  }
}

}  // namespace cairn
