// The one layer loop: embedding, then the layers' parts on a residual, then the head. A ModelSpec
// says which parts.
#ifndef CAIRN_MODELS_DECODER_H_
#define CAIRN_MODELS_DECODER_H_

#include <array>
#include <memory>
#include <utility>
#include <vector>

#include "cairn/kernels/pack_arena.h"
#include "cairn/models/held_rows.h"
#include "cairn/models/model.h"
#include "cairn/models/pass.h"
#include "cairn/models/residual.h"
#include "cairn/models/rope_table.h"
#include "cairn/weights/weight_file.h"

namespace cairn {

class Decoder final : public Model {
 public:
  // Reads all weights. Errors name the tensor: missing, of a wrong shape or type, or one that is
  // not part of such a model.
  static Result<std::unique_ptr<Decoder>> Load(std::unique_ptr<WeightFile> file, ModelSpec spec,
                                               StateLayout layout, const ModelOptions& options,
                                               ThreadPool& pool);

  const ModelSpec& spec() const override { return spec_; }
  const StateLayout& layout() const override { return layout_; }
  Bytes weight_bytes() const override { return weight_bytes_; }
  void Forward(std::span<const BatchSpan> batch) override;
  bool CanSlice() const override { return true; }
  int64_t logit_rows() const override { return static_cast<int64_t>(wanted_.size()); }
  void Logits(int64_t first, int64_t count, float* out) override;
  void HiddenStates(int64_t first, int64_t count, float* out) override;
  void ObserveLayers(LayerObserver observer) override { observer_ = std::move(observer); }
  void ObserveKeys(KeyObserver* observer) override { pass_.key_observer = observer; }

  Result<std::unique_ptr<RowWatcher>> WatchRows(const TokenPolicy& policy) const override;

  // Made by Load.
  Decoder(ModelSpec spec, StateLayout layout, const ModelOptions& options, ThreadPool& pool);

 private:
  Status LoadWeights(std::unique_ptr<WeightFile> file);
  void StartPass(std::span<const BatchSpan> batch);
  // Which layers the last span passes now; the others pass all.
  void StartSlice();
  // The pass goes on with all spans, or without the last one, whose tokens are the last ones.
  void GoOn(bool with_last);
  void Embed();

  const ModelSpec spec_;
  const StateLayout layout_;
  const KeyStandards standards_;
  const TokenCount context_;
  ThreadPool& pool_;

  std::unique_ptr<WeightFile> file_;       // keeps the embedding's bytes mapped
  const TensorInfo* embedding_ = nullptr;  // [vocabulary, hidden], read row by row
  int64_t embedding_rows_mapped_ = 0;      // at most; since the pages were given back
  PackArena arena_;                        // holds the matrices of what follows
  std::unique_ptr<Residual> residual_;
  std::vector<LayerParts> layers_;
  Linear head_;  // [vocabulary, hidden]; packed from the embedding when tied
  Bytes weight_bytes_;
  LayerObserver observer_;

  // Of the current batch.
  Pass pass_;
  RopeTables ropes_;
  Workspace work_;
  std::array<HandoverRows, kHandovers> handovers_;
  std::span<const BatchSpan> batch_;
  LayerRange slice_;  // of the last span
  int64_t tokens_of_others_ = 0;
  HeldRows held_;  // of a last span that has layers before it, between calls
  std::vector<int64_t> positions_;
  std::vector<TokenId> ids_;
  std::vector<int64_t> all_;     // 0 .. tokens - 1
  std::vector<int64_t> wanted_;  // tokens that get a row
  AlignedBuffer stream_;         // [tokens][residual width]; the wanted rows alone after Forward
};

}  // namespace cairn

#endif  // CAIRN_MODELS_DECODER_H_
