// The state manager's numbers as the server reports them.
#ifndef CAIRN_TOOLS_SERVE_STATE_H_
#define CAIRN_TOOLS_SERVE_STATE_H_

#include "cairn/serve/state_report.h"
#include "cairn/state/state_manager.h"

namespace cairn {

// On the thread of the state's owner.
StateFigures FiguresOf(StateManager& state);
// What the bytes are for, and a picture of the tree.
void AddDetailsOf(const StateManager& state, StateFigures& to);

}  // namespace cairn

#endif  // CAIRN_TOOLS_SERVE_STATE_H_
