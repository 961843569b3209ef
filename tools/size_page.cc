#include "tools/size_page.h"

#include <span>
#include <utility>

#include "cairn/base/env.h"
#include "cairn/sizing/model_source.h"
#include "cairn/sizing/page.h"
#include "cairn/spec/model_description.h"
#include "cairn/weights/describe_for_sizing.h"
#include "web/page_template.h"

namespace cairn {
namespace {

// As the report's model was: a file or folder, else a name.
Result<ModelDescription> ReadDescription(const std::string& model) {
  if (!FileExists(model)) return ModelDescription{.where = model};
  CAIRN_ASSIGN(DescribedWeights described, DescribeForSizing(model));
  return std::move(described.description);
}

}  // namespace

Status WriteSizePage(const std::string& html_path, const std::string& model_path,
                     const SizeReport& report) {
  CAIRN_ASSIGN(ModelDescription description, ReadDescription(model_path));
  const ModelSource source = {.name = report.model.name,
                              .description = std::move(description),
                              .weights = report.model.weights,
                              .notes = report.model.notes};
  const std::string page = EstimatorPage(PageTemplate(), source, report.request);
  return WriteFileAtomically(html_path, std::as_bytes(std::span(page)));
}

}  // namespace cairn
