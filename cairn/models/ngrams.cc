// What a layer adds to its residual streams for the last few tokens together (Qwen 4).
//
// The n-grams that end at a token are looked up in tables of embeddings. From these come one value
// and a key for each stream; a stream's own content decides how much of the value it gets, and a
// convolution with gaps spreads that over the tokens after. State: the ids of the tokens before,
// and the convolution's inputs.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cairn/kernels/dequantize.h"
#include "cairn/kernels/norms.h"
#include "cairn/kernels/ops.h"
#include "cairn/models/causal_conv.h"
#include "cairn/models/ngram_hash.h"
#include "cairn/models/parts.h"
#include "cairn/models/token_loop.h"

namespace cairn {
namespace {

enum Slot { kEmbedding, kKey, kValue, kQuery, kGated, kConvInput, kConvOut, kConvScratch };

// The square root of a score, with its sign, through a sigmoid.
float GateOf(double score) {
  constexpr double kSmallest = 1e-6;
  if (score == 0) return 0.5f;
  const double root = std::sqrt(std::max(std::abs(score), kSmallest));
  return static_cast<float>(1 / (1 + std::exp(score < 0 ? root : -root)));
}

class NgramEmbeddings final : public Ngrams {
 public:
  // `spec` must outlive it.
  NgramEmbeddings(const LayerBuild& build, const NgramSpec& spec);
  Status Load(const PartLoader& loader);

  void Run(const Pass& pass) override;

 private:
  // Some rows of all tables, read row by row.
  struct Piece {
    int64_t end = 0;  // behind its last row
    const TensorInfo* tensor = nullptr;
  };

  Status LoadTables(const PartLoader& loader);
  Status LoadHash(const PartLoader& loader);
  void LookUp(const Pass& pass, float* embeddings);
  void ReadRow(int64_t row, float* to) const;
  void NormStreams(const std::vector<float>& weight, float* x) const;
  void Gate(const float* key, const float* query, const float* value, float* out) const;

  const NgramSpec& spec_;
  const int64_t hidden_;
  const int64_t streams_;
  const double norm_epsilon_;
  FixedPlace ids_;
  FixedPlace tail_;
  NgramHash hash_;
  std::vector<Piece> table_;
  Linear key_;                   // [streams * hidden, width]
  Linear value_;                 // [hidden, width]
  std::vector<float> key_norm_;  // [streams * hidden], each stream normed for itself
  std::vector<float> query_norm_;
  std::vector<float> conv_norm_;
  CausalConv conv_;
  std::vector<int64_t> history_;  // ids of a span behind those before it
};

NgramEmbeddings::NgramEmbeddings(const LayerBuild& build, const NgramSpec& spec)
    : spec_(spec),
      hidden_(build.model.hidden),
      streams_(spec.channels / hidden_),
      norm_epsilon_(build.model.norm_epsilon),
      ids_(FixedPlaceOf(build.layout, build.layer, "token_ids")) {
  if (spec.conv_history > 0) tail_ = FixedPlaceOf(build.layout, build.layer, "ngram_conv");
}

// One tensor, or pieces of any length.
Status NgramEmbeddings::LoadTables(const PartLoader& loader) {
  constexpr std::string_view kRole = "ple.ple_embedding.ngram_embedding";
  const int64_t columns = spec_.width / spec_.Tables();
  if (loader.Has(kRole)) {
    CAIRN_ASSIGN(const TensorInfo* whole, loader.Table(kRole, spec_.rows, columns));
    table_.push_back({spec_.rows, whole});
    return {};
  }
  int64_t rows = 0;
  while (rows < spec_.rows) {
    const std::string role = fmt::format("{}.shard_{}", kRole, table_.size());
    const int64_t here = std::clamp<int64_t>(loader.RowsOf(role), 1, spec_.rows - rows);
    CAIRN_ASSIGN(const TensorInfo* piece, loader.Table(role, here, columns));
    rows += here;
    table_.push_back({rows, piece});
  }
  return {};
}

Status NgramEmbeddings::LoadHash(const PartLoader& loader) {
  constexpr std::string_view kSizes = "ple.ple_embedding.ngram_heads_vocab_sizes";
  const int64_t longest = spec_.history + 1;
  const int64_t tables = spec_.Tables();
  CAIRN_ASSIGN(hash_.multipliers,
               loader.Integers("ple.ple_embedding.layer_multipliers", {&longest, 1}));
  CAIRN_ASSIGN(hash_.sizes, loader.Integers(kSizes, {&tables, 1}));
  CAIRN_ASSIGN(hash_.offsets,
               loader.Integers("ple.ple_embedding.ngram_heads_offsets", {&tables, 1}));
  hash_.end_token = spec_.end_token;
  const std::string problem = hash_.Problem(spec_.rows);
  if (problem.empty()) return {};
  return Fail(ErrorCode::kInvalidArgument, "{}: {}: {}", loader.where(), loader.NameOf(kSizes),
              problem);
}

Status NgramEmbeddings::Load(const PartLoader& loader) {
  CAIRN_TRY(LoadTables(loader));
  CAIRN_TRY(LoadHash(loader));
  CAIRN_ASSIGN(key_, loader.Matrix("ple.key_proj", spec_.channels, spec_.width));
  CAIRN_ASSIGN(value_, loader.Matrix("ple.value_proj", hidden_, spec_.width));
  const std::array<std::pair<std::string_view, std::vector<float>*>, 3> norms = {
      {{"ple.norm_key", &key_norm_},
       {"ple.norm_query", &query_norm_},
       {"ple.norm_conv", &conv_norm_}}};
  for (const auto& [role, weight] : norms) {
    CAIRN_ASSIGN(Norm norm, loader.NormOf(role, spec_.channels));
    *weight = std::move(norm.weight);
  }
  CAIRN_ASSIGN(conv_, CausalConv::Load(loader, "ple.conv1d",
                                       {.channels = spec_.channels,
                                        .kernel = spec_.kernel,
                                        .silu = true,
                                        .dilation = spec_.history + 1}));
  return {};
}

void NgramEmbeddings::ReadRow(int64_t row, float* to) const {
  const int64_t columns = spec_.width / spec_.Tables();
  const auto piece = std::ranges::upper_bound(table_, row, {}, &Piece::end);
  const int64_t first = piece == table_.begin() ? 0 : std::prev(piece)->end;
  const TensorInfo& tensor = *piece->tensor;
  const auto bytes = static_cast<size_t>(BytesOf(*tensor.dtype, ElementCount(columns)).value());
  DequantizeRow(*tensor.dtype,
                tensor.bytes.subspan(static_cast<size_t>(row - first) * bytes, bytes), to, columns);
}

// Embeddings of all tokens; moves the ids in the state on. Before the first token stands the one
// that ends an answer.
void NgramEmbeddings::LookUp(const Pass& pass, float* embeddings) {
  const auto history = static_cast<size_t>(spec_.history);
  const int64_t columns = spec_.width / spec_.Tables();
  ForSpans(pass, [&](const BatchSpan& span, int64_t first) {
    const size_t tokens = span.tokens.size();
    history_.resize(history + tokens);
    if (span.state.tokens_before == TokenCount(0)) {
      std::fill_n(history_.begin(), history, hash_.end_token);
    } else {
      std::memcpy(history_.data(), ids_.In(span.state), history * sizeof(int64_t));
    }
    for (size_t i = 0; i < tokens; ++i) history_[history + i] = span.tokens[i].value();
    std::memcpy(ids_.In(span.state), history_.data() + tokens, history * sizeof(int64_t));
    ForTokens(*pass.pool, static_cast<int64_t>(tokens), [&](int64_t i) {
      std::array<int64_t, kMaxNgramTables> rows;
      hash_.Rows(std::span(history_).subspan(static_cast<size_t>(i), history + 1), rows.data());
      float* to = embeddings + (first + i) * spec_.width;
      for (int64_t h = 0; h < spec_.Tables(); ++h) {
        ReadRow(rows[static_cast<size_t>(h)], to + h * columns);
      }
    });
  });
}

void NgramEmbeddings::NormStreams(const std::vector<float>& weight, float* x) const {
  GatedRmsNorm({.groups = streams_,
                .width = hidden_,
                .epsilon = norm_epsilon_,
                .weight = weight.data(),
                .weight_stride = hidden_,
                .activation = GateActivation::kNone},
               nullptr, x);
}

// Each stream's share of the value.
void NgramEmbeddings::Gate(const float* key, const float* query, const float* value,
                           float* out) const {
  const double scale = 1 / std::sqrt(static_cast<double>(hidden_));
  for (int64_t s = 0; s < streams_; ++s) {
    double score = 0;
    for (int64_t c = s * hidden_; c < (s + 1) * hidden_; ++c) {
      score += static_cast<double>(key[c]) * query[c];
    }
    float* to = out + s * hidden_;
    std::copy_n(value, hidden_, to);
    Scale(to, GateOf(score * scale), hidden_);
  }
}

void NgramEmbeddings::Run(const Pass& pass) {
  Workspace& work = *pass.work;
  const int64_t tokens = pass.tokens;
  const int64_t channels = spec_.channels;
  float* embeddings = work.Floats(kEmbedding, tokens * spec_.width);
  LookUp(pass, embeddings);
  float* keys = work.Floats(kKey, tokens * channels);
  float* values = work.Floats(kValue, tokens * hidden_);
  Activations& activations = work.activations(0);
  activations.Set(embeddings, tokens, spec_.width, spec_.width);
  const std::array<MatMulTask, 2> tasks = {key_.Into(keys, kFinePrecision), value_.Into(values)};
  MatMul(activations, tasks, *pass.pool);

  float* queries = work.Floats(kQuery, tokens * channels);
  float* gated = work.Floats(kGated, tokens * channels);
  float* inputs = work.Floats(kConvInput, tokens * channels);
  ForTokens(*pass.pool, tokens, [&](int64_t t) {
    const int64_t at = t * channels;
    std::copy_n(pass.residual + at, channels, queries + at);
    NormStreams(key_norm_, keys + at);
    NormStreams(query_norm_, queries + at);
    Gate(keys + at, queries + at, values + t * hidden_, gated + at);
    std::copy_n(gated + at, channels, inputs + at);
    NormStreams(conv_norm_, inputs + at);
  });
  float* spread = work.Floats(kConvOut, tokens * channels);
  ForSpans(pass, [&](const BatchSpan& span, int64_t first) {
    const auto count = static_cast<int64_t>(span.tokens.size());
    conv_.Run(pass, span, tail_, inputs + first * channels,
              work.Floats(kConvScratch, conv_.ScratchFloats(count)), spread + first * channels);
  });
  ForTokens(*pass.pool, tokens, [&](int64_t t) {
    AddTo(gated + t * channels, spread + t * channels, channels);
    AddTo(pass.residual + t * channels, gated + t * channels, channels);
  });
}

}  // namespace

NgramsOr MakeNgrams(const LayerBuild& build) {
  const std::optional<NgramSpec>& spec = build.spec().ngram;
  if (!spec) return nullptr;
  auto ngrams = std::make_unique<NgramEmbeddings>(build, *spec);
  CAIRN_TRY(ngrams->Load(build.loader));
  return ngrams;
}

}  // namespace cairn
