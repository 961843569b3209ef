// Audit: walks all state and CHECKs that what is stored is what the layout predicts.
//
// 1. every block's reference count is the number of tables and kept pieces that hold it
// 2. a live block is in no free list, and no block is lost
// 3. bytes of blocks add up to the arena's accounting
// 4. every sequence holds the blocks that StateLayout says, and so its bytes are AllocatedBytes
// 5. rows of a sequence at rest that aren't written are zero
// O(blocks), and reads the partly written ones. Same thread as the store.
#ifndef CAIRN_STATE_AUDIT_H_
#define CAIRN_STATE_AUDIT_H_

#include "cairn/state/state_store.h"

namespace cairn {

// `kept` visits the pieces that others than sequences hold (kept_state.h); null: there are none.
void Audit(const StateStore& store, const KeptVisitor& kept = {});

}  // namespace cairn

#endif  // CAIRN_STATE_AUDIT_H_
