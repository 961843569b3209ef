// PolicyWatcher: the RowWatcher of decoders.
#ifndef CAIRN_MODELS_POLICY_WATCHER_H_
#define CAIRN_MODELS_POLICY_WATCHER_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "cairn/base/status.h"
#include "cairn/base/thread_pool.h"
#include "cairn/kernels/attention.h"
#include "cairn/models/row_watcher.h"
#include "cairn/policies/future_queries.h"
#include "cairn/policies/token_policy.h"
#include "cairn/spec/model_spec.h"
#include "cairn/spec/state_layout.h"
#include "cairn/state/state_view.h"

namespace cairn {

// Consecutive tokens of a layer whose rows are stored by now.
struct SeenRows {
  const AttentionSpec* spec = nullptr;
  AttentionShape shape;
  const StateLayout::RowsPlace* keys = nullptr;
  const StateLayout::RowsPlace* values = nullptr;
  const SequenceView* state = nullptr;
  int64_t tokens = 0;
  const float* queries = nullptr;  // [tokens][heads * key_width], normed and turned
};

// kUnsupported, naming the first layer whose rows a policy can't judge: those that aren't the keys
// and values of plain attention, or are standardised.
Status CheckWatchable(const ModelSpec& model, const StateLayout& layout);

class PolicyWatcher final : public RowWatcher {
 public:
  // All outlive it. `context` as in ModelOptions.
  PolicyWatcher(const TokenPolicy& policy, const StateLayout& layout, TokenCount context,
                ThreadPool& pool);

  std::unique_ptr<RowWatcher> Clone() const override {
    return std::make_unique<PolicyWatcher>(*this);
  }
  void OnRows(const SeenRows& seen) override;
  RowsToKeep Choose(const SequenceView& state) const override;
  void OnDropped(const RowsToKeep& kept) override;

  // The first tokens' queries are unlike all others and don't count to what is expected.
  static constexpr int64_t kSkippedTokens = 4;

 private:
  struct Moments {
    std::vector<double> sums;      // [key_width]
    std::vector<double> products;  // [key_width][key_width]
  };
  struct Layer {
    const AttentionSpec* spec = nullptr;  // null: nothing seen yet
    AttentionShape shape;
    StateLayout::RowsPlace keys, values;
    int64_t seen_from = 0, seen_to = 0;           // positions
    std::vector<float> window;                    // queries, [position % window][heads * width]
    std::vector<std::vector<int64_t>> positions;  // [KV head]: of the rows that it has
    std::vector<std::vector<double>> sums;        // [query head]: of the same rows
    std::vector<Moments> moments;                 // [query head], as if at position 0
    int64_t counted = 0;                          // queries in the moments

    int64_t group() const { return shape.heads / shape.kv_heads; }
  };
  struct Evidence;  // of a layer, while it is judged

  void Begin(const SeenRows& seen, Layer& layer) const;
  void NoteWindow(const SeenRows& seen, Layer& layer) const;
  void NoteSums(const SeenRows& seen, Layer& layer) const;
  void NoteMoments(const SeenRows& seen, Layer& layer) const;
  AttentionSpan SpanOf(const Layer& layer, const SequenceView& state) const;
  QueryMoments Expected(const Layer& layer, int64_t query_head, int64_t next) const;
  void GatherHead(const Layer& layer, const SequenceView& state, int64_t head,
                  Evidence& evidence) const;
  std::vector<std::vector<int32_t>> ChooseOf(const Layer& layer, const SequenceView& state,
                                             int64_t index, int64_t count) const;

  const TokenPolicy* policy_;
  PolicyNeeds needs_;
  TokenCount context_;
  ThreadPool* pool_;
  std::vector<Layer> layers_;  // of the model
};

}  // namespace cairn

#endif  // CAIRN_MODELS_POLICY_WATCHER_H_
