// Token policies in whole models: what is dropped, and what is computed after that, is a function
// of the tokens alone.
#include <doctest/doctest.h>

#include <algorithm>
#include <memory>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "cairn/engine/sequence_runner.h"
#include "cairn/policies/token_policy.h"
#include "cairn/state/audit.h"
#include "tests/model_for_tests.h"

namespace cairn {
namespace {

constexpr size_t kPrompt = 90;
constexpr size_t kTokens = 140;

std::vector<TokenId> LongPrompt(const Golden& golden) {
  std::vector<TokenId> tokens;
  for (size_t i = 0; i < kTokens; ++i) {
    tokens.push_back(golden.prompt[(i * i / 3 + i) % golden.prompt.size()]);
  }
  return tokens;
}

struct Ran {
  std::vector<float> logits;  // of all tokens behind the prompt
  StateBytes state;
  int64_t dropped = 0;

  bool operator==(const Ran& other) const {
    return SameBits(logits, other.logits) && state == other.state && dropped == other.dropped;
  }
};

// The prompt, a drop, and the rest, `chunk` tokens at a time. Null policy: no drop.
Ran Run(LoadedModel& loaded, const TokenPolicy* policy, std::span<const TokenId> tokens,
        int64_t chunk) {
  const auto runner = *SequenceRunner::Make(
      loaded.model(), loaded.store(),
      {.context = TokenCount(512), .chunk = TokenCount(chunk), .policy = policy});
  REQUIRE(runner->Append(tokens.first(kPrompt)));
  if (policy != nullptr) {
    const Status status = runner->EndPrompt();
    REQUIRE_MESSAGE(status.has_value(), (status ? "" : status.error().message));
  }
  Ran ran;
  REQUIRE(runner->AppendForLogits(tokens.subspan(kPrompt), [&](int64_t, auto rows) {
    ran.logits.insert(ran.logits.end(), rows.begin(), rows.end());
  }));
  Audit(loaded.store());
  ran.state = loaded.StateOf(runner->id());
  if (runner->dropped() != nullptr) ran.dropped = runner->dropped()->rows.value();
  return ran;
}

std::unique_ptr<TokenPolicy> Policy(const std::string& text) {
  const Result<PolicySettings> settings = PolicySettings::Parse(text);
  REQUIRE_MESSAGE(settings.has_value(), (settings ? "" : settings.error().message));
  return MakeTokenPolicy(*settings);
}

bool CanLoseRows(const std::string& name) {
  LoadedModel loaded(GoldenFolder(name), {.keys = DType::kF16, .values = DType::kF16}, 1);
  return loaded.model().WatchRows(*Policy("knorm")).has_value();
}

}  // namespace

TEST_CASE(
    "every policy drops the same rows, and the model goes on with the same bits, in any parts") {
  int tried = 0;
  for (const std::string& name : {std::string("llama_gqa"), std::string("gemma3_text"),
                                  std::string("gpt_oss"), std::string("falcon_h1")}) {
    REQUIRE(CanLoseRows(name));
    CAPTURE(name);
    const std::vector<TokenId> tokens = LongPrompt(ReadGolden(name));
    for (const PolicyKind& kind : AllPolicyKinds()) {
      CAPTURE(kind.name);
      ++tried;
      const auto policy = Policy(std::string(kind.name) + ":keep=0.4,every=20");
      LoadedModel loaded(GoldenFolder(name), {.keys = DType::kF16, .values = DType::kBF16}, 1);
      const Ran whole = Run(loaded, policy.get(), tokens, 512);
      CHECK(whole.dropped > 0);
      CHECK(whole == Run(loaded, policy.get(), tokens, 7));
      LoadedModel threaded(GoldenFolder(name), {.keys = DType::kF16, .values = DType::kBF16}, 2);
      CHECK(whole == Run(threaded, policy.get(), tokens, 33));
    }
  }
  CHECK(tried > 20);
}

TEST_CASE("every golden that can lose rows computes the same bits as ever if none is lost") {
  int tried = 0;
  for (const std::string& name : GoldenNames()) {
    if (!CanLoseRows(name)) continue;
    CAPTURE(name);
    ++tried;
    const std::vector<TokenId> tokens = LongPrompt(ReadGolden(name));
    LoadedModel loaded(GoldenFolder(name), {.keys = DType::kF16, .values = DType::kF16}, 1);
    const Ran without = Run(loaded, nullptr, tokens, 512);
    CHECK(without == Run(loaded, Policy("knorm:keep=1").get(), tokens, 512));
    const Ran with = Run(loaded, Policy("knorm:keep=0.5").get(), tokens, 512);
    CHECK_FALSE(SameBits(with.logits, without.logits));
    CHECK(with.dropped == kPrompt / 2);
  }
  CHECK(tried > 10);
}

TEST_CASE("rows that depend on where they stand, or aren't of plain attention, are refused") {
  const auto policy = Policy("knorm");
  const StateCodecs ends = {.keys = {DType::kQ8_0, RowTransform::kRotated, true},
                            .values = DType::kF16};
  int with_ends = 0;
  for (const std::string& name : GoldenNames()) {
    const auto layout = StateLayout::Make(StateSpecOf(GoldenSpec(name), ends));
    if (!layout || !CanLoseRows(name)) continue;
    const StateSpec& spec = layout->spec();
    const bool in_two_forms = std::ranges::any_of(spec.layers, [](const LayerState& layer) {
      return std::ranges::any_of(layer.components, [](const Component& component) {
        const Rows* rows = std::get_if<Rows>(&component);
        return rows != nullptr && rows->exact_copy;
      });
    });
    if (!in_two_forms) continue;
    ++with_ends;
    LoadedModel loaded(GoldenFolder(name), ends, 1);
    const auto refused = loaded.model().WatchRows(*policy);
    REQUIRE_FALSE(refused.has_value());
    CHECK(refused.error().message.find("+ends") != std::string::npos);
  }
  CHECK(with_ends > 0);
  for (const std::string& name : GoldenNames()) {
    LoadedModel loaded(GoldenFolder(name), {.keys = DType::kF16, .values = DType::kF16}, 1);
    const auto watcher = loaded.model().WatchRows(*policy);
    if (watcher) continue;
    CHECK(watcher.error().code == ErrorCode::kUnsupported);
    CHECK(watcher.error().message.find("token policy") != std::string::npos);
  }
}

}  // namespace cairn
