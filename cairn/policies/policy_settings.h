// PolicySettings: a token policy by its name, with the numbers that it takes.
//
// Written "snapkv" or "snapkv:keep=0.25,window=32"; a key that isn't named has its kind's value.
// `keep`, `budget` and `every`, which say how much stays and when, belong to every kind. Plain data
// over a constant table; thread-safe.
#ifndef CAIRN_POLICIES_POLICY_SETTINGS_H_
#define CAIRN_POLICIES_POLICY_SETTINGS_H_

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cairn/base/ids.h"
#include "cairn/base/status.h"

namespace cairn {

class PolicySettings;
class TokenPolicy;

struct PolicyKey {
  std::string_view name;
  double fallback;
  double least, most;
  double step;  // from `least` in steps of so much; 0: any number
  std::string_view meaning;
};

struct PolicyKind {
  std::string_view name;
  std::string_view what;
  std::unique_ptr<TokenPolicy> (*make)(PolicySettings settings);
  std::span<const PolicyKey> keys;
};

class PolicySettings {
 public:
  // Errors name the kinds, or the kind's keys, or a key's bounds.
  static Result<PolicySettings> Parse(std::string_view text);

  const PolicyKind& kind() const { return *kind_; }
  // 0 for a key that the kind doesn't have.
  double Get(std::string_view key) const;
  int64_t Whole(std::string_view key) const { return static_cast<int64_t>(Get(key)); }
  // What Parse makes these settings of: the kind, and what differs from its values.
  std::string Name() const;

  // Rows that stay of so many tokens, of each head in the mean; at least 1.
  int64_t BudgetAt(TokenCount tokens) const;
  // When rows are dropped: at the prompt's end, and then after each `every` tokens. The first such
  // length of `read` tokens or more; none: kMaxDropLength.
  TokenCount NextDrop(TokenCount prompt, TokenCount read) const;
  static constexpr TokenCount kMaxDropLength{int64_t{1} << 40};

  bool operator==(const PolicySettings&) const = default;

 private:
  explicit PolicySettings(const PolicyKind& kind);
  const PolicyKind* kind_;
  std::vector<double> values_;  // of the keys of all kinds, then of this one's
};

// All there are; the order is that of reports.
std::span<const PolicyKind> AllPolicyKinds();
std::string PolicyNames();  // "streaming, h2o, ..."
// The keys that every kind has.
std::span<const PolicyKey> CommonPolicyKeys();
std::unique_ptr<TokenPolicy> MakeTokenPolicy(const PolicySettings& settings);

}  // namespace cairn

#endif  // CAIRN_POLICIES_POLICY_SETTINGS_H_
