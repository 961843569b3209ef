#include "cairn/engine/tenants.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "cairn/base/check.h"

namespace cairn {

StateKey Tenants::StateKeyOf(const std::string& name) const {
  const auto found = tenants_.find(name);
  if (found != tenants_.end()) return found->second.key;
  StateIdentity identity = identity_;
  identity.tenant = name;
  return KeyOf(identity, spec_);
}

Tenant& Tenants::Enter(const std::string& name) {
  const auto [at, added] = tenants_.try_emplace(name);
  Tenant& tenant = at->second;
  if (added) {
    tenant.name = name;
    identity_.tenant = name;
    tenant.key = KeyOf(identity_, spec_);
    ++idle_;
  }
  if (tenant.active++ > 0) return tenant;
  --idle_;
  int64_t least = std::numeric_limits<int64_t>::max();
  for (const auto& [other_name, other] : tenants_) {
    if (other.active > 0 && &other != &tenant) least = std::min(least, other.served);
  }
  if (least == std::numeric_limits<int64_t>::max()) least = last_served_;
  tenant.served = std::max(tenant.served, least);
  return tenant;
}

void Tenants::Leave(Tenant& tenant) {
  CAIRN_CHECK(tenant.active > 0);
  if (--tenant.active > 0) return;
  last_served_ = tenant.served;
  if (++idle_ > kMaxIdle) ForgetOne();
}

// The least served one loses nothing: it would be lifted anyway.
void Tenants::ForgetOne() {
  auto least = tenants_.end();
  for (auto at = tenants_.begin(); at != tenants_.end(); ++at) {
    if (at->second.active > 0) continue;
    if (least == tenants_.end() || at->second.served < least->second.served) least = at;
  }
  CAIRN_CHECK(least != tenants_.end());
  tenants_.erase(least);
  --idle_;
}

}  // namespace cairn
