#include "cairn/engine/state_identity.h"

#include <doctest/doctest.h>

namespace cairn {
namespace {

ModelSpec WithRope(const Rope& rope) {
  AttentionSpec attention;
  attention.rope = rope;
  LayerSpec layer;
  layer.mixer = attention;
  ModelSpec spec;
  spec.layers.push_back(layer);
  return spec;
}

std::string Positions(const Rope& rope, int64_t context) {
  return IdentityOf(WithRope(rope), TokenCount(context), "w").positions;
}

}  // namespace

TEST_CASE("a model whose keys turn otherwise in long contexts has another identity there") {
  Rope rope;
  rope.width = 4;
  CHECK(Positions(rope, 100) == Positions(rope, 10'000));
  Rope faster = rope;
  faster.base = 500;
  CHECK(Positions(faster, 100) != Positions(rope, 100));
  RopeLong scaling;
  scaling.short_divisors = {1, 1};
  scaling.long_divisors = {2, 3};
  scaling.original_context = 4096;
  rope.scaling = scaling;
  CHECK(Positions(rope, 100) == Positions(rope, 4096));
  CHECK(Positions(rope, 100) != Positions(rope, 10'000));
}

TEST_CASE("the weights' fingerprint is part of the identity") {
  CHECK(IdentityOf({}, TokenCount(0), "a").model == "a");
}

}  // namespace cairn
