#include "cairn/policies/policy_settings.h"

#include <doctest/doctest.h>

#include <set>

#include "cairn/policies/token_policy.h"

namespace cairn {
namespace {

std::string ErrorOf(std::string_view text) {
  const Result<PolicySettings> settings = PolicySettings::Parse(text);
  REQUIRE_FALSE(settings.has_value());
  CHECK(settings.error().code == ErrorCode::kInvalidArgument);
  return settings.error().message;
}

}  // namespace

TEST_CASE("a policy's name with numbers becomes settings, and they that name again") {
  for (const PolicyKind& kind : AllPolicyKinds()) {
    const Result<PolicySettings> settings = PolicySettings::Parse(kind.name);
    REQUIRE(settings.has_value());
    CHECK(settings->Name() == kind.name);
    CHECK(MakeTokenPolicy(*settings)->settings() == *settings);
    const std::string longer = std::string(kind.name) + ":keep=0.25,every=64";
    CHECK(PolicySettings::Parse(longer)->Name() == longer);
  }
  CHECK(PolicySettings::Parse("snapkv:window=32")->Name() == "snapkv");
  CHECK(PolicySettings::Parse("snapkv:window=16")->Whole("window") == 16);
  CHECK(PolicySettings::Parse("tova")->Whole("window") == 0);
}

TEST_CASE("an error says which kinds, keys or numbers there are") {
  CHECK(ErrorOf("snap").find("snapkv, pyramidkv") != std::string::npos);
  CHECK(ErrorOf("snapkv:sinks=4").find("keep, budget, every, window") != std::string::npos);
  CHECK(ErrorOf("snapkv:window").find("KEY=VALUE") != std::string::npos);
  CHECK(ErrorOf("snapkv:window=").find("window") != std::string::npos);
  CHECK(ErrorOf("snapkv:keep=0").find("0.001 to 1") != std::string::npos);
  CHECK(ErrorOf("snapkv:window=1.5").find("a whole number") != std::string::npos);
  CHECK(ErrorOf("snapkv:pool=4").find("an odd number") != std::string::npos);
  CHECK(ErrorOf("snapkv:keep=nan").find("out of range") != std::string::npos);
}

TEST_CASE("budgets and the lengths at which rows are dropped follow from the tokens alone") {
  const PolicySettings settings = *PolicySettings::Parse("h2o:keep=0.25,every=10");
  CHECK(settings.BudgetAt(TokenCount(100)) == 25);
  CHECK(settings.BudgetAt(TokenCount(1)) == 1);
  CHECK(PolicySettings::Parse("h2o:budget=7")->BudgetAt(TokenCount(100)) == 7);
  const TokenCount prompt(100);
  CHECK(settings.NextDrop(prompt, TokenCount(0)) == prompt);
  CHECK(settings.NextDrop(prompt, prompt) == prompt);
  CHECK(settings.NextDrop(prompt, TokenCount(101)) == TokenCount(110));
  CHECK(settings.NextDrop(prompt, TokenCount(110)) == TokenCount(110));
  const PolicySettings once = *PolicySettings::Parse("h2o");
  CHECK(once.NextDrop(prompt, TokenCount(101)) == PolicySettings::kMaxDropLength);
}

TEST_CASE("no two kinds, and no two keys of a kind, have one name") {
  std::set<std::string_view> names;
  for (const PolicyKind& kind : AllPolicyKinds()) {
    CHECK(names.insert(kind.name).second);
    std::set<std::string_view> keys;
    for (const PolicyKey& key : CommonPolicyKeys()) keys.insert(key.name);
    for (const PolicyKey& key : kind.keys) CHECK(keys.insert(key.name).second);
  }
}

}  // namespace cairn
