// The two JSON documents of the safetensors format, read event by event.
//
// Nothing is built but the answer, so that memory stays within a small multiple of the text.
#ifndef CAIRN_WEIGHTS_SAFETENSORS_JSON_H_
#define CAIRN_WEIGHTS_SAFETENSORS_JSON_H_

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "cairn/base/status.h"
#include "cairn/spec/metadata.h"

namespace cairn {

struct SafetensorsEntry {
  std::string name;
  std::string type;
  std::vector<int64_t> shape;
  uint64_t begin = 0;  // in the data part
  uint64_t end = 0;
};

// The header of a file. `metadata` says where, for errors, and gets the strings of "__metadata__",
// "format" as "safetensors.format": nobody may take them for keys of a GGUF file.
Result<std::vector<SafetensorsEntry>> ParseSafetensorsHeader(std::string_view json,
                                                             Metadata& metadata);

// "weight_map" of model.safetensors.index.json: tensor -> file name.
Result<std::map<std::string, std::string>> ParseSafetensorsIndex(std::string_view json,
                                                                 const std::string& where);

}  // namespace cairn

#endif  // CAIRN_WEIGHTS_SAFETENSORS_JSON_H_
