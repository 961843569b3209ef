// The token policies, one file each (policy_x.cc), and the parts of them that published examples
// hold. Their table is policy_table.cc.
//
// Pure functions; thread-safe.
#ifndef CAIRN_POLICIES_POLICIES_H_
#define CAIRN_POLICIES_POLICIES_H_

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "cairn/policies/token_policy.h"

namespace cairn {

std::unique_ptr<TokenPolicy> MakeStreaming(PolicySettings settings);
std::unique_ptr<TokenPolicy> MakeHeavyHitters(PolicySettings settings);
std::unique_ptr<TokenPolicy> MakeScissorhands(PolicySettings settings);
std::unique_ptr<TokenPolicy> MakeTova(PolicySettings settings);
std::unique_ptr<TokenPolicy> MakeSnapKv(PolicySettings settings);
std::unique_ptr<TokenPolicy> MakePyramidKv(PolicySettings settings);
std::unique_ptr<TokenPolicy> MakePyramidInfer(PolicySettings settings);
std::unique_ptr<TokenPolicy> MakeAdaKv(PolicySettings settings);
std::unique_ptr<TokenPolicy> MakeExpectedAttention(PolicySettings settings);
std::unique_ptr<TokenPolicy> MakeKeyDiff(PolicySettings settings);
std::unique_ptr<TokenPolicy> MakeKeyNorm(PolicySettings settings);
std::unique_ptr<TokenPolicy> MakeLag(PolicySettings settings);
std::unique_ptr<TokenPolicy> MakeAreas(PolicySettings settings);
std::unique_ptr<TokenPolicy> MakeRandom(PolicySettings settings);

// PyramidKV: rows before the window that each layer keeps where `tokens` were read.
struct Pyramid {
  int64_t capacity = 0;  // rows of a layer in the mean, the window with them
  int64_t window = 0;
  int64_t layers = 1;
  int64_t tokens = 0;
  int64_t beta = 20;  // the top layer keeps a beta-th
};
std::vector<int64_t> PyramidBudgets(const Pyramid& pyramid);

// Ada-KV: of `budget` rows a head in the mean, `floor_share` go to each head for its own best, the
// rest to the best of all heads together.
ChosenRows KeepBestOfAllHeads(const RowScores& scores, int64_t budget, double floor_share);

// ExpectedAttention: softmax over rows of the mean score that the expected queries give; of one
// query head.
std::vector<double> ExpectedWeights(const LayerRows& layer, const HeadRows& head,
                                    int64_t query_head);
// (weight + epsilon) * size of each row: a value's length, or that of what it adds to the residual
// (CriticalKV's second stage).
std::vector<double> TimesSizes(std::span<const double> weights, std::span<const double> sizes,
                               double epsilon);

// LagKV: of rows [rows][width], by the next part's ranges.
std::vector<double> LagScores(std::span<const float> rows, std::span<const float> next,
                              int64_t width);

// OpenVINO's evictable area: sums of the tokens' scores by blocks.
std::vector<double> BlockSums(std::span<const double> scores, int64_t block);
// Which blocks stay: the best until they have `mass` of all scores, then those most unlike others.
struct AdaptiveBlocks {
  std::vector<int32_t> by_mass;
  std::vector<double> diversity;  // of blocks that aren't kept by mass; 0 of others
  std::vector<int32_t> by_diversity;
};
struct AdaptiveInput {
  std::span<const std::span<const float>> keys;  // of each KV head, [rows][width]
  int64_t width = 0;
  std::span<const double> block_scores;
  int64_t block = 0;
  int64_t keep = 0;  // blocks
  double mass = 0.9;
};
AdaptiveBlocks KeepAdaptively(const AdaptiveInput& input);

}  // namespace cairn

#endif  // CAIRN_POLICIES_POLICIES_H_
