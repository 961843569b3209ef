#include "cairn/state/block_rows.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "cairn/spec/state_spec_for_tests.h"
#include "cairn/state/state_pattern_for_tests.h"

namespace cairn {

TEST_CASE("zeroing from a row leaves a block in which only the earlier rows were written") {
  for (uint64_t seed = 0; seed < 50; ++seed) {
    RandomChoice choose(seed);
    const auto layout = StateLayout::Make(RandomStateSpec(choose, 4));
    REQUIRE(layout.has_value());
    for (const BlockClass& block_class : layout->classes()) {
      const auto bytes = static_cast<size_t>(block_class.block_bytes.value());
      for (int64_t first = 0; first <= kRowsPerBlock; ++first) {
        std::vector<std::byte> block(bytes);
        std::vector<std::byte> expected(bytes);
        for (int64_t row = 0; row < kRowsPerBlock; ++row) {
          WriteRow(*layout, block_class, row, static_cast<Stamp>(row), block.data());
          if (row >= first) continue;
          WriteRow(*layout, block_class, row, static_cast<Stamp>(row), expected.data());
        }
        CHECK_EQ(RowsAreZeroFrom(*layout, block_class, first, block.data()),
                 first == kRowsPerBlock);
        ZeroRowsFrom(*layout, block_class, first, block.data());
        REQUIRE(block == expected);
        CHECK(RowsAreZeroFrom(*layout, block_class, first, block.data()));
      }
      std::vector<std::byte> block(bytes);
      CHECK_THROWS(ZeroRowsFrom(*layout, block_class, kRowsPerBlock + 1, block.data()));
    }
  }
}

}  // namespace cairn
