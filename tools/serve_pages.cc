#include "tools/serve_pages.h"

#include <fmt/format.h>

#include <cstdio>
#include <utility>

#include "cairn/sizing/model_source.h"
#include "cairn/sizing/page.h"
#include "tools/size_models.h"
#include "web/page_template.h"

namespace cairn {
namespace {

Result<std::string> SizePageOf(const std::string& model_path, const std::string& name) {
  CAIRN_ASSIGN(SizedModel model, ReadSizedModel(model_path));
  model.description.where = name;  // what messages name
  const ModelSource source = {.name = name,
                              .description = std::move(model.description),
                              .weights = model.weights,
                              .notes = std::move(model.notes)};
  return EstimatorPage(PageTemplate(), source, {});
}

}  // namespace

std::vector<WebPage> ServedPages(const std::string& model_path, const std::string& name) {
  std::vector<WebPage> pages;
  pages.push_back(MakeWebPage("/", std::string(ServePage())));
  Result<std::string> size = SizePageOf(model_path, name);
  if (size) {
    pages.push_back(MakeWebPage("/size", std::move(*size)));
  } else {
    fmt::print(stderr, "cairn: no page at /size: {}\n", size.error().message);
  }
  return pages;
}

}  // namespace cairn
