// Reports of a SizeReport: pages for people, JSON for programs.
//
// JSON names are promises (docs/size_json.md). The pages are sections (section.h): the model, its
// layers, the sizes, then what else was asked; the total comes last. Pure functions; thread-safe.
#ifndef CAIRN_SIZING_REPORT_H_
#define CAIRN_SIZING_REPORT_H_

#include <string>
#include <string_view>
#include <vector>

#include "cairn/base/status.h"
#include "cairn/sizing/render.h"
#include "cairn/sizing/request.h"

namespace cairn {

// The report for people, part by part; with `explain` also how each number comes about.
std::vector<Section> SectionsOf(const SizeReport& report, bool explain);

std::string ReportText(const SizeReport& report, const TextStyle& style);
std::string ReportMarkdown(const SizeReport& report, bool explain);
std::string ReportCsv(const SizeReport& report);
// Ends with a newline; a negative indent puts it on one line.
std::string ReportJson(const SizeReport& report, int indent);
// {"model": .., "error": ..} on one line.
std::string ErrorJsonLine(std::string_view name, const Error& error);

}  // namespace cairn

#endif  // CAIRN_SIZING_REPORT_H_
