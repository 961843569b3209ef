#include "cairn/spec/model_spec.h"

#include <doctest/doctest.h>

#include "cairn/spec/families_for_tests.h"

namespace cairn {

TEST_CASE("the state keeps transposed keys and row-major values of every KV head") {
  const StateSpec state =
      StateSpecOf(GoldenModel("gemma3_text"), {.keys = DType::kBF16, .values = DType::kQ8_0});
  REQUIRE_EQ(state.layers.size(), 7);
  REQUIRE_EQ(state.layers[0].components.size(), 2);
  const Rows& keys = std::get<Rows>(state.layers[0].components[0]);
  CHECK_EQ(keys.name, "keys");
  CHECK_EQ(keys.heads, 2);
  CHECK_EQ(keys.width, 16);
  CHECK_EQ(keys.codec, DType::kBF16);
  CHECK_EQ(keys.tokens_per_row, TokenCount(1));
  CHECK_EQ(keys.order, RowOrder::kTransposedTiles);
  CHECK_EQ(keys.position, PositionApplied::kWhenStored);
  CHECK_EQ(keys.lifetime, Lifetime::Window(TokenCount(8)));
  const Rows& values = std::get<Rows>(state.layers[0].components[1]);
  CHECK_EQ(values.name, "values");
  CHECK_EQ(values.codec, DType::kQ8_0);
  CHECK_EQ(values.order, RowOrder::kRowMajor);
  CHECK_EQ(values.position, PositionApplied::kNone);
  CHECK_EQ(values.lifetime, Lifetime::Window(TokenCount(8)));
  CHECK_EQ(std::get<Rows>(state.layers[5].components[0]).lifetime, Lifetime::All());
}

// The kernels store keys so in every codec; to know which bytes are a row's, the state must, too.
TEST_CASE("keys are transposed whatever they are stored as") {
  for (const DType codec : {DType::kF32, DType::kQ8_0, DType::kIQ4_NL, DType::kLM3}) {
    const StateSpec state = StateSpecOf(GoldenModel("gemma3_text"), {.keys = codec});
    CHECK_EQ(std::get<Rows>(state.layers[0].components[0]).order, RowOrder::kTransposedTiles);
  }
}

TEST_CASE("keys and values have their own widths") {
  ModelSpec model = GoldenModel("llama_gqa");
  std::get<AttentionSpec>(model.layers[0].mixer).value_width = 24;
  const StateSpec state = StateSpecOf(model, {});
  CHECK_EQ(std::get<Rows>(state.layers[0].components[0]).width, 16);
  CHECK_EQ(std::get<Rows>(state.layers[0].components[1]).width, 24);
}

TEST_CASE("keys without a rotation keep no position") {
  const StateSpec state = StateSpecOf(GoldenModel("smollm3"), {});
  CHECK_EQ(std::get<Rows>(state.layers[2].components[0]).position, PositionApplied::kNone);
  CHECK_EQ(std::get<Rows>(state.layers[0].components[0]).position, PositionApplied::kWhenStored);
}

}  // namespace cairn
