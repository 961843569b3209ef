// The state of a sequence as named tensors of plain numbers, layer by layer: for tests, and for
// people who compare engines.
#ifndef CAIRN_TOOLS_STATE_TENSORS_H_
#define CAIRN_TOOLS_STATE_TENSORS_H_

#include <string>

#include "cairn/base/status.h"
#include "cairn/state/state_store.h"

namespace cairn {

// Writes "state.LAYER.COMPONENT": rows as [heads, rows still needed, width], fixed components as
// one vector, in float32 (int64 where they hold ids). An alias has none. Errors: a component stored
// in a block format.
Status WriteStateTensors(const StateStore& store, SequenceId id, const std::string& path);

}  // namespace cairn

#endif  // CAIRN_TOOLS_STATE_TENSORS_H_
