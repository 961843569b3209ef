#include "cairn/sizing/weight_format.h"

#include <doctest/doctest.h>

#include <string>

namespace cairn {
namespace {

int64_t BytesIn(std::string_view name, int64_t elements) {
  const auto format = WeightFormatFromName(name);
  REQUIRE_MESSAGE(format.has_value(), format.error().message);
  return StoredBytes(*format, ElementCount(elements)).value();
}

}  // namespace

TEST_CASE("a million weights take the bytes that each form's blocks say") {
  constexpr int64_t kMega = int64_t{1} << 20;
  CHECK_EQ(BytesIn("f32", kMega), 4 * kMega);
  CHECK_EQ(BytesIn("BF16", kMega), 2 * kMega);
  CHECK_EQ(BytesIn("fp8", kMega), kMega);
  CHECK_EQ(BytesIn("fp8_block", kMega), kMega + 64 * 4);             // 64 blocks of 128 x 128
  CHECK_EQ(BytesIn("int4", kMega), kMega / 2 + 8192 * 2);            // 8,192 groups
  CHECK_EQ(BytesIn("awq", kMega), kMega / 2 + 8192 * 2 + 8192 / 2);  // and half a byte of zeros
  CHECK_EQ(BytesIn("mxfp4", kMega), kMega / 32 * 17);
  CHECK_EQ(BytesIn("nvfp4", kMega), kMega / 16 * 9);
  CHECK_EQ(BytesIn("q8_0", kMega), kMega / 32 * 34);
  CHECK_EQ(BytesIn("q4_0", kMega), kMega / 32 * 18);
  CHECK_EQ(BytesIn("Q4_K", kMega), kMega / 256 * 144);
  CHECK_EQ(BytesIn("iq4_xs", kMega), kMega / 256 * 136);
}

TEST_CASE("weights that don't fill their last block take its share, rounded up") {
  CHECK_EQ(BytesIn("q8_0", 33), 34 + 2);
  CHECK_EQ(BytesIn("int4", 1), 1);
  CHECK_EQ(BytesIn("int4", 0), 0);
}

TEST_CASE("32.8 billion weights in BF16 are 65.6 GB, 8 billion are 16 GB") {
  CHECK_EQ(BytesIn("bf16", 32'800'000'000), 65'600'000'000);
  CHECK_EQ(BytesIn("bf16", 8'000'000'000), 16'000'000'000);
  CHECK_EQ(BytesIn("bf16", 8'190'000'000), 16'380'000'000);
}

TEST_CASE("an unknown form is refused in one line, however long its name") {
  for (const std::string& name : {std::string("bf17"), std::string(), std::string(10'000, 'q'),
                                  std::string("i32"), std::string("lm4"), std::string("a\nb")}) {
    const auto format = WeightFormatFromName(name);
    REQUIRE_FALSE(format.has_value());
    CHECK(format.error().IsBadInput());
    CHECK_EQ(format.error().message.find('\n'), std::string::npos);
    CHECK_LT(format.error().message.size(), 300);
  }
}

TEST_CASE("a group's bits are counted exactly, whole bytes or not") {
  const WeightFormat format = GroupedFormat("x", 3, 5, 7, true);  // 15 + 7 + 3 = 25 bits
  CHECK_EQ(format.block_elements, 40);
  CHECK_EQ(format.block_bytes, 25);
  CHECK_EQ(format.BitsPerWeight(), doctest::Approx(5));
}

}  // namespace cairn
