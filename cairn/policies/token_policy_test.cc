#include "cairn/policies/token_policy.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <numeric>

namespace cairn {
namespace {

std::unique_ptr<TokenPolicy> Policy(std::string_view text) {
  return MakeTokenPolicy(*PolicySettings::Parse(text));
}

std::vector<int64_t> Positions(int64_t count) {
  std::vector<int64_t> positions(static_cast<size_t>(count));
  std::iota(positions.begin(), positions.end(), 0);
  return positions;
}

// One layer with made-up numbers for all that any policy asks for.
struct MadeUpLayer {
  explicit MadeUpLayer(int64_t rows) : positions(Positions(rows)) {
    const auto fill = [&](auto& numbers, int64_t count) {
      for (int64_t i = 0; i < count; ++i) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        numbers.push_back(static_cast<float>(state >> 40) / (1 << 24));
      }
    };
    layer.index = 1;
    layer.count = 4;
    layer.tokens = rows;
    layer.query_heads = 2;
    layer.window = 64;
    layer.key_width = layer.value_width = 4;
    for (size_t h = 0; h < 2; ++h) {
      fill(weights[h], 2 * layer.window * rows);
      fill(sums[h], 2 * rows);
      fill(keys[h], 4 * rows);
      fill(values[h], 4 * rows);
      fill(means[h], 2 * 4);
      covariances[h].resize(2 * 16, 0.1);
      layer.heads.push_back(
          {positions, weights[h], sums[h], keys[h], values[h], means[h], covariances[h]});
    }
  }

  uint64_t state = 1;
  std::vector<int64_t> positions;
  std::vector<float> weights[2], keys[2], values[2];
  std::vector<double> sums[2], means[2], covariances[2];
  LayerRows layer;
};

}  // namespace

TEST_CASE("every policy keeps rising rows within its budget, all where it is no loss") {
  for (const PolicyKind& kind : AllPolicyKinds()) {
    for (const int64_t rows : {1, 5, 100, 700}) {
      const MadeUpLayer made(rows);
      for (const int64_t budget : {int64_t{1}, rows / 2 + 1, rows, 2 * rows}) {
        CAPTURE(kind.name);
        CAPTURE(rows);
        CAPTURE(budget);
        const auto policy = Policy(kind.name);
        const ChosenRows choice = policy->Choose(made.layer, budget);
        REQUIRE(choice.size() == 2);
        int64_t kept = 0;
        for (const std::vector<int32_t>& of_head : choice) {
          REQUIRE_FALSE(of_head.empty());
          CHECK(of_head.front() >= 0);
          CHECK(of_head.back() < rows);
          CHECK(std::ranges::is_sorted(of_head, std::ranges::less_equal{}));
          kept += std::ssize(of_head);
        }
        const int64_t most = std::max<int64_t>(1, policy->BudgetOf(made.layer, budget));
        CHECK(kept <= 2 * most);
        if (budget >= rows && most >= rows) CHECK(kept == 2 * rows);
        CHECK(choice == Policy(kind.name)->Choose(made.layer, budget));
      }
    }
  }
}

TEST_CASE("LagKV takes the same share of each part, and keeps what has no part behind it") {
  const MadeUpLayer made(100);
  const ChosenRows choice = Policy("lagkv:lag=20,sinks=4")->Choose(made.layer, 70);
  for (const std::vector<int32_t>& rows : choice) {
    CHECK(rows.size() == 70);
    const auto inside = [&](int32_t first, int32_t end) {
      return std::ranges::count_if(rows, [&](int32_t r) { return r >= first && r < end; });
    };
    CHECK(inside(0, 4) == 4);
    CHECK(inside(64, 100) == 36);
    for (int32_t part = 4; part < 64; part += 20) CHECK(inside(part, part + 20) == 10);
  }
}

}  // namespace cairn
