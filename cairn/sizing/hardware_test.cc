#include "cairn/sizing/hardware.h"

#include <doctest/doctest.h>

#include <string>

namespace cairn {
namespace {

std::string NameOf(std::string_view text) {
  const auto choice = ParseGpu(text);
  REQUIRE_MESSAGE(choice.has_value(), choice.error().message);
  return std::string(choice->gpu->name) + " x" + std::to_string(choice->count);
}

std::string Refusal(std::string_view text) {
  const auto choice = ParseGpu(text);
  REQUIRE_FALSE(choice.has_value());
  CHECK(choice.error().IsBadInput());
  return choice.error().message;
}

}  // namespace

TEST_CASE("a GPU is found under any spelling, with a count before or after it") {
  CHECK_EQ(NameOf("H100x4"), "H100 SXM x4");
  CHECK_EQ(NameOf("h100-sxm x 8"), "H100 SXM x8");
  CHECK_EQ(NameOf("8xH100"), "H100 SXM x8");
  CHECK_EQ(NameOf("2 x NVIDIA H200"), "H200 SXM x2");
  CHECK_EQ(NameOf("  rtx 4090 "), "RTX 4090 x1");
  CHECK_EQ(NameOf("RTX4090x2"), "RTX 4090 x2");
  CHECK_EQ(NameOf("MI300X"), "MI300X x1");
  CHECK_EQ(NameOf("MI300Xx4"), "MI300X x4");
  CHECK_EQ(NameOf("MI300X4"), "MI300X x4");
  CHECK_EQ(NameOf("5090*3"), "RTX 5090 x3");
  CHECK_EQ(NameOf("AMD Instinct MI355X"), "MI355X x1");
  CHECK_EQ(NameOf("A100-40GB"), "A100 40GB PCIe x1");
}

TEST_CASE("the words of a GPU's name may stand in any order, with a count") {
  CHECK_EQ(NameOf("A100 SXM 80GB"), "A100 80GB SXM x1");
  CHECK_EQ(NameOf("A100 PCIe 40 GB x 2"), "A100 40GB PCIe x2");
  CHECK_EQ(NameOf("8x NVIDIA A100 SXM 80 GB"), "A100 80GB SXM x8");
  CHECK_EQ(NameOf("RTX 5060 16GB Ti"), "RTX 5060 Ti 16GB x1");
  CHECK_EQ(NameOf("4090 RTX"), "RTX 4090 x1");
  CHECK_EQ(NameOf("SXM H200"), "H200 SXM x1");
  CHECK_EQ((*FindLink("NDR InfiniBand"))->name, "ndr");
  for (const char* text : {"nvidia", "gb", "80 gb", "GB 80 A100", "A100 SXM", "SXM"}) {
    CAPTURE(text);
    const auto choice = ParseGpu(text);
    CHECK_EQ(choice.has_value(), std::string_view(text) == "A100 SXM");
  }
}

TEST_CASE("names that drivers print are known") {
  CHECK_EQ(NameOf("NVIDIA A100-SXM4-80GB"), "A100 80GB SXM x1");
  CHECK_EQ(NameOf("NVIDIA H100 80GB HBM3"), "H100 SXM x1");
  CHECK_EQ(NameOf("NVIDIA GH200 144G HBM3e"), "GH200 144GB x1");
  CHECK_EQ(NameOf("NVIDIA B300 SXM6 AC"), "B300 x1");
  CHECK_EQ(NameOf("NVIDIA RTX PRO 6000 Blackwell Server Edition"), "RTX PRO 6000 x1");
  CHECK_EQ(NameOf("Tesla P100-PCIE-16GB"), "P100 16GB x1");
  CHECK_EQ(NameOf("AMD Instinct MI250"), "MI250 x1");
}

TEST_CASE("an unknown GPU is refused with the nearest names, in one line") {
  CHECK_EQ(Refusal("H1000"),
           "--gpu H1000: no such GPU; the nearest are H100 SXM, A100 80GB SXM and H200 SXM "
           "(`cairn gpus` lists all)");
  CHECK_NE(Refusal("rtx 5095 x2").find("RTX 5090"), std::string::npos);
  for (const char* text : {"", "x", "x4", "4", "4x", "\n\t", "H100x", "H100x-1"}) {
    CHECK_EQ(Refusal(text).find('\n'), std::string::npos);
  }
  CHECK_LT(Refusal(std::string(100'000, 'h')).size(), 300);
}

TEST_CASE("a count out of range is refused") {
  CHECK_EQ(Refusal("H100x0"), "--gpu H100x0: 0 of them, expected 1 to 65536");
  CHECK_NE(Refusal("H100x99999999999999999999").find("expected 1 to 65536"), std::string::npos);
}

TEST_CASE("a link is found by its name, label or alias, and refused with the nearest ones") {
  for (const char* name : {"pcie5", "PCIe 5.0 x16", "pcie-gen5", "PCIE5"}) {
    const auto link = FindLink(name);
    REQUIRE(link.has_value());
    CHECK_EQ((*link)->name, "pcie5");
  }
  const auto infiniband = FindLink("InfiniBand NDR");
  REQUIRE(infiniband.has_value());
  CHECK_EQ((*infiniband)->read_gbs, 50);
  const auto unknown = FindLink("pcie7");
  REQUIRE_FALSE(unknown.has_value());
  CHECK_NE(unknown.error().message.find("pcie3"), std::string::npos);
}

TEST_CASE("a link may be a rate, in bytes or bits") {
  CHECK_EQ(ParseLink("64GB/s")->read_gbs, doctest::Approx(64));
  CHECK_EQ(ParseLink(" 400 Gb/s")->write_gbs, doctest::Approx(50));
  CHECK_EQ(ParseLink("1GiB/s")->read_gbs, doctest::Approx(1.073741824));
  CHECK_EQ(ParseLink("pcie5")->name, "pcie5");
  CHECK_EQ(ParseLink("400gbe")->read_gbs, 50);
  for (const char* text : {"0GB/s", "-1GB/s", "1e99GB/s", "nanGB/s", "64", "64GB", "", "GB/s"}) {
    CAPTURE(text);
    const auto link = ParseLink(text);
    REQUIRE_FALSE(link.has_value());
    CHECK(link.error().IsBadInput());
  }
}

TEST_CASE("memory is what the driver reports, or the size as sold in powers of 1,024") {
  CHECK_EQ(ParseGpu("H100 NVL")->gpu->Memory(), Bytes(int64_t{95'830} << 20));
  CHECK_EQ(ParseGpu("MI355X")->gpu->Memory(), Bytes(int64_t{288} << 30));
}

TEST_CASE("compute follows the width of the weights where the device has that type") {
  const Gpu& h100 = *ParseGpu("H100")->gpu;
  CHECK_EQ(h100.FlopsPerSecondAt(16), 989e12);
  CHECK_EQ(h100.FlopsPerSecondAt(8), 1979e12);
  CHECK_EQ(h100.FlopsPerSecondAt(4), 1979e12);
  CHECK_EQ(ParseGpu("A100")->gpu->FlopsPerSecondAt(4), 312e12);
  CHECK_EQ(ParseGpu("B200")->gpu->FlopsPerSecondAt(4), 9000e12);
}

TEST_CASE("the sections list every device and link with a cell for each column") {
  const Section gpus = GpusSection();
  REQUIRE_EQ(gpus.tables.size(), 1);
  CHECK_EQ(gpus.tables[0].rows.size(), Gpus().size());
  for (const auto& row : gpus.tables[0].rows) CHECK_EQ(row.size(), gpus.tables[0].columns.size());
  CHECK_NE(gpus.notes.back().find("not re-read"), std::string::npos);
  const Section links = LinksSection();
  CHECK_EQ(links.tables[0].rows.size(), Links().size());
  for (const auto& row : links.tables[0].rows) CHECK_EQ(row.size(), links.tables[0].columns.size());
}

}  // namespace cairn
