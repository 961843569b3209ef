// Section: a part of a report as data: named fields, tables, and what one should know of them.
//
// Each answer of the estimator is a Section or several; the terminal table, Markdown, CSV and JSON
// are all made from it, so that they can't tell different things. Plain data; thread-compatible.
#ifndef CAIRN_SIZING_SECTION_H_
#define CAIRN_SIZING_SECTION_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "cairn/base/ids.h"

namespace cairn {

// What a number counts: JSON writes it bare (the key names the unit), people see it spelled.
enum class Unit : uint8_t {
  kNone,
  kBytes,
  kTokens,
  kElements,
  kBytesPerToken,
  kBytesPerSecond,
  kMilliseconds,
  kTokensPerSecond,
  kFlops,
  kFlopsPerSecond,
  kPercent,
  kTimes,  // a ratio: "2.25x"
};

// std::monostate: there is no such value (null); the note says why.
using Cell = std::variant<std::monostate, bool, int64_t, double, std::string>;

inline Cell CellOf(Bytes bytes) { return bytes.value(); }
inline Cell CellOf(TokenCount tokens) { return tokens.value(); }
inline Cell CellOf(ElementCount elements) { return elements.value(); }

struct Field {
  std::string key;    // of the JSON object: "weights_bytes"
  std::string label;  // for people: "weights"
  Cell value = {};
  Unit unit = Unit::kNone;
  // How the value comes about, numbers filled in; --explain prints it: "2 x 32 layers x 8 heads
  // ..".
  std::string formula = {};
};

struct Column {
  std::string key;
  std::string label;
  Unit unit = Unit::kNone;
};

// JSON: a list of objects under `key`. Each row has a cell for each column.
struct Table {
  std::string key;
  std::string label;
  std::vector<Column> columns;
  std::vector<std::vector<Cell>> rows = {};
};

// A part of a whole, drawn as a stretch of a bar; the fields hold the same numbers.
struct BarPart {
  std::string label;
  Bytes bytes;
};

struct Section {
  std::string key;    // of the JSON object: "budget"
  std::string title;  // for people: "Memory of a card"
  std::vector<Field> fields = {};
  std::vector<Table> tables = {};
  std::vector<BarPart> bar = {};
  std::vector<std::string> notes = {};     // rules and sources, a sentence each
  std::vector<std::string> warnings = {};  // what one may get wrong here, a sentence each
};

}  // namespace cairn

#endif  // CAIRN_SIZING_SECTION_H_
