#include "cairn/engine/tenants.h"

#include <doctest/doctest.h>

#include <string>
#include <utility>

namespace cairn {
namespace {

StateIdentity Model(std::string tenant = "") {
  StateIdentity identity;
  identity.model = "m";
  identity.tenant = std::move(tenant);
  return identity;
}

}  // namespace

TEST_CASE("who comes is lifted to the least served of those that are there, never lowered") {
  const StateSpec spec;
  Tenants tenants(Model(), spec);
  Tenant& a = tenants.Enter("a");
  Tenant& b = tenants.Enter("b");
  Tenants::Charge(a, 100, 0);
  Tenants::Charge(b, 30, 10);
  CHECK(b.served == 50);
  CHECK(tenants.Enter("c").served == 50);
  tenants.Leave(a);
  CHECK(tenants.Enter("a").served == 100);
  CHECK(tenants.Enter("b").served == 50);  // it was there already
}

TEST_CASE("who comes when nobody is there begins where the last one left") {
  const StateSpec spec;
  Tenants tenants(Model(), spec);
  Tenant& a = tenants.Enter("a");
  Tenants::Charge(a, 100, 0);
  tenants.Leave(a);
  CHECK(tenants.Enter("b").served == 100);
}

TEST_CASE("each tenant's state has a key of its own, the same at every visit") {
  const StateSpec spec;
  Tenants tenants(Model(), spec);
  Tenant& a = tenants.Enter("a");
  const StateKey key = a.key;
  CHECK_FALSE(key == tenants.Enter("b").key);
  tenants.Leave(a);
  CHECK(tenants.Enter("a").key == key);
  CHECK(key == KeyOf(Model("a"), spec));
}

TEST_CASE("a million names of clients that come and go take no memory") {
  const StateSpec spec;
  Tenants tenants(Model(), spec);
  Tenant& stays = tenants.Enter("stays");
  for (int i = 0; i < 3000; ++i) {
    tenants.Leave(tenants.Enter(std::to_string(i)));
    CHECK(tenants.size() <= Tenants::kMaxIdle + 1);
  }
  CHECK(&tenants.Enter("stays") == &stays);
}

}  // namespace cairn
