// Rows that a token policy drops: at the prompt's end and then as often as its settings say, at
// lengths that follow from the request alone. An answer that lost its lease reads its tokens again,
// and its rows are dropped at the same lengths.
#include <utility>

#include "cairn/base/check.h"
#include "cairn/engine/prefix_sharing.h"
#include "cairn/engine/scheduler.h"

namespace cairn {
namespace {

// Rows of a head that stay, in the mean over layers and heads.
TokenCount MeanRows(const RowsToKeep& keep) {
  int64_t rows = 0;
  int64_t heads = 0;
  for (const auto& layer : keep) {
    for (const auto& head : layer) {
      rows += std::ssize(head);
      ++heads;
    }
  }
  return TokenCount(rows / std::max<int64_t>(1, heads));
}

}  // namespace

TokenCount Scheduler::NextDrop(const Answer& answer) {
  const Generation& generation = *answer.generation;
  return generation.policy->settings().NextDrop(generation.prompt, answer.read + TokenCount(1));
}

void Scheduler::DropIfDue(Answer& answer) {
  const Generation& generation = *answer.generation;
  if (!generation.policy || !answer.watcher || generation.request.max_tokens == 0) return;
  const TokenCount due = generation.policy->settings().NextDrop(generation.prompt, answer.read);
  answer.drop_due = due == answer.read;
  if (answer.drop_due) DropRows(answer);  // or before its next batch
}

bool Scheduler::DropRows(Answer& answer) {
  const RowsToKeep keep =
      answer.watcher->Choose(state_.store().View(state_.Sequence(*answer.lease)));
  if (!state_.DropRows(*answer.lease, keep)) return false;
  answer.watcher->OnDropped(keep);
  answer.drop_due = false;
  answer.lost_rows = true;
  const TokenCount dropped = answer.read - MeanRows(keep);
  stats_.dropped_tokens += (dropped - answer.dropped).value();
  answer.dropped = dropped;
  if (answer.generation->policy->settings().Whole("every") == 0) answer.watcher.reset();
  LeaveSharing(answer, running_);
  return true;
}

}  // namespace cairn
