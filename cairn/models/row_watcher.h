// RowWatcher: what a model notes of one sequence so that a token policy can say which rows stay.
//
// One for each sequence that a policy holds for, from its first token on that the policy must know
// of (PolicyNeeds). A span of a batch names it, the mixers show it queries when their rows are
// stored, Choose then asks the policy, layer by layer. What is noted depends on the tokens alone:
// it is added up token by token, whatever the batches were. Thread safety: one call at a time.
#ifndef CAIRN_MODELS_ROW_WATCHER_H_
#define CAIRN_MODELS_ROW_WATCHER_H_

#include <memory>

#include "cairn/state/state_view.h"

namespace cairn {

struct SeenRows;

class RowWatcher {
 public:
  virtual ~RowWatcher() = default;
  // For a fork of the sequence.
  virtual std::unique_ptr<RowWatcher> Clone() const = 0;
  // All pointers outlive the watcher but those of the state and the queries.
  virtual void OnRows(const SeenRows& seen) = 0;  // policy_watcher.h
  // Of the sequence at rest. REQUIRES a token or more was seen.
  virtual RowsToKeep Choose(const SequenceView& state) const = 0;
  // What Choose gave is what the sequence has now.
  virtual void OnDropped(const RowsToKeep& kept) = 0;
};

}  // namespace cairn

#endif  // CAIRN_MODELS_ROW_WATCHER_H_
