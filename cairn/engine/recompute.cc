#include "cairn/engine/recompute.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <optional>
#include <random>
#include <span>
#include <unordered_map>
#include <utility>

#include "cairn/base/check.h"
#include "cairn/state/tier_objects.h"

namespace cairn {
namespace {

constexpr int64_t kWaitUs = 1'000'000;

struct Found {
  ObjectInfo info;
  TierObject object;
};

std::string NameOf(const Found& found) {
  return fmt::format("{} of tokens {} to {}",
                     found.object.kind == TierObjectKind::kRun ? "run" : "end",
                     found.object.from.value(), found.object.to.value());
}

class Recomputer {
 public:
  Recomputer(Model& model, StateStore& state, const StateKey& key, ObjectStore& objects,
             const RecomputeOptions& options)
      : model_(model), state_(state), key_(key), objects_(objects), options_(options) {}

  Result<RecomputeReport> Run() {
    std::vector<Found> found = Candidates();
    report_.candidates = static_cast<int64_t>(found.size());
    std::mt19937_64 random(options_.seed);
    std::ranges::shuffle(found, random);
    const auto count =
        std::min(static_cast<size_t>(std::max<int64_t>(options_.objects, 0)), found.size());
    for (const Found& each : std::span(found).first(count)) CAIRN_TRY(Check(each));
    return std::move(report_);
  }

 private:
  // In the order of their keys, so that a seed chooses the same ones again.
  std::vector<Found> Candidates() {
    const uint64_t tag = TagOf(key_);
    std::vector<Found> found;
    for (const ObjectInfo& info : objects_.List()) {
      const std::optional<TierObject> object = TierObjectOf(info.metadata);
      if (!object || object->state_key != tag) continue;
      found.push_back({.info = info, .object = *object});
    }
    std::ranges::sort(found, {}, [](const Found& f) { return f.info.key; });
    for (size_t i = 0; i < found.size(); ++i) {
      if (found[i].object.kind == TierObjectKind::kRun) runs_.emplace(found[i].object.after, i);
    }
    all_ = found;
    return found;
  }

  // Its bytes, or nothing if it can't be read.
  std::optional<std::vector<std::byte>> Read(const Found& found) {
    std::vector<std::byte> bytes(static_cast<size_t>(found.info.size.value()));
    const std::span<std::byte> piece(bytes);
    const Result<RequestId> request = objects_.Get(found.info.key, {&piece, 1});
    if (!request) return Unreadable(found, request.error().message);
    while (true) {
      for (const ObjectCompletion& completion : objects_.Wait(kWaitUs)) {
        if (completion.request != *request) continue;
        if (completion.outcome == ObjectOutcome::kDone) return bytes;
        return Unreadable(found, completion.problem.empty() ? "absent" : completion.problem);
      }
    }
  }

  std::nullopt_t Unreadable(const Found& found, const std::string& problem) {
    ++report_.unreadable;
    report_.problems.push_back(NameOf(found) + ": " + problem);
    return std::nullopt;
  }

  static std::span<const std::byte> TokensIn(const Found& found, std::span<const std::byte> bytes) {
    return bytes.last(static_cast<size_t>(found.object.TokenBytes().value()));
  }

  // The tokens [0, to), from the object and the runs before it; nothing if one is missing.
  std::optional<std::vector<TokenId>> TokensOf(const Found& found,
                                               std::span<const std::byte> bytes) {
    // From the last part to the first: what the numbers say is believed as far as there are bytes.
    std::vector<TokenId> reversed;
    Found at = found;
    std::vector<std::byte> read(bytes.begin(), bytes.end());
    while (true) {
      const std::span<const std::byte> part = TokensIn(at, read);
      std::vector<TokenId> tokens(part.size() / sizeof(TokenId));
      if (!part.empty()) std::memcpy(tokens.data(), part.data(), part.size());
      reversed.insert(reversed.end(), tokens.rbegin(), tokens.rend());
      if (at.object.from == TokenCount(0)) break;
      const auto before = runs_.find(at.object.before);
      if (before == runs_.end()) return std::nullopt;
      const Found& run = all_[before->second];
      if (run.object.to != at.object.from || run.info.size < run.object.TokenBytes()) {
        return std::nullopt;
      }
      at = run;
      std::optional<std::vector<std::byte>> next = Read(at);
      if (!next) return std::nullopt;
      read = *std::move(next);
    }
    std::ranges::reverse(reversed);
    return reversed;
  }

  TokenCount RunTokensOf(const Found& found) const {
    if (found.object.kind == TierObjectKind::kRun) return found.object.to - found.object.from;
    const auto before = runs_.find(found.object.before);
    if (before == runs_.end()) return RunTokensFor(state_.layout());
    const TierObject& run = all_[before->second].object;
    return run.to - run.from;
  }

  Status Check(const Found& found) {
    const auto size = static_cast<int64_t>(found.info.size.value());
    if (size < found.object.TokenBytes().value()) return Different(found, "it is too short");
    std::optional<std::vector<std::byte>> bytes = Read(found);
    if (!bytes) return {};
    const std::optional<std::vector<TokenId>> tokens = TokensOf(found, *bytes);
    if (!tokens) {
      ++report_.incomplete;
      return {};
    }
    for (const TokenId token : *tokens) {
      if (token.value() >= 0 && token.value() < model_.spec().vocabulary) continue;
      return Different(found, "it holds tokens that the model doesn't have");
    }
    const PrefixChain chain(key_, *tokens, RunTokensOf(found));
    const bool is_run = found.object.kind == TierObjectKind::kRun;
    const ObjectKey expected =
        is_run ? chain.RunKey(chain.whole_runs() - 1) : chain.EndKey(chain.tokens());
    if (expected != found.info.key) return Different(found, "its key isn't that of its tokens");
    return Compare(found, chain, *tokens, *bytes);
  }

  Status Different(const Found& found, std::string_view why) {
    ++report_.different;
    report_.problems.push_back(fmt::format("{}: {}", NameOf(found), why));
    return {};
  }

  Status Compare(const Found& found, const PrefixChain& chain, std::span<const TokenId> tokens,
                 std::span<const std::byte> bytes) {
    CAIRN_ASSIGN(const SequenceId id, state_.Create());
    const Status computed = Compute(id, tokens);
    if (!computed) {
      state_.Release(id);
      return computed;
    }
    const StateLayout& layout = state_.layout();
    const TierBlocks blocks = found.object.kind == TierObjectKind::kRun
                                  ? RunBlocks(layout, chain.run_tokens(), chain.whole_runs() - 1)
                                  : EndBlocks(layout, chain.run_tokens(), chain.tokens());
    std::span<const std::byte> rest = bytes;
    bool equal =
        Bytes(static_cast<int64_t>(bytes.size())) == blocks.bytes + found.object.TokenBytes();
    for (const BlockRef& block : state_.ShareBlocks(id, blocks.ranges, blocks.fixed)) {
      const std::span<const std::byte> made = state_.BytesOf(block);
      if (!equal) break;
      equal = std::memcmp(made.data(), rest.data(), made.size()) == 0;
      rest = rest.subspan(made.size());
    }
    state_.Release(id);
    if (!equal) return Different(found, "the model computes other bytes");
    ++report_.equal;
    return {};
  }

  Status Compute(SequenceId id, std::span<const TokenId> tokens) {
    for (size_t at = 0; at < tokens.size();) {
      const size_t count =
          std::min(static_cast<size_t>(options_.chunk.value()), tokens.size() - at);
      const TokenCount added(static_cast<int64_t>(count));
      CAIRN_TRY(state_.Prepare(id, added));
      const BatchSpan span = {
          .state = state_.View(id), .tokens = tokens.subspan(at, count), .logits = 0};
      model_.Forward({&span, 1});
      state_.Commit(id, added);
      report_.computed += added;
      at += count;
    }
    return {};
  }

  Model& model_;
  StateStore& state_;
  const StateKey& key_;
  ObjectStore& objects_;
  const RecomputeOptions options_;
  std::vector<Found> all_;
  std::unordered_map<uint64_t, size_t> runs_;  // by the tag after them, in all_
  RecomputeReport report_;
};

}  // namespace

Result<RecomputeReport> RecomputeObjects(Model& model, StateStore& state, const StateKey& key,
                                         ObjectStore& objects, const RecomputeOptions& options) {
  return Recomputer(model, state, key, objects, options).Run();
}

}  // namespace cairn
