#include <doctest/doctest.h>

#include <cmath>
#include <map>
#include <string>

#include "cairn/sizing/hardware.h"

namespace cairn {

TEST_CASE("every device finds itself by name, names links that exist and gives a source") {
  for (const Gpu& gpu : Gpus()) {
    CAPTURE(gpu.name);
    const auto found = ParseGpu(gpu.name);
    REQUIRE(found.has_value());
    CHECK_EQ(found->gpu, &gpu);
    CHECK_EQ(found->count, 1);
    CHECK(FindLink(gpu.link).has_value());
    CHECK((gpu.host == "shared" || FindLink(gpu.host).has_value()));
    CHECK_GT(gpu.source.size(), 10);
  }
}

TEST_CASE("no alias means two devices") {
  std::map<std::string, std::string_view> owners;
  for (const Gpu& gpu : Gpus()) {
    std::string aliases(gpu.aliases);
    size_t first = 0;
    while (first < aliases.size()) {
      const size_t end = std::min(aliases.find(' ', first), aliases.size());
      const std::string alias = aliases.substr(first, end - first);
      CAPTURE(alias);
      const auto found = ParseGpu(alias);
      REQUIRE(found.has_value());
      CHECK_EQ(found->gpu, &gpu);
      CHECK(owners.emplace(alias, gpu.name).second);
      first = end + 1;
    }
  }
}

TEST_CASE("figures are of the right size: GB, GB/s and TFLOP/s, and narrower types aren't slower") {
  for (const Gpu& gpu : Gpus()) {
    CAPTURE(gpu.name);
    CHECK_GE(gpu.bandwidth_gbs, 50);
    CHECK_LE(gpu.bandwidth_gbs, 20'000);
    CHECK_LE(gpu.sold_gb, 1024);
    if (gpu.fp8_tflops > 0) CHECK_GE(gpu.fp8_tflops, gpu.bf16_tflops);
    if (gpu.fp4_tflops > 0) CHECK_GE(gpu.fp4_tflops, gpu.fp8_tflops);
    if (gpu.driver_mib == 0) continue;
    // Within a tenth of the size as sold, but for shared memory, a quarter of which is kept.
    const double share =
        static_cast<double>(gpu.driver_mib) / 1024 / static_cast<double>(gpu.sold_gb);
    CHECK_GE(share, gpu.maker == "Apple" ? 0.75 : 0.9);
    CHECK_LE(share, 1.001);
  }
}

}  // namespace cairn
