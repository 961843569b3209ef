#include "cairn/policies/future_queries.h"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include <fstream>
#include <numeric>

namespace cairn {
namespace {

nlohmann::json Example(const char* key) {
  std::ifstream file("tests/data/compression_examples.json");
  REQUIRE(file.good());
  return nlohmann::json::parse(file).at(key);
}

// Half-split pairs of four channels, base 10000.
std::vector<TurningChannels> Pairs() { return {{0, 2, 1.0}, {1, 3, 0.01}}; }

std::vector<double> Turned(const std::vector<double>& x, int64_t position) {
  return TurnedAhead({x, {}}, Pairs(), {.from = position}).mean;
}

double Product(const std::vector<double>& a, const std::vector<double>& b) {
  return std::inner_product(a.begin(), a.end(), b.begin(), 0.0);
}

void CheckNear(const std::vector<double>& ours, const nlohmann::json& theirs) {
  REQUIRE(ours.size() == theirs.size());
  for (size_t i = 0; i < ours.size(); ++i) {
    CHECK(ours[i] == doctest::Approx(theirs[i].get<double>()).epsilon(1e-8));
  }
}

}  // namespace

TEST_CASE(
    "scores hold for true positions or equal shifts, and break where the cursor counts rows") {
  const nlohmann::json rope = Example("16_rope");
  const auto key = rope.at("k").get<std::vector<double>>();
  const std::vector<double> query = {1.0, 0.5, -0.4, 0.2};
  const std::vector<double> stored = Turned(key, 37);
  CheckNear(stored, rope.at("rope(k,37)"));
  CheckNear(Turned(stored, -30), rope.at("re-rotated by -30"));
  CheckNear(Turned(stored, -30), rope.at("rope(k,7)"));
  CHECK(Product(Turned(query, 50), stored) ==
        doctest::Approx(rope.at("score q@50,k@37").get<double>()));
  CHECK(Product(Turned(query, 13), Turned(key, 0)) ==
        doctest::Approx(rope.at("score q@13,k@0").get<double>()));
  const char* wrong = "wrong: cursor reset (q@5 after dropping 45 rows, k still @37)";
  CHECK(Product(Turned(query, 5), stored) == doctest::Approx(rope.at(wrong).get<double>()));
}

TEST_CASE("queries to come are turned by the mean of the rotations to their positions") {
  const nlohmann::json scores = Example("18_scores");
  const auto mean = scores.at("mu_q(pre-RoPE)").get<std::vector<double>>();
  const auto matrix = scores.at("avg_rope_matrix positions 100..103");
  const PositionsAhead ahead = {.from = 100, .count = 4};
  CheckNear(TurnedAhead({mean, {}}, Pairs(), ahead).mean, scores.at("mu_rot"));
  for (size_t c = 0; c < 4; ++c) {
    std::vector<double> unit(4), column;
    unit[c] = 1;
    for (size_t r = 0; r < 4; ++r) column.push_back(matrix[r][c]);
    CheckNear(TurnedAhead({unit, {}}, Pairs(), ahead).mean, column);
  }
}

TEST_CASE("a covariance of one direction turns as that direction does") {
  const std::vector<double> x = {0.3, -1.2, 0.7, 2.0};
  std::vector<double> covariance;
  for (const double a : x) {
    for (const double b : x) covariance.push_back(a * b);
  }
  const PositionsAhead ahead = {.from = 5, .count = 3, .amplitude = 1.5};
  const QueryMoments turned = TurnedAhead({x, covariance}, Pairs(), ahead);
  for (size_t i = 0; i < 4; ++i) {
    for (size_t j = 0; j < 4; ++j) {
      CHECK(turned.covariance[i * 4 + j] == doctest::Approx(turned.mean[i] * turned.mean[j]));
    }
  }
}

}  // namespace cairn
