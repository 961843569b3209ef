#include "cairn/state/ghost_list.h"

#include <doctest/doctest.h>

namespace cairn {

TEST_CASE("a ghost list gives back the latest value once, and forgets the oldest when it is full") {
  GhostList<int> ghosts(3);
  CHECK_FALSE(ghosts.Take(1).has_value());
  ghosts.Add(1, 10);
  ghosts.Add(2, 20);
  ghosts.Add(1, 11);  // now the youngest
  ghosts.Add(3, 30);
  ghosts.Add(4, 40);
  CHECK(ghosts.size() == 3);
  CHECK_FALSE(ghosts.Take(2).has_value());
  CHECK(ghosts.Take(1) == 11);
  CHECK_FALSE(ghosts.Take(1).has_value());
  CHECK(ghosts.size() == 2);
}

}  // namespace cairn
