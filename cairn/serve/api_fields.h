// ApiFields: the named fields of one JSON object of a request.
//
// Each getter returns the field's value, or nothing where it is absent or null. The first field
// that is wrong is remembered with its whole path ("messages[2].role"), after which the getters
// go on, so that a parser reads straight down and asks for the problem once. Thread-compatible;
// the node must outlive it.
#ifndef CAIRN_SERVE_API_FIELDS_H_
#define CAIRN_SERVE_API_FIELDS_H_

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cairn/serve/api_error.h"
#include "cairn/serve/json_node.h"

namespace cairn {

class ApiFields {
 public:
  // `path` is the object's own, "" for the body. Not an object: that is the first problem.
  ApiFields(const JsonNode& node, std::string path);

  std::optional<int64_t> Integer(std::string_view name, int64_t least, int64_t most);
  std::optional<double> Number(std::string_view name, double least, double most);
  std::optional<bool> Bool(std::string_view name);
  std::optional<std::string> String(std::string_view name, size_t most_bytes);
  // One of the texts.
  std::optional<std::string> Choice(std::string_view name,
                                    std::initializer_list<std::string_view> choices);
  // Null where absent; another kind is a problem.
  const JsonNode::Items* Array(std::string_view name, size_t most);
  const JsonNode* Object(std::string_view name);
  // Of any kind but null.
  const JsonNode* Any(std::string_view name) const;

  // The field has to be there.
  void Require(std::string_view name);
  // Nothing here can do what the field asks for.
  void Refuse(std::string_view name, std::string why);
  // A problem of an object inside this one.
  void Adopt(const ApiFields& inner);

  std::string PathOf(std::string_view name) const;
  bool ok() const { return !problem_; }
  const std::optional<ApiError>& problem() const { return problem_; }

 private:
  const JsonNode& node_;
  const std::string path_;
  std::optional<ApiError> problem_;
};

// "path[3]"
std::string PathOfItem(std::string_view path, size_t index);

}  // namespace cairn

#endif  // CAIRN_SERVE_API_FIELDS_H_
