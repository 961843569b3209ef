#include "cairn/policies/policy_settings.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <utility>

#include "cairn/base/parse_number.h"
#include "cairn/policies/token_policy.h"

namespace cairn {
namespace {

constexpr std::array kCommon = {
    PolicyKey{"keep", 0.5, 0.001, 1, 0, "share of the tokens whose rows stay"},
    PolicyKey{"budget", 0, 0, 1 << 30, 1, "rows that stay, in place of a share; 0: the share"},
    PolicyKey{"every", 0, 0, 1 << 20, 1,
              "tokens of the answer from drop to drop; 0: only the prompt loses rows"},
};

const PolicyKind* FindKind(std::string_view name) {
  const auto kinds = AllPolicyKinds();
  const auto found = std::ranges::find(kinds, name, &PolicyKind::name);
  return found == kinds.end() ? nullptr : &*found;
}

const PolicyKey& KeyAt(const PolicyKind& kind, size_t index) {
  return index < kCommon.size() ? kCommon[index] : kind.keys[index - kCommon.size()];
}

std::string KeyNames(const PolicyKind& kind) {
  std::string names;
  for (size_t i = 0; i < kCommon.size() + kind.keys.size(); ++i) {
    names += fmt::format("{}{}", i == 0 ? "" : ", ", KeyAt(kind, i).name);
  }
  return names;
}

Status CheckValue(const PolicyKind& kind, const PolicyKey& key, std::string_view text,
                  std::optional<double> value) {
  const auto fits = [&](double number) {
    if (number < key.least || number > key.most) return false;
    return key.step == 0 || std::fmod(number - key.least, key.step) == 0;
  };
  if (value && fits(*value)) return {};
  const std::string_view what = key.step == 0   ? "a number"
                                : key.step == 1 ? "a whole number"
                                                : "an odd number";
  return Fail(ErrorCode::kInvalidArgument,
              "token policy {}: {}={} is out of range; {} from {} to {} would be right", kind.name,
              key.name, text, what, key.least, key.most);
}

}  // namespace

PolicySettings::PolicySettings(const PolicyKind& kind) : kind_(&kind) {
  for (size_t i = 0; i < kCommon.size() + kind.keys.size(); ++i) {
    values_.push_back(KeyAt(kind, i).fallback);
  }
}

Result<PolicySettings> PolicySettings::Parse(std::string_view text) {
  const size_t colon = text.find(':');
  const PolicyKind* kind = FindKind(text.substr(0, colon));
  if (kind == nullptr) {
    return Fail(ErrorCode::kInvalidArgument, "no token policy {}; there are {}",
                text.substr(0, colon), PolicyNames());
  }
  PolicySettings settings(*kind);
  std::string_view rest = colon == std::string_view::npos ? "" : text.substr(colon + 1);
  while (!rest.empty()) {
    const size_t comma = std::min(rest.find(','), rest.size());
    const std::string_view item = rest.substr(0, comma);
    rest.remove_prefix(std::min(comma + 1, rest.size()));
    const size_t equals = std::min(item.find('='), item.size());
    const std::string_view name = item.substr(0, equals);
    size_t index = 0;
    while (index < settings.values_.size() && KeyAt(*kind, index).name != name) ++index;
    if (index == settings.values_.size() || equals == item.size()) {
      return Fail(ErrorCode::kInvalidArgument,
                  "token policy {}: {} is not KEY=VALUE of one of its keys, which are {}",
                  kind->name, item, KeyNames(*kind));
    }
    const std::string_view number = item.substr(equals + 1);
    const std::optional<double> value = ParseDouble(number);
    CAIRN_TRY(CheckValue(*kind, KeyAt(*kind, index), number, value));
    settings.values_[index] = *value;
  }
  return settings;
}

double PolicySettings::Get(std::string_view key) const {
  for (size_t i = 0; i < values_.size(); ++i) {
    if (KeyAt(*kind_, i).name == key) return values_[i];
  }
  return 0;
}

std::string PolicySettings::Name() const {
  std::string name(kind_->name);
  char before = ':';
  for (size_t i = 0; i < values_.size(); ++i) {
    if (values_[i] == KeyAt(*kind_, i).fallback) continue;
    name += fmt::format("{}{}={}", before, KeyAt(*kind_, i).name, values_[i]);
    before = ',';
  }
  return name;
}

int64_t PolicySettings::BudgetAt(TokenCount tokens) const {
  if (const int64_t budget = Whole("budget"); budget > 0) return budget;
  const double share = static_cast<double>(tokens.value()) * Get("keep");
  return std::max<int64_t>(1, static_cast<int64_t>(share));
}

TokenCount PolicySettings::NextDrop(TokenCount prompt, TokenCount read) const {
  if (read <= prompt) return prompt;
  const int64_t every = Whole("every");
  if (every == 0) return kMaxDropLength;
  const int64_t steps = ((read - prompt).value() + every - 1) / every;
  return prompt + TokenCount(steps * every);
}

std::span<const PolicyKey> CommonPolicyKeys() { return kCommon; }

std::string PolicyNames() {
  std::string names;
  for (const PolicyKind& kind : AllPolicyKinds()) {
    names += fmt::format("{}{}", names.empty() ? "" : ", ", kind.name);
  }
  return names;
}

std::unique_ptr<TokenPolicy> MakeTokenPolicy(const PolicySettings& settings) {
  return settings.kind().make(settings);
}

}  // namespace cairn
