#include "cairn/models/decoder.h"

#include <numeric>
#include <utility>

#include "cairn/kernels/dequantize.h"
#include "cairn/kernels/ops.h"
#include "cairn/models/parts.h"
#include "cairn/models/policy_watcher.h"
#include "cairn/models/token_loop.h"

namespace cairn {
namespace {

// Rows that are read before the table's pages are given back; reading one again costs a fault.
constexpr int64_t kEmbeddingRowsMapped = 256;

}  // namespace

Result<std::unique_ptr<RowWatcher>> Model::WatchRows(const TokenPolicy& /*policy*/) const {
  return Fail(ErrorCode::kUnsupported, "a token policy can't judge the rows of this model");
}

Result<std::unique_ptr<RowWatcher>> Decoder::WatchRows(const TokenPolicy& policy) const {
  CAIRN_TRY(CheckWatchable(spec_, layout_));
  return std::make_unique<PolicyWatcher>(policy, layout_, context_, pool_);
}

Decoder::Decoder(ModelSpec spec, StateLayout layout, const ModelOptions& options, ThreadPool& pool)
    : spec_(std::move(spec)),
      layout_(std::move(layout)),
      standards_(options.standards),
      context_(options.context),
      pool_(pool),
      ropes_(options.context) {
  pass_.pool = &pool_;
  pass_.work = &work_;
  pass_.handovers = &handovers_;
}

Result<std::unique_ptr<Decoder>> Decoder::Load(std::unique_ptr<WeightFile> file, ModelSpec spec,
                                               StateLayout layout, const ModelOptions& options,
                                               ThreadPool& pool) {
  auto decoder = std::make_unique<Decoder>(std::move(spec), std::move(layout), options, pool);
  CAIRN_TRY(decoder->LoadWeights(std::move(file)));
  return decoder;
}

// Matrices are packed in the order in which they are read.
Status Decoder::LoadWeights(std::unique_ptr<WeightFile> file) {
  TensorLoader tensors(*file, spec_, arena_, pool_);
  const PartLoader global(tensors);
  CAIRN_ASSIGN(embedding_, global.Table("embed_tokens", spec_.vocabulary, spec_.hidden));
  CAIRN_ASSIGN(residual_, MakeResidual({global, tensors, spec_}));
  for (size_t i = 0; i < spec_.layers.size(); ++i) {
    const LayerIndex layer(static_cast<int32_t>(i));
    const LayerBuild build = {
        PartLoader(tensors, layer), spec_, layout_, layer, ropes_, standards_};
    LayerParts parts;
    CAIRN_ASSIGN(parts.mixer, MakeMixer(build));
    CAIRN_ASSIGN(parts.feed_forward, MakeFeedForward(build));
    CAIRN_ASSIGN(parts.ngrams, MakeNgrams(build));
    layers_.push_back(std::move(parts));
  }
  const char* const head = spec_.tied_head ? "embed_tokens" : "lm_head";
  CAIRN_ASSIGN(head_, global.Matrix(head, spec_.vocabulary, spec_.hidden));
  CAIRN_TRY(tensors.CheckAllRead());
  weight_bytes_ = Bytes(tensors.packed_bytes());
  file->DropPages();
  file_ = std::move(file);
  return {};
}

void Decoder::StartPass(std::span<const BatchSpan> batch) {
  positions_.clear();
  ids_.clear();
  wanted_.clear();
  for (const BatchSpan& span : batch) {
    const auto count = static_cast<int64_t>(span.tokens.size());
    const auto first = static_cast<int64_t>(positions_.size());
    CAIRN_CHECK(span.logits <= count);
    tokens_of_others_ = first;
    for (int64_t i = 0; i < count; ++i) positions_.push_back(span.state.tokens_before.value() + i);
    ids_.insert(ids_.end(), span.tokens.begin(), span.tokens.end());
    if (span.layers.end < std::ssize(layers_)) continue;
    for (int64_t i = count - span.logits; i < count; ++i) wanted_.push_back(first + i);
  }
  all_.resize(positions_.size());
  std::iota(all_.begin(), all_.end(), 0);
  batch_ = batch;
  stream_.Reserve(all_.size() * static_cast<size_t>(residual_->width()) * sizeof(float));
  pass_.residual = stream_.As<float>();
  ropes_.Fill(positions_, pool_);
  StartSlice();
}

void Decoder::StartSlice() {
  slice_ = batch_.empty() ? LayerRange{} : batch_.back().layers;
  slice_.end = std::min(slice_.end, std::ssize(layers_));
  CAIRN_CHECK(slice_.first >= 0 && slice_.first <= slice_.end);
  for (size_t i = 0; i + 1 < batch_.size(); ++i) {
    const LayerRange& layers = batch_[i].layers;
    CAIRN_CHECK(layers.first == 0 && layers.end >= std::ssize(layers_));
  }
  if (slice_.first == 0) return;
  CAIRN_CHECK(held_.layers() == slice_.first);
  CAIRN_CHECK(held_.tokens() == std::ssize(all_) - tokens_of_others_);
  held_.MakeRoom(pass_, tokens_of_others_);
}

void Decoder::GoOn(bool with_last) {
  const auto tokens = with_last ? all_.size() : static_cast<size_t>(tokens_of_others_);
  pass_.batch = with_last ? batch_ : batch_.first(batch_.size() - 1);
  pass_.tokens = static_cast<int64_t>(tokens);
  pass_.positions = std::span(positions_).first(tokens);
  pass_.ids = std::span(ids_).first(tokens);
  pass_.all = std::span(all_).first(tokens);
}

void Decoder::Embed() {
  const auto row_bytes =
      static_cast<size_t>(BytesOf(*embedding_->dtype, ElementCount(spec_.hidden)).value());
  ForTokens(pool_, pass_.tokens, [&](int64_t t) {
    const auto id = static_cast<size_t>(ids_[static_cast<size_t>(t)].value());
    float* to = pass_.residual + t * residual_->width();
    DequantizeRow(*embedding_->dtype, embedding_->bytes.subspan(id * row_bytes, row_bytes), to,
                  spec_.hidden);
    if (spec_.embedding_scale != 1) {
      Scale(to, static_cast<float>(spec_.embedding_scale), spec_.hidden);
    }
  });
  // The system maps a row with its neighbours, so that after a long prompt the whole table would
  // count as this process's memory.
  embedding_rows_mapped_ += pass_.tokens;
  if (embedding_rows_mapped_ < kEmbeddingRowsMapped) return;
  embedding_rows_mapped_ = 0;
  if (const MappedFile* file = file_->FileOf(embedding_->bytes)) file->DropPages(embedding_->bytes);
}

void Decoder::Forward(std::span<const BatchSpan> batch) {
  StartPass(batch);
  GoOn(slice_.first == 0);
  if (pass_.tokens > 0) {
    Embed();
    residual_->Begin(pass_);
  }
  for (size_t layer = 0; layer < layers_.size(); ++layer) {
    const auto at = static_cast<int64_t>(layer);
    GoOn(at >= slice_.first && at < slice_.end);
    if (pass_.tokens == 0) continue;
    if (at == slice_.first && at > 0) held_.Give(pass_, tokens_of_others_);
    // After the last layer only the wanted tokens go on; all of them leave their state.
    const bool last = layer + 1 == layers_.size();
    const std::span<const int64_t> rows = last ? wanted_ : pass_.all;
    residual_->RunLayer(pass_, layer, layers_[layer], rows);
    if (at + 1 == slice_.end && !last) {
      held_.Take(pass_, tokens_of_others_, residual_->width(), slice_.end);
    }
    if (!observer_) continue;
    const int64_t width = residual_->width();
    observer_(layer, {pass_.residual, rows.size() * static_cast<size_t>(width)}, width);
  }
}

void Decoder::HiddenStates(int64_t first, int64_t count, float* out) {
  CAIRN_CHECK(first >= 0 && count >= 0 && first + count <= logit_rows());
  residual_->Finish(pass_, first, count, out);
}

void Decoder::Logits(int64_t first, int64_t count, float* out) {
  const int64_t hidden = spec_.hidden;
  float* normed = work_.Floats(0, count * hidden);
  HiddenStates(first, count, normed);
  Activations& activations = work_.activations(0);
  activations.Set(normed, count, hidden, hidden);
  const MatMulTask task = head_.Into(out, kFinePrecision);
  MatMul(activations, {&task, 1}, pool_);
  if (spec_.logit_factor == 1 && spec_.logit_cap == 0) return;
  ForTokens(pool_, count, [&](int64_t t) {
    float* row = out + t * spec_.vocabulary;
    if (spec_.logit_factor != 1)
      Scale(row, static_cast<float>(spec_.logit_factor), spec_.vocabulary);
    if (spec_.logit_cap != 0) SoftCap(row, static_cast<float>(spec_.logit_cap), spec_.vocabulary);
  });
}

}  // namespace cairn
