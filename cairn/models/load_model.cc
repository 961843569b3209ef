#include <utility>
#include <vector>

#include "cairn/kernels/state_rows.h"
#include "cairn/models/decoder.h"
#include "cairn/models/model.h"
#include "cairn/models/runnable.h"
#include "cairn/weights/describe_model.h"
#include "cairn/weights/weight_file.h"

namespace cairn {
namespace {

std::vector<DType> CodecsOf(const StateCodecs& codecs) {
  std::vector<DType> all = {codecs.keys.codec, codecs.values.codec};
  for (const LayerForms& forms : codecs.layers) {
    all.insert(all.end(), {forms.keys.codec, forms.values.codec});
  }
  return all;
}

}  // namespace

Result<std::unique_ptr<Model>> LoadModel(const std::string& path, const ModelOptions& options,
                                         ThreadPool& pool) {
  CAIRN_ASSIGN(std::unique_ptr<WeightFile> file, OpenWeightFile(path));
  CAIRN_ASSIGN(ModelSpec spec, DescribeModel(*file, path));
  return LoadModel(std::move(file), std::move(spec), options, pool);
}

Result<std::unique_ptr<Model>> LoadModel(std::unique_ptr<WeightFile> file, ModelSpec spec,
                                         const ModelOptions& options, ThreadPool& pool) {
  CAIRN_TRY(CheckRunnable(spec));
  for (const DType codec : CodecsOf(options.codecs)) {
    if (IsStateCodec(codec)) continue;
    return Fail(ErrorCode::kUnsupported, "state can't be kept as {} yet, only as {}",
                InfoOf(codec).name, StateCodecNames());
  }
  CAIRN_ASSIGN(StateLayout layout, StateLayout::Make(StateSpecOf(spec, options.codecs)));
  CAIRN_TRY(CheckStandards(options.standards, spec, layout.spec()));
  return Decoder::Load(std::move(file), std::move(spec), std::move(layout), options, pool);
}

}  // namespace cairn
