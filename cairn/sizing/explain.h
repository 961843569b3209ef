// Why a state is as large as it is: formulas with the numbers filled in.
//
// Pure functions; thread-safe.
#ifndef CAIRN_SIZING_EXPLAIN_H_
#define CAIRN_SIZING_EXPLAIN_H_

#include <string>
#include <vector>

#include "cairn/sizing/request.h"
#include "cairn/sizing/section.h"

namespace cairn {

// "8 x 128 keys at 2 bytes + 8 x 128 values at 2 bytes"
std::string ComponentsFormula(const LayerState& state);
// A line for each group of layers, then one for each answer.
Section ExplainSection(const SizeReport& report);
// The names people use for the kinds of layers: "gqa", "mla", "gqa + gated_delta".
std::string AttentionName(const ModelSpec& model);

}  // namespace cairn

#endif  // CAIRN_SIZING_EXPLAIN_H_
