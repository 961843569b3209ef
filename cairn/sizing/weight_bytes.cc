#include "cairn/sizing/weight_bytes.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>
#include <variant>

#include "cairn/base/check.h"
#include "cairn/sizing/parameters.h"

namespace cairn {
namespace {

Bytes& At(PartBytes& parts, WeightPart part) { return parts[static_cast<size_t>(part)]; }

Bytes SumOf(const PartBytes& parts) {
  Bytes sum;
  for (const Bytes bytes : parts) sum += bytes;
  return sum;
}

// Layer i of the tree is layer first + i of the model.
PartBytes BytesOf(const WeightTree& tree, const WeightStorage& storage, size_t first) {
  PartBytes bytes = {};
  for (size_t p = 0; p < kWeightParts; ++p) {
    const auto part = static_cast<WeightPart>(p);
    bytes[p] = StoredBytes(storage.OutsideFormat(part), ElementCount(tree.outside[part]));
    for (size_t i = 0; i < tree.layers.size(); ++i) {
      bytes[p] +=
          StoredBytes(storage.FormatOf(first + i, part), ElementCount(tree.layers[i][part]));
    }
  }
  return bytes;
}

std::vector<CardWeights::Experts> ExpertsOf(const ModelSpec& model, const RankWeights& rank,
                                            const WeightStorage& storage) {
  std::vector<CardWeights::Experts> experts;
  for (size_t i = 0; i < rank.tree.layers.size(); ++i) {
    const size_t layer = static_cast<size_t>(rank.rank.first_layer.value()) + i;
    const auto* mixture = std::get_if<MixtureSpec>(&model.layers[layer].feed_forward);
    if (mixture == nullptr || mixture->experts == 0) continue;
    const ElementCount elements(rank.tree.layers[i][WeightPart::kExperts]);
    experts.push_back(
        {.experts = mixture->experts,
         .per_token = mixture->experts_per_token,
         .bytes = StoredBytes(storage.FormatOf(layer, WeightPart::kExperts), elements)});
  }
  return experts;
}

CardWeights CardOf(const ModelSpec& model, const RankWeights& rank, const WeightStorage& storage) {
  CardWeights card;
  card.stage = rank.rank.stage;
  card.layers = static_cast<int>(rank.tree.layers.size());
  card.parts = BytesOf(rank.tree, storage, static_cast<size_t>(rank.rank.first_layer.value()));
  card.total = SumOf(card.parts);
  card.experts = ExpertsOf(model, rank, storage);
  // A tied table on the head's stage is read as the head.
  const bool read_as_head = model.tied_head && rank.tree.outside[WeightPart::kHead] == 0 &&
                            rank.tree.outside[WeightPart::kNorms] > 0;
  if (!read_as_head) card.unread = At(card.parts, WeightPart::kEmbedding);
  card.unread += StoredBytes(storage.OutsideFormat(WeightPart::kOther),
                             ElementCount(rank.tree.outside[WeightPart::kOther]));
  return card;
}

Bytes Scaled(Bytes bytes, double factor) {
  return Bytes(std::llround(static_cast<double>(bytes.value()) * factor));
}

void Scale(PartBytes& parts, double factor) {
  for (Bytes& bytes : parts) bytes = Scaled(bytes, factor);
}

// All parts grow or shrink alike, so that they add up to the file.
void ScaleToFile(Bytes file, ModelWeights& weights) {
  const double factor =
      static_cast<double>(file.value()) / static_cast<double>(weights.total.value());
  Scale(weights.parts, factor);
  weights.total = file;
  for (CardWeights& card : weights.cards) {
    Scale(card.parts, factor);
    card.total = SumOf(card.parts);
    card.unread = Scaled(card.unread, factor);
    for (CardWeights::Experts& experts : card.experts)
      experts.bytes = Scaled(experts.bytes, factor);
  }
  weights.from_file = true;
}

// A file's total is all that is known: an even share for each card.
Result<ModelWeights> EvenShares(const ModelSpec& model, const Parallelism& parallel,
                                ModelWeights weights, Bytes file) {
  CAIRN_ASSIGN(const auto ranks, RankModels(model, parallel));
  weights.from_file = true;
  weights.total = file;
  At(weights.parts, WeightPart::kOther) = file;
  const int64_t cards = int64_t{parallel.tp} * parallel.pp;
  for (const RankModel& rank : ranks) {
    CardWeights& card = weights.cards.emplace_back();
    card.stage = rank.stage;
    card.layers = rank.end_layer.value() - rank.first_layer.value();
    card.total = Bytes((file.value() + cards - 1) / cards);
    At(card.parts, WeightPart::kOther) = card.total;
  }
  return weights;
}

// What StoredBytes multiplies stays in 63 bits below this many weights of 4 bytes.
constexpr int64_t kMaxWeights = int64_t{1} << 58;

Cell CellOr(const std::optional<int64_t>& value) {
  return value ? Cell(*value) : Cell(std::monostate());
}

Table PartsTable(const ModelWeights& weights) {
  Table table{.key = "parts", .label = "Weights by part", .columns = {}};
  table.columns = {{"part", "part"},
                   {"parameters", "weights", Unit::kElements},
                   {"bytes", "bytes", Unit::kBytes},
                   {"bytes_per_card", "on the fullest card", Unit::kBytes},
                   {"share", "share", Unit::kPercent}};
  const CardWeights& heaviest = weights.Heaviest();
  const WeightParts sum = weights.tree ? weights.tree->Sum() : WeightParts();
  for (size_t p = 0; p < kWeightParts; ++p) {
    const auto part = static_cast<WeightPart>(p);
    if (weights.parts[p] == Bytes(0) && heaviest.parts[p] == Bytes(0)) continue;
    const double share = 100.0 * static_cast<double>(weights.parts[p].value()) /
                         static_cast<double>(std::max<int64_t>(weights.total.value(), 1));
    table.rows.push_back({std::string(NameOf(part)),
                          weights.tree ? Cell(sum[part]) : Cell(std::monostate()),
                          CellOf(weights.parts[p]), CellOf(heaviest.parts[p]), share});
  }
  return table;
}

Table StagesTable(const ModelWeights& weights) {
  Table table{.key = "stages", .label = "Weights of a card of each stage", .columns = {}};
  table.columns = {{"stage", "stage"}, {"layers", "layers"}, {"bytes", "bytes", Unit::kBytes}};
  for (const CardWeights& card : weights.cards) {
    table.rows.push_back({int64_t{card.stage}, int64_t{card.layers}, CellOf(card.total)});
  }
  return table;
}

// The most of a layer's experts that a step of `batch` tokens is expected to read.
void AddExperts(const ModelSpec& model, int64_t batch, Section& section) {
  for (const LayerSpec& layer : model.layers) {
    const auto* mixture = std::get_if<MixtureSpec>(&layer.feed_forward);
    if (mixture == nullptr || mixture->experts == 0) continue;
    const int64_t k = mixture->experts_per_token;
    section.fields.push_back({"experts", "experts of a layer", mixture->experts});
    if (k == 0) {
      section.warnings.emplace_back(
          "the file doesn't say how many experts a token picks: active weights aren't known, and "
          "every expert counts as read");
      return;
    }
    section.fields.push_back({"experts_per_token", "experts that a token picks", k});
    section.fields.push_back({"experts_touched", fmt::format("experts touched by {} tokens", batch),
                              ExpertsTouched(mixture->experts, k, static_cast<double>(batch)),
                              Unit::kNone,
                              fmt::format("{} x (1 - (1 - {} / {})^{}), if each is as likely",
                                          mixture->experts, k, mixture->experts, batch)});
    return;
  }
}

}  // namespace

Bytes CardWeights::ReadBy(double tokens) const {
  double bytes = static_cast<double>((total - unread).value());
  for (const Experts& layer : experts) {
    if (layer.per_token == 0) continue;
    const double touched = ExpertsTouched(layer.experts, layer.per_token, tokens);
    const double idle = 1.0 - touched / static_cast<double>(layer.experts);
    bytes -= static_cast<double>(layer.bytes.value()) * idle;
  }
  return Bytes(std::llround(std::max(bytes, 0.0)));
}

const CardWeights& ModelWeights::Heaviest() const {
  CAIRN_CHECK(!cards.empty());
  return *std::ranges::max_element(cards, {}, &CardWeights::total);
}

Result<ModelWeights> WeighModel(const ModelSpec& model, const Parallelism& parallel,
                                const WeightStorage& storage,
                                const std::optional<WeightTotals>& file) {
  ModelWeights weights;
  weights.storage = storage.name;
  weights.rule = storage.rule;
  if (file) weights.parameters = file->parameters.value();
  weights.tree = WeightsOf(model);
  if (!weights.tree) {
    if (file && file->bytes) return EvenShares(model, parallel, std::move(weights), *file->bytes);
    return Fail(ErrorCode::kUnsupported, "the weights of this {} can't be counted: {}",
                model.family, model.uncounted);
  }
  const int64_t counted = weights.tree->Sum().Total();
  if (counted < 0 || counted > kMaxWeights) {
    return Fail(ErrorCode::kInvalidArgument, "the weights are more than can be counted");
  }
  if (!file) weights.parameters = counted;
  weights.active = ActiveParameters(model, *weights.tree);
  weights.multiplied = MultipliedParameters(model, *weights.tree);
  weights.parts = BytesOf(*weights.tree, storage, 0);
  weights.total = SumOf(weights.parts);
  CAIRN_ASSIGN(const auto ranks, WeightsOfRanks(model, parallel));
  for (const RankWeights& rank : ranks) weights.cards.push_back(CardOf(model, rank, storage));
  if (file && file->bytes && weights.total > Bytes(0)) ScaleToFile(*file->bytes, weights);
  return weights;
}

Section WeightsSection(const ModelSpec& model, const Parallelism& parallel,
                       const ModelWeights& weights, int64_t batch) {
  Section section{.key = "weights", .title = "Weights"};
  section.fields.push_back({"weights_dtype", "form", weights.storage});
  section.fields.push_back(
      {"parameters", "weights", CellOr(weights.parameters), Unit::kElements,
       weights.tree ? "the shapes of all matrices and vectors, added up" : "of the file"});
  if (weights.active && weights.active != weights.parameters) {
    section.fields.push_back({"active_parameters", "of them active for a token", *weights.active,
                              Unit::kElements, "all but the experts that a token doesn't pick"});
  }
  const double bits = weights.parameters.value_or(0) == 0
                          ? 0
                          : 8.0 * static_cast<double>(weights.total.value()) /
                                static_cast<double>(*weights.parameters);
  section.fields.push_back({"weights_bytes", "bytes", CellOf(weights.total), Unit::kBytes,
                            weights.from_file ? std::string("of the file")
                                              : fmt::format("{} weights x {:.4g} bits / 8",
                                                            weights.parameters.value_or(0), bits)});
  if (bits > 0) section.fields.push_back({"bits_per_weight", "bits per weight", bits});
  const CardWeights& heaviest = weights.Heaviest();
  if (!parallel.IsOne()) {
    section.fields.push_back(
        {"weights_bytes_per_card", "on the fullest card", CellOf(heaviest.total), Unit::kBytes,
         fmt::format("stage {}: {} layers over {} tensor and {} expert parallel cards",
                     heaviest.stage, heaviest.layers, parallel.tp, parallel.ep)});
  }
  AddExperts(model, batch, section);
  section.tables.push_back(PartsTable(weights));
  if (weights.cards.size() > 1) section.tables.push_back(StagesTable(weights));
  section.notes.push_back(weights.rule);
  if (!parallel.IsOne()) {
    section.notes.emplace_back(
        "cards of a stage divide matrices by heads and channels and the vocabulary; norms, "
        "routers, "
        "latent down-projections and index projections are whole on each");
  }
  if (!weights.tree) {
    section.warnings.push_back("the shapes don't tell the parts (" + model.uncounted +
                               "): each card is given an even share of the file");
  }
  return section;
}

}  // namespace cairn
