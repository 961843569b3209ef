#include "cairn/sizing/page.h"

#include <fmt/format.h>

#include "cairn/base/check.h"
#include "cairn/sizing/question.h"

namespace cairn {
namespace {

constexpr std::string_view kMarker = "@CAIRN_DATA@";

// In JSON '<' stands in strings only; spelled as an escape it can't end the element around it.
std::string WithoutMarkup(const std::string& json) {
  std::string text;
  text.reserve(json.size());
  for (const char c : json) {
    if (c == '<') {
      text += "\\u003c";
    } else {
      text += c;
    }
  }
  return text;
}

}  // namespace

std::string EstimatorPage(std::string_view page, const ModelSource& model,
                          const SizeRequest& request) {
  const size_t marker = page.find(kMarker);
  CAIRN_CHECK(marker != std::string_view::npos);
  std::string filled(page.substr(0, marker));
  filled += WithoutMarkup(fmt::format(R"({{"model":{},"question":{}}})", ModelSourceJson(model),
                                      SizeRequestJson(request)));
  filled += page.substr(marker + kMarker.size());
  return filled;
}

}  // namespace cairn
