#include "cairn/models/rope_table.h"

#include <doctest/doctest.h>

#include <vector>

namespace cairn {
namespace {

std::vector<float> Turned(const RopeTable& table, int64_t row) {
  std::vector<float> head(12);
  for (size_t i = 0; i < head.size(); ++i) head[i] = static_cast<float>(i) - 4.5f;
  table.Rotate(row, head.data(), 1, 12);
  return head;
}

}  // namespace

TEST_CASE("steps turn as the positions that they stand for, however they were asked for") {
  ThreadPool pool(2);
  Rope rope;
  rope.width = 8;
  RopeTables tables(TokenCount(4096));
  RopeTable* steps = tables.AddSteps(rope, 3);
  CHECK_EQ(tables.AddSteps(rope, 3), steps);
  CHECK_NE(tables.AddSteps(rope, 4), steps);
  for (const int64_t rows : {1, 7, 5, 300, 700}) steps->FillSteps(3, rows, pool);
  std::vector<int64_t> positions;
  for (int64_t i = 0; i < 700; ++i) positions.push_back(3 * i);
  RopeTable table(rope, TokenCount(4096));
  table.Fill(positions, pool);
  tables.Fill(positions, pool);  // leaves steps as they are
  for (int64_t i = 0; i < 700; ++i) CHECK(Turned(*steps, i) == Turned(table, i));
}

}  // namespace cairn
