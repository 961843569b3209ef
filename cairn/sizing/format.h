// Numbers as people read them: grouped digits and a unit.
//
// Pure functions; thread-safe.
#ifndef CAIRN_SIZING_FORMAT_H_
#define CAIRN_SIZING_FORMAT_H_

#include <cstdint>
#include <string>

#include "cairn/base/ids.h"
#include "cairn/sizing/section.h"

namespace cairn {

// "1,234,567"
std::string Grouped(int64_t value);
// "4.50 GiB"; below 1 KiB "512 bytes".
std::string HumanBytes(Bytes bytes);
// "4,831,838,208 bytes (4.50 GiB)"
std::string ExactBytes(Bytes bytes);
// A cell with its unit; "-" for no value.
std::string CellText(const Cell& cell, Unit unit);
// The same in a column of such, for comparing at a glance: bytes are rounded, and counts that the
// column's label names stand alone.
std::string TableCellText(const Cell& cell, Unit unit);
// The bare number or word, as CSV and program output need it; empty for no value.
std::string PlainCell(const Cell& cell);
bool IsNumber(const Cell& cell);

}  // namespace cairn

#endif  // CAIRN_SIZING_FORMAT_H_
