// What users of other engines have reported as wrong, as rules that hold here for every kind of
// state. A comment names the public reports.
#include <doctest/doctest.h>

#include "cairn/base/temp_folder_for_tests.h"
#include "cairn/state/disk_store.h"
#include "cairn/state/object_store_for_tests.h"
#include "tests/served_for_tests.h"

namespace cairn {
namespace {

using Prompt = std::vector<TokenId>;

// A prompt of the golden's own tokens, cyclically from somewhere.
Prompt PromptFrom(const ServedCase& golden, size_t from, size_t count) {
  Prompt prompt;
  for (size_t i = 0; i < count; ++i) {
    prompt.push_back(golden.prompt[(from + i) % golden.prompt.size()]);
  }
  return prompt;
}

Prompt Joined(const Prompt& a, const Prompt& b) {
  Prompt all = a;
  all.insert(all.end(), b.begin(), b.end());
  return all;
}

int64_t SizeOf(const Prompt& prompt) { return static_cast<int64_t>(prompt.size()); }

}  // namespace

// llama.cpp#28368, #28527, #4902; sglang#21158: a repeated prompt hits nothing, or answers
// otherwise.
TEST_CASE("the same prompt again computes its last token alone and gives the same bits") {
  for (const ServedCase& golden : ServedCases()) {
    const std::string& name = golden.name;
    CAPTURE(name);
    Served served(golden.path, nullptr);
    const Cold cold(served.loaded(), golden.prompt);
    const LeaseId first = served.Open(golden.prompt);
    served.ReadPrompt(first, golden.prompt);
    served.manager().Close(first, golden.prompt, 0);
    for (int i = 0; i < 2; ++i) {
      const LeaseId again = served.Open(golden.prompt);
      CHECK(served.Resumed(again) == TokenCount(SizeOf(golden.prompt) - 1));
      CHECK(served.manager().Origin(again).why == MissReason::kNone);
      cold.Continue(served.loaded(), served.manager().Sequence(again), golden.prompt);
      served.Drop(again);
    }
  }
}

// llama.cpp#28194, #25913, #27813, #26676; Mooncake#2011: what was saved gives no reuse after it is
// restored, for hybrids and windows above all.
TEST_CASE("the same prompt after a restart computes its last token alone, from the disk") {
  for (const ServedCase& golden : ServedCases()) {
    const std::string& name = golden.name;
    CAPTURE(name);
    const TempFolder folder;
    const DiskStoreOptions options{.folder = folder.File("tier"), .bound = Bytes(64 << 20)};
    const Prompt answered = Joined(golden.prompt, PromptFrom(golden, 3, 5));
    {
      const std::unique_ptr<ObjectStore> disk = *OpenDiskStore(options);
      Served first(golden.path, disk.get());
      const LeaseId id = first.Open(golden.prompt);
      first.ReadPrompt(id, golden.prompt);
      first.loaded().Feed(first.manager().Sequence(id), std::span(answered).last(5), 512);
      first.manager().Close(id, answered, 0);
      first.manager().Flush(0);
    }
    const std::unique_ptr<ObjectStore> disk = *OpenDiskStore(options);
    Served second(golden.path, disk.get());
    const Cold cold(second.loaded(), golden.prompt);
    const LeaseId id = second.Open(golden.prompt, [&] { disk->Flush(); });
    const int64_t most = SizeOf(golden.prompt) - 1;
    // Rows alone lie there in whole runs, and ends where somebody stopped.
    const bool needs_points = second.loaded().store().NeedsPoints();
    const int64_t least = needs_points ? most : most - most % Served::kRun.value();
    CHECK(second.Resumed(id) >= TokenCount(least));
    cold.Continue(second.loaded(), second.manager().Sequence(id), golden.prompt);
    second.Drop(id);

    const Prompt next = Joined(answered, PromptFrom(golden, 9, 4));
    const LeaseId turn = second.Open(next, [&] { disk->Flush(); });
    CHECK(second.Resumed(turn) == TokenCount(SizeOf(answered)));
    second.Drop(turn);
  }
}

// llama.cpp#25254: a template strips the thinking text of earlier turns, and everything is read
// anew.
TEST_CASE("a turn whose thinking was stripped resumes at the end of its prompt, and both go on") {
  for (const ServedCase& golden : ServedCases()) {
    const std::string& name = golden.name;
    CAPTURE(name);
    Served served(golden.path, nullptr);
    const Prompt prompt = PromptFrom(golden, 0, 40);
    const Prompt thinking = Joined(prompt, PromptFrom(golden, 11, 30));
    LeaseId id = served.Open(prompt);
    served.ReadPrompt(id, prompt);
    served.loaded().Feed(served.manager().Sequence(id), std::span(thinking).last(30), 512);
    served.manager().Close(id, thinking, 0);

    Prompt stripped = Joined(prompt, PromptFrom(golden, 20, 25));
    stripped[40] = TokenId((thinking[40].value() + 1) % 7);
    id = served.Open(stripped);
    CHECK(served.Resumed(id) >= TokenCount(39));
    const Cold cold(served.loaded(), stripped);
    cold.Continue(served.loaded(), served.manager().Sequence(id), stripped);
    served.Drop(id);

    const Prompt whole = Joined(thinking, PromptFrom(golden, 1, 3));
    id = served.Open(whole);
    CHECK(served.Resumed(id) == TokenCount(SizeOf(thinking)));
    served.Drop(id);
  }
}

// llama.cpp#22942, #27616, #21831: checkpoints belong to one slot, and a busy slot shares nothing.
TEST_CASE("what a request has just read serves the next one while the first is still busy") {
  for (const ServedCase& golden : ServedCases()) {
    const std::string& name = golden.name;
    CAPTURE(name);
    Served served(golden.path, nullptr);
    const Cold cold(served.loaded(), golden.prompt);
    const LeaseId busy = served.Open(golden.prompt);
    served.ReadPrompt(busy, golden.prompt);
    const LeaseId other = served.Open(golden.prompt);
    CHECK(served.Resumed(other) == TokenCount(SizeOf(golden.prompt) - 1));
    cold.Continue(served.loaded(), served.manager().Sequence(other), golden.prompt);
    served.Drop(busy);
    served.Drop(other);
  }
}

// llama.cpp#10993, #28139: another prompt in between loses the cache.
TEST_CASE("conversations that take turns keep what they have") {
  for (const std::string& name :
       {std::string("llama_gqa"), std::string("gemma3_text"), std::string("mamba")}) {
    CAPTURE(name);
    const ServedCase golden{name, GoldenFolder(name), ReadGolden(name).prompt};
    Served served(golden.path, nullptr);
    Prompt talks[2] = {PromptFrom(golden, 0, 20), PromptFrom(golden, 7, 30)};
    for (int turn = 0; turn < 4; ++turn) {
      for (Prompt& talk : talks) {
        const LeaseId id = served.Open(talk);
        if (turn > 0) CHECK(served.Resumed(id) == TokenCount(SizeOf(talk) - 6));
        served.ReadPrompt(id, talk);
        served.manager().Close(id, talk, 0);
        talk = Joined(talk, PromptFrom(golden, static_cast<size_t>(turn), 6));
      }
    }
  }
}

// llama.cpp#27148, #27422; LMCache#4385; TensorRT-LLM#8813: one request's state in another's
// answer.
TEST_CASE("of two tenants with one prompt the second finds nothing, in memory or on a tier") {
  for (const ServedCase& golden : ServedCases()) {
    const std::string& name = golden.name;
    CAPTURE(name);
    MemoryObjectStore disk;
    disk.ends_at_once = true;
    Served served(golden.path, &disk);
    served.ReadAndClose(golden.prompt);
    served.manager().Flush(0);
    CHECK_FALSE(disk.objects().empty());
    const LeaseId other = served.Open(golden.prompt, {}, "another tenant");
    CHECK(served.Resumed(other) == TokenCount(0));
    CHECK(served.manager().Origin(other).why == MissReason::kNew);  // nor does it say more
    CHECK(disk.gets() == 0);
    served.Drop(other);
    CHECK(served.manager().MakeRoom(served.loaded().store().stats().budget));
    const LeaseId evicted = served.Open(golden.prompt, {}, "another tenant");
    CHECK(served.Resumed(evicted) == TokenCount(0));
    CHECK(disk.gets() == 0);
    served.Drop(evicted);
  }
}

// LMCache#1690, Mooncake#888: a tier promises an object and can't deliver it.
TEST_CASE("an object that vanishes or rots between promise and read costs time, never an answer") {
  for (const ServedCase& golden : ServedCases()) {
    const std::string& name = golden.name;
    CAPTURE(name);
    for (const ObjectOutcome outcome :
         {ObjectOutcome::kAbsent, ObjectOutcome::kDamaged, ObjectOutcome::kFailed}) {
      MemoryObjectStore disk;
      Served served(golden.path, &disk);
      const Cold cold(served.loaded(), golden.prompt);
      served.ReadAndClose(std::span(golden.prompt).first(37));
      served.manager().Flush(0);
      CHECK(served.manager().MakeRoom(served.loaded().store().stats().budget));
      disk.next_outcomes = outcome;
      const LeaseId id = served.Open(golden.prompt, [&] { disk.Run(); });
      CHECK(served.manager().stats().loads_failed > 0);
      CHECK(served.manager().stats().problem != "");
      cold.Continue(served.loaded(), served.manager().Sequence(id), golden.prompt);
      served.Drop(id);
    }
  }
}

}  // namespace cairn
