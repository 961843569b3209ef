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

TEST_CASE("figures with 2:4 sparsity, or with FP16 accumulation, are halved") {
  struct Dense {
    const char* name;
    double bf16;
    double printed;  // what the maker prints first
  };
  for (const auto& [name, bf16, printed] : {Dense{"H100 SXM", 989, 1979},
                                            {"H100 PCIe", 756, 1513},
                                            {"H100 NVL", 835.5, 1671},
                                            {"B200", 2250, 4500},
                                            {"GB200", 2500, 5000},
                                            {"L4", 121, 242},
                                            {"RTX 4090", 165.2, 330.3},
                                            {"RTX 5090", 209.5, 419},
                                            {"MI300X", 1307.4, 2614.9}}) {
    CAPTURE(name);
    CHECK_EQ(ParseGpu(name)->gpu->bf16_tflops, bf16);
    CHECK_EQ(bf16, doctest::Approx(printed / 2).epsilon(1e-3));
  }
}

TEST_CASE("compute follows from cores and clock where makers state those") {
  // Floating-point operations a clock, of all matrix cores, x GHz / 1,000.
  CHECK_EQ(ParseGpu("A100")->gpu->bf16_tflops,
           doctest::Approx(432 * 512 * 1.410 / 1000).epsilon(1e-3));
  CHECK_EQ(ParseGpu("H100")->gpu->bf16_tflops,
           doctest::Approx(528 * 1024 * 1.830 / 1000).epsilon(1e-3));
  CHECK_EQ(ParseGpu("MI300X")->gpu->bf16_tflops,
           doctest::Approx(1216 * 512 * 2.100 / 1000).epsilon(1e-3));
  CHECK_EQ(ParseGpu("MI355X")->gpu->bf16_tflops,
           doctest::Approx(1024 * 1024 * 2.400 / 1000).epsilon(1e-3));
  CHECK_EQ(ParseGpu("RTX PRO 6000")->gpu->bf16_tflops,
           doctest::Approx(188 * 1024 * 2.617 / 1000).epsilon(1e-3));
  CHECK_EQ(ParseGpu("RTX 5080")->gpu->bf16_tflops,
           doctest::Approx(84 * 512 * 2.617 / 1000).epsilon(1e-3));
  CHECK_EQ(ParseGpu("Gaudi 3")->gpu->bf16_tflops,
           doctest::Approx(8 * 65536 * 2 * 1.600 / 1000).epsilon(1e-3));
}

}  // namespace cairn
