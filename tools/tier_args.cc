#include "tools/tier_args.h"

#include <CLI/CLI.hpp>
#include <utility>

#include "cairn/state/disk_store.h"
#include "cairn/state/redis_store.h"

namespace cairn {

void TierArgs::AddFlags(CLI::App& command) {
  command.add_option("--disk-tier", disk_tier,
                     "A folder in which state outlives memory and this process");
  command.add_option("--disk-bytes", disk_bytes, "What its files may take, as in 20GiB")
      ->transform(CLI::AsSizeValue(false))
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  command.add_option(
      "--store", store,
      "A store that several processes share: redis://[user:password@]host[:port][/db]");
  command.add_option("--store-prefix", store_prefix, "Of the keys there")->capture_default_str();
}

Result<OpenedTiers> OpenTiers(const TierArgs& args) {
  OpenedTiers tiers;
  const auto add = [&tiers](const char* name, std::unique_ptr<ObjectStore> store) {
    tiers.options.push_back({.name = name, .objects = store.get()});
    tiers.stores.push_back(std::move(store));
  };
  if (!args.disk_tier.empty()) {
    CAIRN_ASSIGN(std::unique_ptr<ObjectStore> disk,
                 OpenDiskStore({.folder = args.disk_tier, .bound = Bytes(args.disk_bytes)}));
    add("disk", std::move(disk));
  }
  if (!args.store.empty()) {
    CAIRN_ASSIGN(std::unique_ptr<ObjectStore> store,
                 OpenRedisStore({.url = args.store, .prefix = args.store_prefix}));
    add("store", std::move(store));
  }
  return tiers;
}

}  // namespace cairn
