// Sections as a terminal page, Markdown, CSV or JSON.
//
// All show the same cells; text and Markdown spell units and group digits, CSV and JSON keep bare
// numbers whose key names the unit. Pure functions; thread-safe.
#ifndef CAIRN_SIZING_RENDER_H_
#define CAIRN_SIZING_RENDER_H_

#include <span>
#include <string>

#include "cairn/sizing/section.h"

namespace cairn {

struct TextStyle {
  int columns = 100;     // of the terminal; wide tables break their longest cells
  bool blocks = false;   // draw bars with block characters instead of ASCII
  bool explain = false;  // print each field's formula
};

std::string RenderText(std::span<const Section> sections, const TextStyle& style);
std::string RenderMarkdown(std::span<const Section> sections, bool explain);
// Fields as rows "section,key,value", tables with a header row each, an empty line between.
std::string RenderCsv(std::span<const Section> sections);
// One object with a member for each section; ends with a newline. A negative indent: one line.
std::string RenderJson(std::span<const Section> sections, int indent);

}  // namespace cairn

#endif  // CAIRN_SIZING_RENDER_H_
