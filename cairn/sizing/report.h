// Reports of a Sizing: a table for people, JSON for programs.
//
// JSON names are promises: bytes_per_token and elements_per_token are at the margin (what one more
// token adds once every window is full); content_bytes are the rows still needed after `tokens`
// tokens, allocated_bytes the whole blocks that hold them, both for the batch;
// fixed_bytes_per_request doesn't grow. Pure functions; thread-safe.
#ifndef CAIRN_SIZING_REPORT_H_
#define CAIRN_SIZING_REPORT_H_

#include <string>
#include <string_view>

#include "cairn/sizing/sizing.h"
#include "cairn/spec/model_spec.h"

namespace cairn {

// `name` is what the user called the model. Each ends with a newline.
std::string SizingText(std::string_view name, const ModelSpec& model, const Sizing& sizing);
std::string SizingJson(std::string_view name, const ModelSpec& model, const Sizing& sizing);

}  // namespace cairn

#endif  // CAIRN_SIZING_REPORT_H_
