// Recurrences on small examples that can be followed by hand, through kernels and references.
#include <doctest/doctest.h>

#include "cairn/kernels/recurrence_for_tests.h"
#include "cairn/kernels/recurrence_reference.h"

namespace cairn {
namespace {

constexpr float kOne = 1;
constexpr float kZero = 0;

// A head of 2 x 2 whose one token's key is also its query.
struct SmallHead {
  Floats state;
  Floats key;
  Floats value;
  Floats out = Floats(2);

  DeltaRuleHead Delta(const float* beta) {
    return {.key_width = 2,
            .value_width = 2,
            .state = state.data(),
            .queries = {key.data(), 0},
            .keys = {key.data(), 0},
            .values = {value.data(), 0},
            .betas = {beta, 0},
            .decays = {&kOne, 0},
            .out = {out.data(), 0}};
  }
};

}  // namespace

TEST_CASE("linear attention by hand: writing [1, 0] -> [2, 1] and [0, 1] -> [1, 3]") {
  for (const auto kernel : {LinearAttention, LinearAttentionReference}) {
    Floats state(4);
    const Floats keys = {1, 0, 0, 1};
    const Floats values = {2, 1, 1, 3};
    const Floats both = {1, 1};
    Floats out(4);
    kernel({.key_width = 2,
            .value_width = 2,
            .state = state.data(),
            .queries = {both.data(), 0},
            .keys = {keys.data(), 2},
            .values = {values.data(), 2},
            .decays = {&kOne, 0},
            .out = {out.data(), 2}},
           2);
    CHECK(state == Floats{2, 1, 1, 3});
    CHECK(out == Floats{2, 1, 3, 4});
  }
}

TEST_CASE("delta rule by hand: key [1, 0] predicts [2, 1], which is [-2, 1] off from [0, 2]") {
  for (const auto kernel : {DeltaRule, DeltaRuleReference}) {
    SmallHead head = {.state = {2, 1, 1, 3}, .key = {1, 0}, .value = {0, 2}};
    kernel(head.Delta(&kZero), 1);  // learns nothing, so it reads the prediction
    CHECK(head.out == Floats{2, 1});
    CHECK(Floats{head.value[0] - head.out[0], head.value[1] - head.out[1]} == Floats{-2, 1});
    CHECK(head.state == Floats{2, 1, 1, 3});
  }
}

TEST_CASE("delta rule by hand: the corrected state is [[0, 2], [1, 3]]") {
  for (const auto kernel : {DeltaRule, DeltaRuleReference}) {
    SmallHead head = {.state = {2, 1, 1, 3}, .key = {1, 0}, .value = {0, 2}};
    kernel(head.Delta(&kOne), 1);
    CHECK(head.state == Floats{0, 2, 1, 3});
    CHECK(head.out == head.value);
  }
}

TEST_CASE("RWKV 7 that removes a whole key before it writes is the delta rule") {
  SmallHead head = {.state = {2, 1, 1, 3}, .key = {1, 0}, .value = {0, 2}};
  const Floats ones = {1, 1};
  Wkv7({.key_width = 2,
        .value_width = 2,
        .state = head.state.data(),
        .receptances = {head.key.data(), 0},
        .keys = {head.key.data(), 0},
        .values = {head.value.data(), 0},
        .decays = {ones.data(), 0},
        .removal_keys = {head.key.data(), 0},
        .rates = {ones.data(), 0},
        .out = {head.out.data(), 0}},
       1);
  CHECK(head.state == Floats{0, 2, 1, 3});
  CHECK(head.out == head.value);
}

}  // namespace cairn
