#include "cairn/spec/config_writer.h"

#include <algorithm>
#include <nlohmann/json.hpp>

namespace cairn {

std::string ConfigWriter::Text() const {
  nlohmann::json object = nlohmann::json::object();
  for (const auto& [key, value] : values_) {
    std::string pointer = "/" + key;
    std::ranges::replace(pointer, '.', '/');
    nlohmann::json& place = object[nlohmann::json::json_pointer(pointer)];
    std::visit([&](const auto& held) { place = held; }, value);
  }
  return object.dump();
}

}  // namespace cairn
