#include "cairn/kernels/dequantize.h"

#include <doctest/doctest.h>

#include <cstring>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "cairn/kernels/quantized_block.h"

namespace cairn {
namespace {

std::vector<char> ReadFile(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace

TEST_CASE("every weight format dequantizes to the floats of the gguf package, bit for bit") {
  for (int i = 0; i <= static_cast<int>(DType::kIQ4_NL); ++i) {
    const auto dtype = static_cast<DType>(i);
    const DTypeInfo& info = InfoOf(dtype);
    CAPTURE(std::string(info.name));
    const auto golden = ReadFile("tests/golden_quants/" + std::string(info.name) + ".bin");
    const size_t block_size = info.block_bytes + info.block_elements * sizeof(float);
    REQUIRE_GT(golden.size(), 0);
    REQUIRE_EQ(golden.size() % block_size, 0);
    const size_t blocks = golden.size() / block_size;
    const size_t elements = blocks * info.block_elements;
    std::vector<float> out(elements);
    const std::span row(reinterpret_cast<const std::byte*>(golden.data()),
                        blocks * info.block_bytes);
    DequantizeRow(dtype, row, out.data(), static_cast<int64_t>(elements));
    CHECK_EQ(std::memcmp(out.data(), golden.data() + row.size(), elements * sizeof(float)), 0);
  }
}

TEST_CASE("a half-precision number becomes the float of the same value") {
  CHECK_EQ(HalfToFloat(0x3C00), 1.0f);
  CHECK_EQ(HalfToFloat(0xC000), -2.0f);
  CHECK_EQ(HalfToFloat(0x0001), 0x1p-24f);
  CHECK_EQ(HalfToFloat(0x83FF), -1023 * 0x1p-24f);
  CHECK_EQ(HalfToFloat(0x7BFF), 65504.0f);
}

TEST_CASE("integer formats are not weight formats") {
  CHECK(IsWeightFormat(DType::kIQ4_NL));
  CHECK_FALSE(IsWeightFormat(DType::kI32));
  CHECK_FALSE(BlockSchemeOf(DType::kF16).has_value());
}

}  // namespace cairn
