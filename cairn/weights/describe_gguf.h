// A GGUF file for planning: its header, and those of the other parts if it was split.
//
// Pure function of the files; thread-safe.
#ifndef CAIRN_WEIGHTS_DESCRIBE_GGUF_H_
#define CAIRN_WEIGHTS_DESCRIBE_GGUF_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "cairn/base/status.h"
#include "cairn/weights/describe_for_sizing.h"

namespace cairn {

// Of the name of a split file's part: "model-00002-of-00005.gguf".
struct GgufPartName {
  std::string stem;    // "model", with the folder
  int64_t number = 0;  // from 1
  int64_t count = 0;
};
std::optional<GgufPartName> ParseGgufPartName(std::string_view path);
std::string PathOfGgufPart(const GgufPartName& name, int64_t number);

Result<DescribedWeights> DescribeGgufForSizing(const std::string& path);

}  // namespace cairn

#endif  // CAIRN_WEIGHTS_DESCRIBE_GGUF_H_
