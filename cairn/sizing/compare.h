// Models side by side: what each keeps for a token, what doesn't grow, and what that comes to.
//
// Pure function; thread-safe.
#ifndef CAIRN_SIZING_COMPARE_H_
#define CAIRN_SIZING_COMPARE_H_

#include <string>
#include <vector>

#include "cairn/base/ids.h"
#include "cairn/sizing/section.h"
#include "cairn/sizing/sizing.h"

namespace cairn {

struct ComparedModel {
  std::string name;
  const Sizing* sizing = nullptr;
  TokenCount context_length;  // of the model; 0: its file names none
};

// "8 full, 24 gated_delta": layers of each kind, by first layer.
std::string LayerKinds(const Sizing& sizing);

// A row for each model, in their order, in table "models"; a row for each model and length in table
// "lengths". Shares are of the first model's: what it would take instead. All sizings answer the
// same question.
Section CompareSection(const std::vector<ComparedModel>& models);

}  // namespace cairn

#endif  // CAIRN_SIZING_COMPARE_H_
