// What the files of a model say about its embeddings.
#ifndef CAIRN_WEIGHTS_DESCRIBE_POOLING_H_
#define CAIRN_WEIGHTS_DESCRIBE_POOLING_H_

#include <optional>
#include <string>

#include "cairn/base/status.h"
#include "cairn/spec/pooling.h"
#include "cairn/weights/weight_file.h"

namespace cairn {

// `path` is what `file` was opened from. GGUF metadata, or modules.json and 1_Pooling/config.json
// beside safetensors; nothing where they say nothing, kUnsupported where they ask for more than
// there is (pooling.h).
Result<std::optional<Pooling>> DescribePooling(const WeightFile& file, const std::string& path);

}  // namespace cairn

#endif  // CAIRN_WEIGHTS_DESCRIBE_POOLING_H_
