#include "cairn/weights/stored_weights.h"

#include <doctest/doctest.h>

namespace cairn {

TEST_CASE("tensors add up by form, the largest share first") {
  WeightCounter counter;
  CHECK(counter.Add("m", "f32", 10, 40).has_value());
  CHECK(counter.Add("m", "q4_0", 320, 180).has_value());
  CHECK(counter.Add("m", "f32", 5, 20).has_value());
  const StoredWeights sum = counter.Sum();
  CHECK_EQ(sum.parameters, ElementCount(335));
  CHECK_EQ(sum.bytes, Bytes(240));
  REQUIRE_EQ(sum.by_type.size(), 2);
  CHECK_EQ(sum.by_type[0].type, "q4_0");
  CHECK_EQ(sum.by_type[1].tensors, 2);
  CHECK_EQ(sum.by_type[1].bytes, Bytes(60));
}

TEST_CASE("a tensor without known bytes leaves its form's and the sum's unknown") {
  WeightCounter counter;
  CHECK(counter.Add("m", "f32", 10, 40).has_value());
  CHECK(counter.Add("m", "new", 10, std::nullopt).has_value());
  const StoredWeights sum = counter.Sum();
  CHECK_EQ(sum.parameters, ElementCount(20));
  CHECK_FALSE(sum.bytes.has_value());
}

TEST_CASE("sums beyond 63 bits are an error") {
  WeightCounter counter;
  CHECK(counter.Add("m", "f32", INT64_MAX, 1).has_value());
  CHECK_FALSE(counter.Add("m", "f32", 1, 1).has_value());
  WeightCounter bytes;
  CHECK_FALSE(bytes.Add("m", "f32", 1, UINT64_MAX).has_value());
}

}  // namespace cairn
