// What model a weight file holds: GGUF metadata and tensor table, or the config.json beside it.
#ifndef CAIRN_WEIGHTS_DESCRIBE_MODEL_H_
#define CAIRN_WEIGHTS_DESCRIBE_MODEL_H_

#include <string>

#include "cairn/base/status.h"
#include "cairn/spec/model_spec.h"
#include "cairn/weights/weight_file.h"

namespace cairn {

// `path` is what `file` was opened from: safetensors have their config.json in that folder.
Result<ModelSpec> DescribeModel(const WeightFile& file, const std::string& path);

// The text of the config.json that describes a file opened from `path`; empty if it describes
// itself.
Result<std::string> ReadConfigOf(const WeightFile& file, const std::string& path);

}  // namespace cairn

#endif  // CAIRN_WEIGHTS_DESCRIBE_MODEL_H_
