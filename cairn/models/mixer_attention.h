// The softmax-attention mixer: projections, norms and rotation, state rows, attention, output.
//
// Thread safety: one call at a time (it owns working memory).
#ifndef CAIRN_MODELS_MIXER_ATTENTION_H_
#define CAIRN_MODELS_MIXER_ATTENTION_H_

#include <cstdint>
#include <span>
#include <vector>

#include "cairn/kernels/attention.h"
#include "cairn/kernels/matmul.h"
#include "cairn/models/decoder_weights.h"
#include "cairn/models/model.h"
#include "cairn/models/rope_table.h"

namespace cairn {

// Where one layer's keys and values lie.
struct AttentionPlaces {
  StateLayout::RowsPlace keys;
  StateLayout::RowsPlace values;
};

class AttentionMixer {
 public:
  AttentionMixer(const ModelSpec& spec, ThreadPool& pool) : spec_(spec), pool_(pool) {}

  // out[t] = attention branch of normed[t] for all tokens of the batch, both [tokens][hidden].
  // `rope` is null for layers without rotation. Only the last `wanted` tokens of each span need an
  // output: `rows` lists the tokens to write, in order, compactly.
  void Run(const AttentionSpec& attention, const AttentionWeights& weights,
           const AttentionPlaces& places, std::span<const BatchSpan> batch, const RopeTable* rope,
           const float* normed, int64_t tokens, std::span<const int64_t> rows, float* out);

 private:
  void Project(const AttentionSpec& attention, const AttentionWeights& weights, const float* normed,
               int64_t tokens);
  void FinishRows(const AttentionSpec& attention, const AttentionWeights& weights,
                  const AttentionPlaces& places, std::span<const BatchSpan> batch,
                  const RopeTable* rope);
  void Attend(const AttentionSpec& attention, const AttentionPlaces& places,
              std::span<const BatchSpan> batch);

  const ModelSpec& spec_;
  ThreadPool& pool_;
  Activations activations_;
  AttentionScratch scratch_;
  AlignedBuffer query_;
  AlignedBuffer key_;
  AlignedBuffer value_;
  AlignedBuffer attended_;
  std::vector<AttentionSpan> spans_;
};

}  // namespace cairn

#endif  // CAIRN_MODELS_MIXER_ATTENTION_H_
