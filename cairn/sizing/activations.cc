#include "cairn/sizing/activations.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>
#include <utility>
#include <variant>

namespace cairn {
namespace {

std::string_view NameOf(Fate fate) {
  constexpr std::array<std::string_view, 4> kNames = {"kept in the state", "passed on",
                                                      "added to the residual", "dropped"};
  return kNames[static_cast<size_t>(fate)];
}

Result<Bytes> Product(std::initializer_list<int64_t> factors) {
  int64_t product = 1;
  for (const int64_t factor : factors) {
    if (__builtin_mul_overflow(product, factor, &product)) {
      return Fail(ErrorCode::kInvalidArgument,
                  "activations of this many tokens take more bytes than can be counted");
    }
  }
  return Bytes(product);
}

Status CheckQuestion(const ActivationQuestion& question) {
  const auto in_range = [](int64_t value, int64_t most) { return value >= 1 && value <= most; };
  if (!in_range(question.chunk_tokens, kMaxChunk)) {
    return Fail(ErrorCode::kInvalidArgument, "a chunk of {} tokens, expected 1 to {}",
                question.chunk_tokens, kMaxChunk);
  }
  if (!in_range(question.sequences, kMaxBatch)) {
    return Fail(ErrorCode::kInvalidArgument, "{} sequences, expected 1 to {}", question.sequences,
                kMaxBatch);
  }
  if (question.context < 0 || question.context > kMaxStateTokens.value()) {
    return Fail(ErrorCode::kInvalidArgument, "context {}, expected 0 to {} tokens",
                question.context, kMaxStateTokens.value());
  }
  if (!in_range(question.element_bytes, 8) || !in_range(question.logit_bytes, 8)) {
    return Fail(ErrorCode::kInvalidArgument,
                "elements of {} and logits of {} bytes, expected 1 to 8", question.element_bytes,
                question.logit_bytes);
  }
  return {};
}

struct StepBytes {
  Bytes layers;  // live at most in a layer
  Bytes logits;
  Bytes end;  // after the last layer, when its stages are gone but for the residual stream
};

Result<StepBytes> BytesOfStep(const ActivationAnswer& widths, const ActivationQuestion& step) {
  StepBytes bytes;
  CAIRN_ASSIGN(bytes.layers, Product({widths.live_width, step.chunk_tokens, step.element_bytes}));
  const int64_t sequences = std::min(step.sequences, step.chunk_tokens);
  CAIRN_ASSIGN(bytes.logits, Product({widths.words, sequences, step.logit_bytes}));
  CAIRN_ASSIGN(const Bytes stream,
               Product({widths.stream_width, step.chunk_tokens, step.element_bytes}));
  bytes.end = stream + bytes.logits;
  return bytes;
}

// Query heads of a layer with softmax attention; 0 of others.
struct HeadsOfMixer {
  int64_t operator()(const AttentionSpec& attention) const { return attention.heads; }
  int64_t operator()(const SharedAttentionSpec& shared) const { return shared.attention.heads; }
  int64_t operator()(const CrossAttentionSpec& cross) const { return cross.attention.heads; }
  int64_t operator()(const LatentAttentionSpec& latent) const { return latent.heads; }
  int64_t operator()(const CompressedAttentionSpec& compressed) const { return compressed.heads; }
  int64_t operator()(const AttentionBesideMambaSpec& both) const { return both.attention.heads; }
  int64_t operator()(const auto& /*no_scores*/) const { return 0; }
};

// The first layer of the kind with scores, else the first of all: what people draw.
const LayerSpec* TypicalLayer(const ModelSpec& model) {
  for (const LayerSpec& layer : model.layers) {
    if (std::visit(HeadsOfMixer(), layer.mixer) > 0) return &layer;
  }
  return model.layers.empty() ? nullptr : &model.layers.front();
}

Table LifecycleTable(const std::vector<LayerActivation>& list, const ActivationQuestion& question,
                     int64_t keys) {
  Table table{.key = "lifecycle", .label = "Activations of a layer with attention", .columns = {}};
  table.columns = {{"name", "activation"},
                   {"width", "elements of a token"},
                   {"chunk_bytes", "of the chunk", Unit::kBytes},
                   {"fate", "fate"},
                   {"tiled", "written with tiles"}};
  for (const LayerActivation& activation : list) {
    Cell width = activation.width;
    Result<Bytes> bytes = Bytes(0);
    const int64_t heads = activation.score_heads;
    if (heads > 0) {
      width = fmt::format("{} x {} keys", heads, keys);
      bytes = Product({heads, question.chunk_tokens, keys, question.element_bytes});
    } else {
      bytes = Product({activation.width, question.chunk_tokens, question.element_bytes});
    }
    table.rows.push_back({activation.name, width, bytes ? CellOf(*bytes) : Cell(),
                          std::string(NameOf(activation.fate)),
                          std::string(heads > 0 ? "never" : "yes")});
  }
  return table;
}

Result<Table> StagesTable(const LayerSpec& layer, int64_t hidden,
                          const ActivationQuestion& question) {
  Table table{.key = "stages", .label = "Live at each stage of the fullest layer", .columns = {}};
  table.columns = {{"stage", "stage"},
                   {"live_width", "live elements of a token"},
                   {"live_bytes", "of the chunk", Unit::kBytes},
                   {"live", "what is live"}};
  for (const ActivationStage& stage : StagesOf(layer, hidden, question.parallel)) {
    CAIRN_ASSIGN(const Bytes bytes,
                 Product({stage.live_width, question.chunk_tokens, question.element_bytes}));
    table.rows.push_back({stage.name, stage.live_width, CellOf(bytes), stage.formula});
  }
  return table;
}

void AddFates(const std::vector<LayerActivation>& list, Section& section) {
  const auto count = [&](Fate fate) {
    return static_cast<int64_t>(std::ranges::count(list, fate, &LayerActivation::fate));
  };
  const auto total = static_cast<int64_t>(list.size());
  section.fields.push_back(
      {"activations", "activations of a layer", total, Unit::kNone,
       fmt::format("{} kept + {} passed on + {} to the residual + {} dropped", count(Fate::kKept),
                   count(Fate::kPassedOn), count(Fate::kResidual), count(Fate::kDropped))});
  section.fields.push_back({"kept", "kept in the state", count(Fate::kKept)});
  section.fields.push_back({"passed_on", "passed on", count(Fate::kPassedOn)});
  section.fields.push_back({"residual", "added to the residual", count(Fate::kResidual)});
  section.fields.push_back({"dropped", "dropped", count(Fate::kDropped)});
}

Status AddScores(int64_t heads, int64_t tokens, int64_t element_bytes, Section& section) {
  if (heads == 0) return {};
  if (!ScoreMatrixBytes(4 * heads, tokens, element_bytes)) {
    section.notes.push_back(
        fmt::format("scores of {} tokens take more bytes than can be counted", tokens));
    return {};
  }
  CAIRN_ASSIGN(const Bytes head, ScoreMatrixBytes(1, tokens, element_bytes));
  CAIRN_ASSIGN(const Bytes all, ScoreMatrixBytes(heads, tokens, element_bytes));
  CAIRN_ASSIGN(const Bytes traffic, Product({2, all.value()}));
  CAIRN_ASSIGN(const Bytes both, Product({2, traffic.value()}));
  section.fields.push_back({"score_matrix_bytes_per_head", "scores of one head", CellOf(head),
                            Unit::kBytes, fmt::format("{}^2 x {} bytes", tokens, element_bytes)});
  section.fields.push_back(
      {"score_matrix_bytes", "scores of one layer", CellOf(all), Unit::kBytes,
       fmt::format("{} heads x {}^2 x {} bytes", heads, tokens, element_bytes)});
  section.fields.push_back(
      {"score_traffic_bytes", "to write and read them once", CellOf(traffic), Unit::kBytes,
       fmt::format("2 x {} heads x {}^2 x {} bytes", heads, tokens, element_bytes)});
  section.fields.push_back({"softmax_traffic_bytes", "to write and read the softmax",
                            CellOf(traffic), Unit::kBytes, "as the scores"});
  section.fields.push_back({"score_traffic_avoided_bytes", "that tiled attention never moves",
                            CellOf(both), Unit::kBytes, "scores + softmax, one layer"});
  return {};
}

}  // namespace

Result<Bytes> ScoreMatrixBytes(int64_t heads, int64_t tokens, int64_t element_bytes) {
  return Product({heads, tokens, tokens, element_bytes});
}

Result<ActivationAnswer> PeakActivations(const ModelSpec& model,
                                         const ActivationQuestion& question) {
  CAIRN_TRY(CheckQuestion(question));
  CAIRN_ASSIGN(const auto ranks, RankModels(model, question.parallel));
  ActivationAnswer answer;
  for (const RankModel& rank : ranks) {
    for (size_t i = 0; i < rank.spec.layers.size(); ++i) {
      for (ActivationStage& stage :
           StagesOf(rank.spec.layers[i], model.hidden, question.parallel)) {
        if (stage.live_width <= answer.live_width) continue;
        answer.live_width = stage.live_width;
        answer.stage = std::move(stage.name);
        answer.formula = std::move(stage.formula);
        answer.layer = rank.first_layer.value() + static_cast<int>(i);
      }
    }
  }
  answer.stream_width = model.hidden;
  answer.words = (model.vocabulary + question.parallel.tp - 1) / question.parallel.tp;
  CAIRN_ASSIGN(const StepBytes step, BytesOfStep(answer, question));
  answer.logits = step.logits;
  answer.peak = std::max(step.layers, step.end);
  if (step.end > step.layers) {
    answer.stage = "logits";
    answer.formula = fmt::format("residual {} of each token + {} logits of {} sequences",
                                 model.hidden, answer.words, question.sequences);
  }
  return answer;
}

Result<Bytes> PeakOfStep(const ActivationAnswer& widths, const ActivationQuestion& step) {
  CAIRN_TRY(CheckQuestion(step));
  CAIRN_ASSIGN(const StepBytes bytes, BytesOfStep(widths, step));
  return std::max(bytes.layers, bytes.end);
}

Result<Section> ActivationsSection(const ModelSpec& model, const ActivationQuestion& question) {
  CAIRN_ASSIGN(const ActivationAnswer answer, PeakActivations(model, question));
  Section section{.key = "activations", .title = "Activations"};
  section.fields.push_back(
      {"chunk_tokens", "tokens of a step", question.chunk_tokens, Unit::kTokens});
  section.fields.push_back(
      {"peak_bytes", "live at most, on a card", CellOf(answer.peak), Unit::kBytes,
       fmt::format("{} of layer {}: ({}) x {} tokens x {} bytes", answer.stage, answer.layer,
                   answer.formula, question.chunk_tokens, question.element_bytes)});
  section.fields.push_back(
      {"logits_bytes", "logits, on a card", CellOf(answer.logits), Unit::kBytes,
       fmt::format("{} / {} words x {} sequences x {} bytes", model.vocabulary,
                   question.parallel.tp, question.sequences, question.logit_bytes)});
  if (model.hidden == 0) {
    section.warnings.emplace_back(
        "no width of the residual stream is given (hidden): only what attention makes is counted");
  }
  const LayerSpec* typical = TypicalLayer(model);
  if (typical == nullptr) return section;
  const int64_t keys = question.context > 0 ? question.context : question.chunk_tokens;
  const int64_t heads = std::visit(HeadsOfMixer(), typical->mixer);
  const auto list = ActivationsOf(*typical, model.hidden, {});
  AddFates(list, section);
  CAIRN_TRY(AddScores(heads, keys, question.element_bytes, section));
  section.tables.push_back(LifecycleTable(list, question, keys));
  CAIRN_ASSIGN(const auto ranks, RankModels(model, question.parallel));
  for (const RankModel& rank : ranks) {
    const int at = answer.layer - rank.first_layer.value();
    if (at < 0 || std::cmp_greater_equal(at, rank.spec.layers.size())) continue;
    CAIRN_ASSIGN(Table stages,
                 StagesTable(rank.spec.layers[static_cast<size_t>(at)], model.hidden, question));
    section.tables.push_back(std::move(stages));
  }
  section.notes.insert(
      section.notes.end(),
      {"an estimate: inputs and outputs of each product are live together, nothing else is; "
       "engines "
       "that fuse more hold less, workspaces of kernels come on top",
       "tiled attention (FlashAttention) keeps scores in on-chip memory: they are never written",
       "the lifecycle is of the whole model on one card, the stages are of one card's share"});
  return section;
}

}  // namespace cairn
