#include "cairn/state/redis_outage.h"

#include <doctest/doctest.h>

namespace cairn {
namespace {

TEST_CASE("pauses double up to a limit, and one request at a time tries again") {
  Outage outage(100, 350);
  CHECK(outage.MayTry(0));
  CHECK(outage.MayTry(0));  // both are on their way
  outage.Failed(1000, "down");
  outage.Failed(1001, "down");  // the same outage
  CHECK(outage.is_on());
  CHECK(outage.problem() == "down");
  CHECK_FALSE(outage.MayTry(1100));
  CHECK(outage.MayTry(1101));
  CHECK_FALSE(outage.MayTry(1101));
  outage.Failed(1200, "still down");
  CHECK_FALSE(outage.MayTry(1399));
  CHECK(outage.MayTry(1400));
  outage.Failed(1500, "still down");
  CHECK_FALSE(outage.MayTry(1849));
  CHECK(outage.MayTry(1850));
  outage.Succeeded();
  CHECK_FALSE(outage.is_on());
  CHECK(outage.MayTry(1850));
  outage.Failed(2000, "down again");
  CHECK_FALSE(outage.MayTry(2099));
  CHECK(outage.MayTry(2100));
}

}  // namespace
}  // namespace cairn
