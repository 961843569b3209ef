#include "cairn/weights/ggml_type.h"

#include <doctest/doctest.h>

namespace cairn {

TEST_CASE("GGML types and dtypes name each other") {
  for (uint32_t type = 0; type < 50; ++type) {
    const std::optional<DType> dtype = DTypeOfGgml(type);
    if (dtype) {
      CHECK_EQ(GgmlTypeOf(*dtype), type);
      CHECK_EQ(GgmlTypeName(type), InfoOf(*dtype).name);
    }
  }
  CHECK_EQ(DTypeOfGgml(2), DType::kQ4_0);
  CHECK_EQ(DTypeOfGgml(14), DType::kQ6_K);
  CHECK_EQ(DTypeOfGgml(20), DType::kIQ4_NL);
  CHECK_EQ(DTypeOfGgml(30), DType::kBF16);
  CHECK_EQ(GgmlTypeName(39), "mxfp4");
  CHECK_EQ(GgmlTypeName(99), "type 99");
  CHECK_EQ(GgmlTypeOf(DType::kU8), std::nullopt);
}

TEST_CASE("blocks of supported types are those of their dtype; withdrawn types have none") {
  for (uint32_t type = 0; type < 200; ++type) {
    const auto dtype = DTypeOfGgml(type);
    if (!dtype) continue;
    const auto block = GgmlBlockOf(type);
    REQUIRE(block.has_value());
    CHECK_EQ(block->elements, InfoOf(*dtype).block_elements);
    CHECK_EQ(block->bytes, InfoOf(*dtype).block_bytes);
  }
  CHECK_EQ(GgmlBlockOf(16)->bytes, 66);
  CHECK_EQ(GgmlBlockOf(39)->elements, 32);
  CHECK_FALSE(GgmlBlockOf(4).has_value());
  CHECK_FALSE(GgmlBlockOf(4'000'000'000).has_value());
}

}  // namespace cairn
