// A model and the manager of its state, as a process has them.
#ifndef CAIRN_TESTS_SERVED_FOR_TESTS_H_
#define CAIRN_TESTS_SERVED_FOR_TESTS_H_

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "cairn/state/state_manager.h"
#include "tests/cold_run_for_tests.h"
#include "tests/model_for_tests.h"

namespace cairn {

// A model to serve and a prompt for it: every golden, and the real models that are there.
struct ServedCase {
  std::string name;
  std::string path;
  std::vector<TokenId> prompt;
};

inline std::vector<ServedCase> ServedCases() {
  std::vector<ServedCase> cases;
  for (const std::string& name : GoldenNames()) {
    cases.push_back({name, GoldenFolder(name), ReadGolden(name).prompt});
  }
  // Whole models say nothing new under a sanitizer, slowly.
  if (std::getenv("CAIRN_SLOW_BUILD") != nullptr) return cases;
  for (const char* file : {"SmolLM2-135M-Instruct.Q4_1.gguf", "gemma-3-270m-q4_k_m.gguf"}) {
    const std::string path = std::string("models/") + file;
    if (!std::filesystem::exists(path)) {
      MESSAGE("left out: " << path << " is absent; `make models` brings it");
      continue;
    }
    std::vector<TokenId> prompt;
    for (int32_t i = 0; i < 60; ++i) prompt.emplace_back(100 + i * i * 7 % 4001);
    cases.push_back({file, path, std::move(prompt)});
  }
  return cases;
}

class Served {
 public:
  // Short prompts have whole runs, too.
  static constexpr TokenCount kRun{16};

  Served(const std::string& path, ObjectStore* disk)
      : loaded_(path, {DType::kF16, DType::kF16}, 1) {
    StateManager::Options options;
    if (disk != nullptr) options.tiers.push_back({.name = "disk", .objects = disk});
    options.run_tokens = kRun;
    manager_ = *StateManager::Make(loaded_.store(), options);
  }
  LoadedModel& loaded() { return loaded_; }
  StateManager& manager() { return *manager_; }

  LeaseId Open(std::span<const TokenId> tokens, const std::function<void()>& wait = {},
               const std::string& tenant = "") {
    const Result<LeaseId> id = manager_->Open(GoldenKey(loaded_, tenant), tokens, 0);
    REQUIRE(id.has_value());
    while (!manager_->Ready(*id)) {
      if (wait) wait();
      manager_->Poll(0);
    }
    return *id;
  }
  // Reads tokens that nobody has read and leaves them to others.
  void ReadAndClose(std::span<const TokenId> tokens) {
    const LeaseId id = Open(tokens);
    const SequenceId sequence = manager_->Sequence(id);
    const auto read = static_cast<size_t>(loaded_.store().Length(sequence).value());
    loaded_.Feed(sequence, tokens.subspan(read), 512);
    manager_->Close(id, tokens, 0);
  }
  // Reads the rest of a prompt as an engine does: it keeps where NextKeep says, and at the end.
  void ReadPrompt(LeaseId id, std::span<const TokenId> prompt) {
    const SequenceId sequence = manager_->Sequence(id);
    const TokenCount all(static_cast<int64_t>(prompt.size()));
    TokenCount read = loaded_.store().Length(sequence);
    while (read < all) {
      const TokenCount next = std::min(manager_->NextKeep(id, all), all);
      loaded_.Feed(sequence,
                   prompt.subspan(static_cast<size_t>(read.value()),
                                  static_cast<size_t>((next - read).value())),
                   512);
      read = next;
      manager_->Keep(id, prompt.first(static_cast<size_t>(read.value())), 0);
    }
  }
  TokenCount Resumed(LeaseId id) const { return manager_->Origin(id).resumed(); }
  void Drop(LeaseId id) {
    manager_->Drop(id);
    manager_->Audit();
  }

 private:
  LoadedModel loaded_;
  std::unique_ptr<StateManager> manager_;
};

}  // namespace cairn

#endif  // CAIRN_TESTS_SERVED_FOR_TESTS_H_
