#include "tools/size_page.h"

#include <span>
#include <utility>

#include "cairn/base/env.h"
#include "cairn/sizing/model_source.h"
#include "cairn/sizing/page.h"
#include "cairn/spec/hf_config.h"
#include "cairn/weights/weight_file.h"
#include "web/page_template.h"

namespace cairn {
namespace {

Result<ModelSource> ReadSource(const std::string& path) {
  ModelSource source{.name = path, .where = path, .config = ""};
  if (IsDirectory(path) || path.ends_with(".json")) {
    if (IsDirectory(path)) source.where += "/config.json";
    CAIRN_ASSIGN(source.config, ReadFile(source.where, HfConfig::kMaxBytes));
    return source;
  }
  CAIRN_ASSIGN(const std::unique_ptr<WeightFile> file, OpenWeightFile(path));
  source.gguf = file->metadata();
  for (const TensorInfo& tensor : file->tensors()) source.tensors.push_back(tensor.name);
  return source;
}

}  // namespace

Status WriteSizePage(const std::string& html_path, const std::string& model_path,
                     const SizeReport& report) {
  CAIRN_ASSIGN(ModelSource source, ReadSource(model_path));
  source.name = report.model.name;
  source.weights = report.model.weights;
  source.notes = report.model.notes;
  const std::string page = EstimatorPage(PageTemplate(), source, report.request);
  return WriteFileAtomically(html_path, std::as_bytes(std::span(page)));
}

}  // namespace cairn
