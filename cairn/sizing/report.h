// Reports of a Sizing: a table for people, JSON for programs.
//
// JSON names are promises: bytes_per_token and elements_per_token are at the margin (what one more
// token adds once every window is full); content_bytes are the rows still needed after `tokens`
// tokens, allocated_bytes the whole blocks that hold them, both for the batch;
// fixed_bytes_per_request doesn't grow. kv_bytes are the rows that there must be room for (of a
// window min(tokens, W)), state_bytes all that doesn't grow, total_bytes their sum; at the top they
// are those of the last entry of sizes. parameters is null, with a reason in parameters_note, where
// the description doesn't tell. A group's k, v, latent and index are elements per token and layer.
// Pure functions; thread-safe.
#ifndef CAIRN_SIZING_REPORT_H_
#define CAIRN_SIZING_REPORT_H_

#include <string>
#include <string_view>

#include "cairn/base/status.h"
#include "cairn/sizing/sizing.h"
#include "cairn/spec/model_spec.h"

namespace cairn {

// `name` is what the user called the model. Each ends with a newline.
std::string SizingText(std::string_view name, const ModelSpec& model, const Sizing& sizing);
std::string SizingJson(std::string_view name, const ModelSpec& model, const Sizing& sizing);
// The same object on one line.
std::string SizingJsonLine(std::string_view name, const ModelSpec& model, const Sizing& sizing);
// {"model": .., "error": ..} on one line.
std::string ErrorJsonLine(std::string_view name, const Error& error);

}  // namespace cairn

#endif  // CAIRN_SIZING_REPORT_H_
