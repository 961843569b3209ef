// The latent-attention mixer (MLA) with its matrices absorbed: a query goes through its head's key
// matrix, the latent rows are keys and values of all heads, and what comes out goes through the
// head's value matrix. No head's keys or values are ever built.
//
// Thread safety: one call at a time.
#ifndef CAIRN_MODELS_MIXER_LATENT_H_
#define CAIRN_MODELS_MIXER_LATENT_H_

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "cairn/kernels/head_products.h"
#include "cairn/kernels/row_attention.h"
#include "cairn/models/latent_index.h"
#include "cairn/models/part.h"

namespace cairn {

struct LatentWeights {
  Linear query_down;    // [query_rank, hidden]; empty: queries are projected at once
  Norm query_norm;      // of the rank
  Linear query;         // [heads * (key_width + rope_width), query_rank or hidden]
  Linear row;           // [latent_width + rope_width, hidden]
  Norm row_norm;        // of the latent part
  HeadMatrices keys;    // a head's key channels into latent ones
  HeadMatrices values;  // latent channels into a head's value
  Linear gate;          // [heads or heads * value_width, hidden]; empty: none
  PositionScaling scaling;
  Linear output;  // [hidden, heads * value_width]
};

class LatentMixer : public Mixer {
 public:
  // `spec` must outlive the mixer.
  LatentMixer(const LayerBuild& build, const LatentAttentionSpec& spec);
  Status Load(const LayerBuild& build);

  void Run(const Pass& pass, const float* normed, std::span<const int64_t> rows,
           float* out) override;

 private:
  // Of all tokens of the batch, one behind the other; `absorbed` and `attended` of TokensAtOnce().
  struct Made {
    float* rank = nullptr;      // [query_rank]
    float* query = nullptr;     // [heads][key_width + rope_width]
    float* row = nullptr;       // [latent_width + rope_width]
    float* absorbed = nullptr;  // [heads][latent_width + rope_width]
    float* attended = nullptr;  // [heads][latent_width]
    float* value = nullptr;     // [heads][value_width]
    float* gate = nullptr;      // [heads] or [heads][value_width], of the chosen tokens
  };

  int64_t head_width() const { return spec_.key_width + spec_.rope_width; }
  int64_t row_width() const { return spec_.latent_width + spec_.rope_width; }

  Status LoadQueries(const PartLoader& loader);
  Status LoadHeads(const PartLoader& loader);
  Status LoadPartedHeads(const PartLoader& loader);
  Status LoadRotation(const LayerBuild& build);
  int64_t TokensAtOnce() const;
  Made MakeRoom(const Pass& pass) const;
  void Project(const Pass& pass, const float* normed, const Made& made);
  void Finish(int64_t token, int64_t position, const Made& made) const;
  void Store(const BatchSpan& span, int64_t index, const float* row) const;
  void Absorb(const Pass& pass, int64_t first, int64_t count, const Made& made);
  void Attend(const Pass& pass, int64_t first, std::span<const int64_t> some, const Made& made);
  void AddSpans(const Pass& pass, const TokenRun& run, const Made& made);
  void MakeGates(const Pass& pass, const float* normed, std::span<const int64_t> rows,
                 const Made& made);
  void ApplyGates(int64_t token, const Made& made) const;
  void Output(const Pass& pass, int64_t count, const Made& made, float* out);

  const LatentAttentionSpec& spec_;
  const int64_t hidden_;
  const RopeTable* rope_ = nullptr;
  StateLayout::RowsPlace place_;
  LatentWeights weights_;
  std::optional<LatentIndex> index_;
  std::vector<TokenRun> runs_;
  std::vector<RowAttentionSpan> spans_;
};

}  // namespace cairn

#endif  // CAIRN_MODELS_MIXER_LATENT_H_
