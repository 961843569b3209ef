#include "cairn/models/ngram_hash.h"

#include <doctest/doctest.h>

#include <array>
#include <limits>

namespace cairn {
namespace {

constexpr int64_t kEnd = 2;

// Two tables for pairs, two for triples.
NgramHash Hash() {
  return {.multipliers = {7, 11, 13},
          .sizes = {97, 101, 103, 107},
          .offsets = {0, 97, 198, 301},
          .end_token = kEnd};
}

std::array<int64_t, 4> RowsOf(const NgramHash& hash, std::array<int64_t, 3> ids) {
  std::array<int64_t, 4> rows = {};
  hash.Rows(ids, rows.data());
  return rows;
}

}  // namespace

TEST_CASE("pairs and triples are mixed from the last token backwards") {
  // 7 * 50 ^ 11 * 40 = 350 ^ 440 = 230; 230 ^ 13 * 30 = 230 ^ 390 = 352.
  CHECK_EQ(RowsOf(Hash(), {30, 40, 50}),
           std::array<int64_t, 4>{230 % 97, 97 + 230 % 101, 198 + 352 % 103, 301 + 352 % 107});
}

TEST_CASE("nothing before a token that ends an answer counts") {
  const NgramHash hash = Hash();
  CHECK_EQ(RowsOf(hash, {30, kEnd, 50}), RowsOf(hash, {kEnd, kEnd, 50}));
  CHECK_EQ(RowsOf(hash, {31, kEnd, 50}), RowsOf(hash, {30, kEnd, 50}));
  CHECK_NE(RowsOf(hash, {31, 40, 50}), RowsOf(hash, {30, 40, 50}));
  // The token itself may be one.
  CHECK_NE(RowsOf(hash, {30, 40, kEnd}), RowsOf(hash, {30, kEnd, kEnd}));
}

TEST_CASE("products that don't fit wrap around, and rows stay in their tables") {
  NgramHash hash = Hash();
  hash.multipliers = {std::numeric_limits<int64_t>::max(), -3, std::numeric_limits<int64_t>::min()};
  for (int64_t id = 0; id < 50; ++id) {
    const auto rows = RowsOf(hash, {id, 2 * id + 3, 5 * id + 1});
    for (size_t i = 0; i < rows.size(); ++i) {
      CHECK(rows[i] >= hash.offsets[i]);
      CHECK(rows[i] < hash.offsets[i] + hash.sizes[i]);
    }
  }
}

TEST_CASE("tables without rows or beyond the end are named") {
  NgramHash hash = Hash();
  CHECK_EQ(hash.Problem(408), "");
  CHECK_EQ(hash.Problem(407), "table 3 doesn't lie within 407 rows");
  hash.sizes[1] = 0;
  CHECK_EQ(hash.Problem(408), "table 1 has 0 rows");
  hash = Hash();
  hash.offsets[0] = -1;
  CHECK_EQ(hash.Problem(408), "table 0 doesn't lie within 408 rows");
  hash.offsets[0] = std::numeric_limits<int64_t>::max();
  CHECK_EQ(hash.Problem(408), "table 0 doesn't lie within 408 rows");
}

}  // namespace cairn
