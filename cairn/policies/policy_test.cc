// Token policies against worked examples of the methods that they follow.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>
#include <numeric>

#include "cairn/policies/future_queries.h"
#include "cairn/policies/policies.h"
#include "cairn/policies/row_scores.h"

namespace cairn {
namespace {

using Json = nlohmann::json;

Json Example(const char* key) {
  std::ifstream file("tests/data/compression_examples.json");
  REQUIRE(file.good());
  return Json::parse(file).at(key);
}

template <class Number>
std::vector<Number> Flat(const Json& json) {
  std::vector<Number> numbers;
  for (const Json& item : json) {
    if (item.is_array()) {
      const std::vector<Number> inner = Flat<Number>(item);
      numbers.insert(numbers.end(), inner.begin(), inner.end());
    } else {
      numbers.push_back(item.get<Number>());
    }
  }
  return numbers;
}

void CheckNear(std::span<const double> ours, const Json& theirs) {
  REQUIRE(ours.size() == theirs.size());
  for (size_t i = 0; i < ours.size(); ++i) {
    CHECK(ours[i] == doctest::Approx(theirs[i].get<double>()).epsilon(1e-6));
  }
}

std::vector<int32_t> Rows(const Json& json) { return Flat<int32_t>(json); }

// Of equal scores any may come first.
void CheckOrder(std::span<const double> scores, const Json& best_first) {
  REQUIRE(scores.size() == best_first.size());
  for (size_t i = 1; i < scores.size(); ++i) {
    CHECK(scores[best_first[i - 1].get<size_t>()] >= scores[best_first[i].get<size_t>()]);
  }
}

std::unique_ptr<TokenPolicy> Policy(std::string_view text) {
  return MakeTokenPolicy(*PolicySettings::Parse(text));
}

std::vector<int64_t> Positions(int64_t count) {
  std::vector<int64_t> positions(static_cast<size_t>(count));
  std::iota(positions.begin(), positions.end(), 0);
  return positions;
}

}  // namespace

TEST_CASE("SnapKV sums, pools and keeps what the worked example does") {
  const Json example = Example("05_snapkv");
  const auto weights = Flat<float>(example.at("attn_window[head][q][key]"));
  const std::vector<int64_t> positions = Positions(8);
  LayerRows layer;
  layer.tokens = 8;
  layer.query_heads = 2;
  layer.window = 2;
  layer.heads.push_back({.positions = positions, .weights = weights});
  const HeadRows& head = layer.heads.front();

  const Json& means = example.at("avgpool_k3 (zero pad, divide by 3 always)");
  const Json& largest = example.at("maxpool_k3");
  for (int64_t q = 0; q < 2; ++q) {
    std::vector<double> sums = WindowSums(layer, head, q);
    sums.resize(6);
    const auto at = static_cast<size_t>(q);
    CheckNear(sums, example.at("prefix_sum_over_window[head]")[at]);
    CheckNear(PoolAlong(sums, 3, Pooling1d::kMean), means[at]);
    CheckNear(PoolAlong(sums, 3, Pooling1d::kLargest), largest[at]);
  }
  const auto kept = [&](std::string_view policy) {
    std::vector<int32_t> rows = Policy(policy)->Choose(layer, 5).front();
    REQUIRE(rows.size() == 5);
    CHECK(rows[3] == 6);  // the window itself
    CHECK(rows[4] == 7);
    rows.resize(3);
    return rows;
  };
  std::vector<double> scores = Policy("snapkv:window=2,pool=3,mean=1")->Scores(layer).front();
  scores.resize(6);
  CheckNear(scores, example.at("kv_head_score_avgpool_group_mean"));
  CHECK(kept("snapkv:window=2,pool=3,mean=1") == Rows(example.at("keep3_avgpool")));
  CHECK(kept("snapkv:window=2,pool=3") == Rows(example.at("keep3_maxpool_pool_then_mean")));
  CHECK(kept("snapkv:window=2,pool=1") == Rows(example.at("keep3_without_pooling")));
}

TEST_CASE("H2O drops token by token what the worked example drops, with the sums of what is left") {
  const Json example = Example("06_h2o");
  const Json& logits = example.at("logits");
  const auto policy = Policy("h2o:heavy=0.5");
  std::vector<int64_t> positions;
  std::vector<double> sums;
  for (int64_t t = 0; t < std::ssize(logits); ++t) {
    positions.push_back(t);
    sums.push_back(0);
    double total = 0;
    const auto weight = [&](size_t r) {
      const auto key = static_cast<size_t>(positions[r]);
      return std::exp(logits[static_cast<size_t>(t)][key].get<double>());
    };
    for (size_t r = 0; r < positions.size(); ++r) total += weight(r);
    for (size_t r = 0; r < positions.size(); ++r) sums[r] += weight(r) / total;
    LayerRows layer;
    layer.tokens = t + 1;
    layer.heads.push_back({.positions = positions, .sums = sums});
    std::vector<int64_t> kept_positions;
    std::vector<double> kept_sums;
    const ChosenRows choice = policy->Choose(layer, 4);
    for (const int32_t row : choice.front()) {
      kept_positions.push_back(positions[static_cast<size_t>(row)]);
      kept_sums.push_back(sums[static_cast<size_t>(row)]);
    }
    positions = kept_positions;
    sums = kept_sums;
    const Json& step = example.at("h2o_hh2_recent2")[static_cast<size_t>(t)];
    CHECK(positions == Flat<int64_t>(step.at("kept")));
    for (size_t r = 0; r < positions.size(); ++r) {
      const double theirs = step.at("scores").at(std::to_string(positions[r]));
      CHECK(sums[r] == doctest::Approx(theirs).epsilon(1e-6));
    }
  }
}

TEST_CASE("H2O's sums by age and TOVA's rows are those of the worked example") {
  const Json example = Example("06_h2o");
  const std::vector<int64_t> positions = Positions(6);
  const auto sums = Flat<double>(example.at("accumulated_column_sum"));
  const auto last = Flat<float>(example.at("attn")[5]);
  LayerRows layer;
  layer.tokens = 6;
  layer.window = 1;
  layer.heads.push_back({.positions = positions, .weights = last, .sums = sums});
  const char* by_age = "kvpress_observed (column sum / number of queries that could see it)";
  CheckNear(Policy("h2o:norm=1")->Scores(layer).front(), example.at(by_age));
  CHECK(Policy("tova")->Choose(layer, 4).front() ==
        Rows(example.at("tova_budget4_keep_after_last")));
}

TEST_CASE("PyramidKV's budgets are those of its code") {
  const Json example = Example("07_pyramidkv");
  const auto budgets = [](int64_t capacity, int64_t window) {
    return PyramidBudgets({.capacity = capacity, .window = window, .layers = 32, .tokens = 8000});
  };
  const auto first = budgets(128, 8);
  CHECK(first == Flat<int64_t>(example.at("official_cap128_w8_L32_q8000")));
  CHECK(std::accumulate(first.begin(), first.end(), int64_t{0}) == example.at("sum"));
  CHECK(budgets(2048, 32) == Flat<int64_t>(example.at("official_cap2048_w32_L32_q8000")));
  CHECK(budgets(128, 64) == Flat<int64_t>(example.at("official_cap128_w64")));
  // Too few tokens for a pyramid: all alike.
  CHECK(PyramidBudgets({.capacity = 100, .window = 10, .layers = 2, .tokens = 150}) ==
        std::vector<int64_t>{90, 90});
}

TEST_CASE("Ada-KV gives rows to the heads with the best ones, and keeps more of the mass by that") {
  const Json example = Example("17_adakv");
  const auto scores = example.at("scores").get<RowScores>();
  const auto counts = [&](double floor) {
    std::vector<int64_t> sizes;
    for (const auto& rows : KeepBestOfAllHeads(scores, 3, floor)) sizes.push_back(std::ssize(rows));
    return sizes;
  };
  CHECK(counts(0) == Flat<int64_t>(example.at("global_topk_counts")));
  const char* forced = "kvpress_style (n_safe=max(1,int(3*0.2)) forced per head, then global)";
  CHECK(counts(1.0 / 3) == Flat<int64_t>(example.at(forced)));
  CHECK(counts(1) == Flat<int64_t>(example.at("uniform_budget")));
  const auto mass = [&](double floor) {
    double sum = 0;
    const ChosenRows choice = KeepBestOfAllHeads(scores, 3, floor);
    for (size_t h = 0; h < choice.size(); ++h) {
      for (const int32_t row : choice[h]) sum += scores[h][static_cast<size_t>(row)];
    }
    return sum;
  };
  CHECK(mass(1) == doctest::Approx(example.at("retained_mass_uniform").get<double>()));
  CHECK(mass(0) == doctest::Approx(example.at("retained_mass_adaptive").get<double>()));
  // Its authors' rounding loses one of the six.
  const auto rounded = Flat<int64_t>(example.at("official_round(counts*(1-a)+floor)"));
  CHECK(rounded[0] + rounded[1] == 5);
}

TEST_CASE("scores from keys, values and expected queries are those of the worked example") {
  const Json example = Example("18_scores");
  const std::vector<int64_t> positions = Positions(6);
  const auto keys = Flat<float>(example.at("K"));
  const auto values = Flat<float>(example.at("V"));
  QueryMoments moments{.mean = example.at("mu_q(pre-RoPE)"), .covariance = std::vector<double>(16)};
  const auto diagonal = Flat<double>(example.at("cov diag"));
  for (size_t c = 0; c < 4; ++c) moments.covariance[c * 5] = diagonal[c];
  const std::vector<TurningChannels> pairs = {{0, 2, 1.0}, {1, 3, 0.01}};
  moments = TurnedAhead(moments, pairs, {.from = 100, .count = 4});
  LayerRows layer;
  layer.tokens = 100;
  layer.key_width = 4;
  layer.value_width = 2;
  layer.scale = 0.5;
  layer.heads.push_back({.positions = positions,
                         .keys = keys,
                         .values = values,
                         .query_means = moments.mean,
                         .query_covariances = moments.covariance});
  const Json& order = example.at("rank_order_best_first");
  const std::vector<double> weights = ExpectedWeights(layer, layer.heads.front(), 0);
  CheckNear(weights, example.at("expected_attention"));
  const std::vector<double> expected = Policy("expected")->Scores(layer).front();
  CheckNear(expected, example.at("times_vnorm"));
  CheckOrder(expected, order.at("expected"));

  const auto output = Flat<double>(example.at("W_O (2x3)"));
  std::vector<double> sizes;
  for (size_t r = 0; r < 6; ++r) {
    double size = 0;
    for (size_t c = 0; c < 3; ++c) {
      size +=
          std::abs(double{values[r * 2]} * output[c] + double{values[r * 2 + 1]} * output[3 + c]);
    }
    sizes.push_back(size);
  }
  const std::vector<double> critical = TimesSizes(weights, sizes, 1e-4);
  CheckNear(critical, example.at("criticalkv (ea+1e-4)*||v W_O||_1"));
  CheckOrder(critical, order.at("critical"));

  const std::vector<double> knorm = Policy("knorm")->Scores(layer).front();
  CheckNear(knorm, example.at("knorm_score(-||k||)"));
  CheckOrder(knorm, order.at("knorm"));
  const std::vector<double> keydiff = Policy("keydiff")->Scores(layer).front();
  CheckNear(keydiff, example.at("keydiff_score"));
  CheckOrder(keydiff, order.at("keydiff"));
  const std::span<const float> all(keys);
  CheckNear(LagScores(all.first(12), all.subspan(12), 4),
            example.at("lagkv_key_score first partition (size 3, ref = second)"));
}

TEST_CASE(
    "OpenVINO's blocks and its choice by mass and diversity are those of the worked example") {
  const Json example = Example("19_openvino");
  const int64_t block = example.at("block_size");
  auto tokens = Flat<double>(example.at("token_scores"));
  const std::vector<double> sums = BlockSums(tokens, block);
  CheckNear(sums, example.at("block_SUM"));
  const auto dropped = [](std::span<const double> scores) {
    const std::vector<int32_t> kept = KeepBest(scores, {.budget = std::ssize(scores) - 2});
    std::vector<int32_t> rest;
    for (int32_t b = 0; b < std::ssize(scores); ++b) {
      if (std::ranges::find(kept, b) == kept.end()) rest.push_back(b);
    }
    return rest;
  };
  CHECK(dropped(sums) == Rows(example.at("evict2_SUM")));
  const auto keys = Flat<float>(example.at("keys"));
  const std::vector<std::span<const float>> heads = {keys};
  const AdaptiveBlocks chosen = KeepAdaptively(
      {.keys = heads, .width = 2, .block_scores = sums, .block = block, .keep = 3, .mass = 0.5});
  const Json& adaptive = example.at("adaptive_rkv_keep3_mass0.5");
  CHECK(chosen.by_mass == Rows(adaptive.at("kept_by_mass")));
  CHECK(chosen.by_diversity == Rows(adaptive.at("kept_by_diversity")));
  for (const auto& [b, diversity] : adaptive.at("filtered_diversity").items()) {
    CHECK(chosen.diversity[static_cast<size_t>(std::stoi(b))] ==
          doctest::Approx(diversity.get<double>()).epsilon(1e-6));
  }
  const auto lifetimes = Flat<double>(example.at("lifetimes"));
  for (size_t i = 0; i < tokens.size(); ++i) tokens[i] /= lifetimes[i];
  CheckNear(BlockSums(tokens, block), example.at("block_NORM_SUM"));
  CHECK(dropped(BlockSums(tokens, block)) == Rows(example.at("evict2_NORM_SUM")));
}

TEST_CASE("OpenVINO's areas: the first rows, the last, and whole blocks between them") {
  constexpr int64_t kRows = 40;
  const std::vector<int64_t> positions = Positions(kRows);
  std::vector<float> weights(kRows);
  weights[21] = 1;  // in the third block of four rows behind the first eight
  LayerRows layer;
  layer.tokens = kRows;
  layer.window = 1;
  layer.heads.push_back({.positions = positions, .weights = weights});
  const std::vector<int32_t> kept =
      Policy("areas:sinks=8,recent=8,block=4,pool=1")->Choose(layer, 22).front();
  std::vector<int32_t> expected(20);
  std::iota(expected.begin(), expected.begin() + 8, 0);
  std::iota(expected.begin() + 8, expected.begin() + 12, 20);
  std::iota(expected.begin() + 12, expected.end(), 32);
  CHECK(kept == expected);
}

}  // namespace cairn
