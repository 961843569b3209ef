#include <doctest/doctest.h>

#include "cairn/sizing/hardware.h"

namespace cairn {

TEST_CASE("every link finds itself by name and label, and gives a source") {
  for (const Link& link : Links()) {
    CAPTURE(link.name);
    REQUIRE(FindLink(link.name).has_value());
    CHECK_EQ(*FindLink(link.name), &link);
    REQUIRE(FindLink(link.label).has_value());
    CHECK_EQ(*FindLink(link.label), &link);
    CHECK_GT(link.read_gbs, 0);
    CHECK_GT(link.write_gbs, 0);
    CHECK_GE(link.source.size(), 10);
  }
}

TEST_CASE("PCIe doubles from version to version, after its line code") {
  CHECK_EQ((*FindLink("pcie3"))->read_gbs, doctest::Approx(8.0 * 16 * 128 / 130 / 8).epsilon(1e-4));
  CHECK_EQ((*FindLink("pcie4"))->read_gbs,
           doctest::Approx(16.0 * 16 * 128 / 130 / 8).epsilon(1e-4));
  CHECK_EQ((*FindLink("pcie5"))->read_gbs,
           doctest::Approx(32.0 * 16 * 128 / 130 / 8).epsilon(1e-4));
  CHECK_EQ((*FindLink("pcie6"))->read_gbs,
           doctest::Approx(64.0 * 16 / 8 * 236 / 256).epsilon(1e-4));
}

TEST_CASE("a rate that a maker prints for both directions is halved") {
  struct BothWays {
    const char* name;
    double gbs;
  };
  for (const auto& [name, gbs] : {BothWays{"nvlink2", 300},
                                  {"nvlink3", 600},
                                  {"nvlink4", 900},
                                  {"nvlink5", 1800},
                                  {"nvl-bridge", 600},
                                  {"nvlink-c2c", 900},
                                  {"if-mi300", 7 * 128},
                                  {"if-mi350", 7 * 153.6},
                                  {"ici-v5e", 400},
                                  {"ici-v5p", 1200},
                                  {"ici-v6e", 800},
                                  {"ici-7x", 1200}}) {
    CAPTURE(name);
    CHECK_EQ((*FindLink(name))->read_gbs, doctest::Approx(gbs / 2));
    CHECK_EQ((*FindLink(name))->write_gbs, doctest::Approx(gbs / 2));
  }
}

}  // namespace cairn
