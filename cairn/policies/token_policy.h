// TokenPolicy: which tokens' rows of the state stay when there shall be fewer.
//
// A policy is shown one layer at a time: for each KV head the rows that are there, by rising
// position, and what it asked to know of them (PolicyNeeds). It answers with the rows that each
// head keeps. Positions are true ones, before and after: a row keeps its token's, and the next
// token's is the number of tokens read, not of rows. Query heads that share a KV head are brought
// together by their mean, as rows are the KV head's.
//
// Choices are pure functions of what is shown, ties go to the older row: the same tokens lose the
// same rows however they were batched. Thread-safe.
#ifndef CAIRN_POLICIES_TOKEN_POLICY_H_
#define CAIRN_POLICIES_TOKEN_POLICY_H_

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "cairn/policies/policy_settings.h"

namespace cairn {

// What must be noted for a policy, beside positions.
struct PolicyNeeds {
  int64_t window = 0;  // softmax weights of the last so many queries; 0: none
  bool sums = false;   // of all queries since a row was written
  int64_t future = 0;  // what queries at so many next positions are expected to be; 0: none
  bool keys = false;   // as they were turned to their positions
  bool values = false;

  // Queries of every token are looked at, so a state that others began can't be gone on with.
  bool AllQueries() const { return sums || future > 0; }
};

// Rows of one KV head, at least one. What wasn't asked for is empty. All numbers are finite.
struct HeadRows {
  std::span<const int64_t> positions = {};         // rising
  std::span<const float> weights = {};             // [query head][window][rows], softmax
  std::span<const double> sums = {};               // [query head][rows]: sums of such weights
  std::span<const float> keys = {};                // [rows][key_width]
  std::span<const float> values = {};              // [rows][value_width]
  std::span<const double> query_means = {};        // [query head][key_width]
  std::span<const double> query_covariances = {};  // [query head][key_width][key_width]

  int64_t rows() const { return static_cast<int64_t>(positions.size()); }
};

struct LayerRows {
  int64_t index = 0;  // among the `count` layers that lose rows
  int64_t count = 1;
  int64_t tokens = 0;       // read so far: the next one's position
  int64_t query_heads = 1;  // to a KV head
  int64_t window = 0;       // queries in `weights`
  int64_t key_width = 0;
  int64_t value_width = 0;
  double scale = 1;  // of query . key
  std::vector<HeadRows> heads;
};

using RowScores = std::vector<std::vector<double>>;    // [KV head][row], larger is better
using ChosenRows = std::vector<std::vector<int32_t>>;  // [KV head], rising rows that stay

class TokenPolicy {
 public:
  explicit TokenPolicy(PolicySettings settings) : settings_(std::move(settings)) {}
  virtual ~TokenPolicy() = default;
  TokenPolicy(const TokenPolicy&) = delete;
  TokenPolicy& operator=(const TokenPolicy&) = delete;

  const PolicySettings& settings() const { return settings_; }
  virtual PolicyNeeds needs() const { return {}; }

  virtual RowScores Scores(const LayerRows& layer) const = 0;
  // Rows of each head of this layer, where over all layers and heads it is `budget` in the mean.
  virtual int64_t BudgetOf(const LayerRows& /*layer*/, int64_t budget) const { return budget; }
  // At least one row of each head. The first ones (`sinks`) and the last ones (`recent`) stay
  // within the budget, and of the rest the best. REQUIRES budget >= 1, each head has a row.
  virtual ChosenRows Choose(const LayerRows& layer, int64_t budget) const;

 private:
  const PolicySettings settings_;
};

}  // namespace cairn

#endif  // CAIRN_POLICIES_TOKEN_POLICY_H_
