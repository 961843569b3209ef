#include "cairn/base/dtype.h"

#include <doctest/doctest.h>

namespace cairn {

TEST_CASE("every dtype is found by its own name in either case") {
  for (int i = 0; i < kDTypeCount; ++i) {
    const auto dtype = static_cast<DType>(i);
    CHECK_EQ(DTypeFromName(InfoOf(dtype).name), dtype);
  }
  CHECK_EQ(DTypeFromName("Q4_K"), DType::kQ4_K);
  CHECK_EQ(DTypeFromName("q4"), std::nullopt);
}

TEST_CASE("bytes follow the block size") {
  CHECK_EQ(BytesOf(DType::kF16, ElementCount(3)), Bytes(6));
  CHECK_EQ(BytesOf(DType::kQ8_0, ElementCount(64)), Bytes(68));
  CHECK_EQ(BytesOf(DType::kQ6_K, ElementCount(512)), Bytes(420));
  CHECK_EQ(RowBytesOf(DType::kF16, 3), Bytes(6));
  CHECK_EQ(RowBytesOf(DType::kQ8_0, 64), Bytes(68));
  CHECK_EQ(RowBytesOf(DType::kLM2, 64), Bytes(17));
  CHECK_EQ(RowBytesOf(DType::kLM3, 32), Bytes(13));
  CHECK_EQ(RowBytesOf(DType::kLM4, 256), Bytes(129));
  CHECK_EQ(RowBytesOf(DType::kLM5, 64), Bytes(41));
}

}  // namespace cairn
