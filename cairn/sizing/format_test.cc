#include "cairn/sizing/format.h"

#include <doctest/doctest.h>

namespace cairn {

TEST_CASE("digits are grouped in threes, signs stay outside") {
  CHECK(Grouped(0) == "0");
  CHECK(Grouped(999) == "999");
  CHECK(Grouped(1000) == "1,000");
  CHECK(Grouped(-999) == "-999");
  CHECK(Grouped(-1234567) == "-1,234,567");
}

TEST_CASE("bytes are shown in powers of 1,024 and exactly") {
  CHECK(HumanBytes(Bytes(1023)) == "1023 bytes");
  CHECK(HumanBytes(Bytes(1024)) == "1.00 KiB");
  CHECK(ExactBytes(Bytes(4831838208)) == "4,831,838,208 bytes (4.50 GiB)");
  CHECK(ExactBytes(Bytes(5)) == "5 bytes");
}

TEST_CASE("a cell is spelled with its unit") {
  CHECK(CellText({}, Unit::kBytes) == "-");
  CHECK(CellText(true, Unit::kNone) == "yes");
  CHECK(CellText(int64_t{32768}, Unit::kTokens) == "32,768 tokens");
  CHECK(CellText(int64_t{147456}, Unit::kBytesPerToken) == "147,456 bytes (144.00 KiB) per token");
  CHECK(CellText(2.863, Unit::kMilliseconds) == "2.86 ms");
  CHECK(CellText(3.35e12, Unit::kBytesPerSecond) == "3.35 TB/s");
  CHECK(CellText(989e12, Unit::kFlopsPerSecond) == "989 TFLOP/s");
  CHECK(CellText(0.25, Unit::kTimes) == "0.2500x");
  CHECK(CellText(12.34, Unit::kPercent) == "12.3 %");
}

TEST_CASE("in a column bytes are rounded and counts stand alone") {
  CHECK(TableCellText(int64_t{4831838208}, Unit::kBytes) == "4.50 GiB");
  CHECK(TableCellText(int64_t{147456}, Unit::kBytesPerToken) == "147,456");
  CHECK(TableCellText(int64_t{32768}, Unit::kTokens) == "32,768");
  CHECK(TableCellText({}, Unit::kTokens) == "-");
  CHECK(TableCellText(2.5, Unit::kMilliseconds) == "2.50 ms");
}

TEST_CASE("a bare cell holds nothing but the value") {
  CHECK(PlainCell({}).empty());
  CHECK(PlainCell(int64_t{1234567}) == "1234567");
  CHECK(PlainCell(0.1) == "0.1");
  CHECK(PlainCell(std::string("a, b")) == "a, b");
}

}  // namespace cairn
