#include "tools/size_page.h"

#include <span>

#include "cairn/base/env.h"
#include "cairn/sizing/model_source.h"
#include "cairn/sizing/page.h"
#include "web/page_template.h"

namespace cairn {
Status WriteSizePage(const std::string& html_path, const SizeReport& report) {
  const ModelSource source = {.name = report.model.name,
                              .description = report.model.description,
                              .weights = report.model.weights,
                              .notes = report.model.notes};
  const std::string page = EstimatorPage(PageTemplate(), source, report.request);
  return WriteFileAtomically(html_path, std::as_bytes(std::span(page)));
}

}  // namespace cairn
