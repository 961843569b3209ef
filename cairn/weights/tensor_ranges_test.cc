#include "cairn/weights/tensor_ranges.h"

#include <doctest/doctest.h>

#include <limits>

namespace cairn {

TEST_CASE("elements are multiplied out, and an overflow is seen") {
  const int64_t large = int64_t{1} << 32;
  CHECK_EQ(ElementsOf(std::vector<int64_t>{}), 1);
  CHECK_EQ(ElementsOf(std::vector<int64_t>{2, 3, 4}), 24);
  CHECK_EQ(ElementsOf(std::vector<int64_t>{0, large, large}), 0);
  CHECK_EQ(ElementsOf(std::vector<int64_t>{large, large / 2 - 1}), large * (large / 2 - 1));
  CHECK_EQ(ElementsOf(std::vector<int64_t>{large, large / 2}), std::nullopt);
}

TEST_CASE("bytes are counted by blocks, and an overflow is seen") {
  const int64_t most = std::numeric_limits<int64_t>::max();
  CHECK_EQ(BytesIn(DType::kF16, 3), 6);
  CHECK_EQ(BytesIn(DType::kQ4_0, 64), 36);
  CHECK_EQ(BytesIn(DType::kU8, most), most);
  CHECK_EQ(BytesIn(DType::kF32, most / 4), most / 4 * 4);
  CHECK_EQ(BytesIn(DType::kF32, most / 4 + 1), std::nullopt);
}

TEST_CASE("ranges may touch but not overlap, in whatever order they come") {
  const auto error = [](std::vector<TensorRange> ranges) {
    const Status status = CheckNoOverlap(std::move(ranges), "f");
    return status ? "" : status.error().message;
  };
  CHECK_EQ(error({}), "");
  CHECK_EQ(error({{"b", 4, 8}, {"a", 0, 4}, {"c", 8, 9}}), "");
  CHECK_EQ(error({{"b", 3, 8}, {"a", 0, 4}}), "f: tensors \"a\" and \"b\" overlap");
  CHECK_EQ(error({{"a", 0, 9}, {"b", 1, 2}}), "f: tensors \"a\" and \"b\" overlap");
  CHECK_EQ(error({{"b", 2, 4}, {"a", 2, 4}}), "f: tensors \"a\" and \"b\" overlap");
  CHECK_EQ(error({{"none", 2, 2}, {"a", 0, 4}}), "");
}

}  // namespace cairn
