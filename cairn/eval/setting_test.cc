#include "cairn/eval/setting.h"

#include <doctest/doctest.h>

#include "cairn/eval/induction_model_for_tests.h"

namespace cairn {
namespace {

Rows RowsOf(const char* name, int64_t heads, int64_t width, DType codec) {
  Rows rows;
  rows.name = name;
  rows.heads = heads;
  rows.width = width;
  rows.codec = codec;
  return rows;
}

StateLayout LayoutOf(std::vector<Component> components) {
  return *StateLayout::Make({.layers = {LayerState{.components = std::move(components)}}});
}

}  // namespace

TEST_CASE("bits per element are those of the stored rows, and bytes those of the layout") {
  const StateLayout layout =
      LayoutOf({RowsOf("keys", 2, 64, DType::kQ8_0), RowsOf("values", 2, 64, DType::kQ4_0)});
  const StateCost cost = StateCostOf(layout, TokenCount(100));
  CHECK(cost.key_bits == 8.5);
  CHECK(cost.value_bits == 4.5);
  CHECK(cost.bytes == layout.AllocatedBytes(TokenCount(100)));
}

TEST_CASE(
    "different rows of a kind are averaged by their elements, and absent kinds have no bits") {
  Fixed fixed;
  fixed.name = "memory";
  fixed.elements = ElementCount(8);
  const StateCost latent = StateCostOf(
      LayoutOf({RowsOf("latent", 1, 96, DType::kF16), RowsOf("index_keys", 1, 32, DType::kF32)}),
      TokenCount(1));
  CHECK(latent.key_bits == (96 * 16 + 32 * 32) / 128.0);
  CHECK_FALSE(latent.value_bits);
  CHECK_FALSE(StateCostOf(LayoutOf({fixed}), TokenCount(5)).key_bits);
}

TEST_CASE("a sequence knows its bytes, and its forks go on from where it is") {
  EvalForTests made;
  const auto sequence = *EvalSequence::Begin(made.reference, TokenCount(64), 1);
  REQUIRE(sequence->runner().Append(std::vector<TokenId>(40, TokenId(7))));
  CHECK(sequence->CheckBytes());
  {
    const auto fork = *sequence->Fork();
    CHECK(fork->tokens().size() == 40);
    REQUIRE(fork->Append(std::vector<TokenId>(24, TokenId(8))));
    CHECK_FALSE(sequence->CheckBytes());  // two sequences hold more than one
    CHECK_FALSE(fork->Append(std::vector<TokenId>(1, TokenId(8))));
    CHECK_FALSE(sequence->Fork());  // there is room for one
  }
  CHECK(sequence->CheckBytes());
  CHECK(sequence->runner().tokens().size() == 40);
}

}  // namespace cairn
