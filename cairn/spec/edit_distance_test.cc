#include "cairn/spec/edit_distance.h"

#include <doctest/doctest.h>

namespace cairn {

TEST_CASE("the distance counts insertions, deletions and changes") {
  CHECK_EQ(EditDistance("", ""), 0);
  CHECK_EQ(EditDistance("llama", "llama"), 0);
  CHECK_EQ(EditDistance("lama", "llama"), 1);
  CHECK_EQ(EditDistance("llamas", "llama"), 1);
  CHECK_EQ(EditDistance("", "abc"), 3);
  CHECK_EQ(EditDistance("kitten", "sitting"), 3);
  CHECK_EQ(EditDistance("sitting", "kitten"), 3);
}

}  // namespace cairn
