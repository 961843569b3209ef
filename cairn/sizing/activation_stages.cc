// What a layer of each kind computes on its way: the lists behind activations.h.
#include <fmt/format.h>

#include <algorithm>
#include <variant>

#include "cairn/sizing/activations.h"

namespace cairn {
namespace {

int64_t CeilDiv(int64_t value, int64_t by) { return (value + by - 1) / by; }

// Widths of what a mixer makes of one token, on one card.
struct MixerWidths {
  int64_t projected = 0;  // all that the first products make: q, k, v, gates
  int64_t output = 0;     // before the output projection
  std::vector<LayerActivation> list;
};

LayerActivation Dropped(std::string name, int64_t width) {
  return {.name = std::move(name), .width = width};
}
LayerActivation Kept(std::string name, int64_t width) {
  return {.name = std::move(name), .width = width, .fate = Fate::kKept};
}
LayerActivation Scores(std::string name, int64_t heads) {
  return {.name = std::move(name), .score_heads = heads};
}

struct WidthsOf {
  MixerWidths operator()(const AttentionSpec& attention) const {
    const int64_t query = attention.heads * attention.key_width;
    const int64_t key = attention.kv_heads * attention.key_width;
    const int64_t value = attention.kv_heads * attention.value_width;
    MixerWidths widths;
    widths.output = attention.heads * attention.value_width;
    widths.projected = query + key + value;
    widths.list = {Dropped("queries", query), Kept("keys", key), Kept("values", value)};
    if (attention.index) {
      const int64_t width = attention.index->width;
      widths.projected += (attention.index->query_heads + 1) * width;
      widths.list.push_back(Dropped("index queries", attention.index->query_heads * width));
      widths.list.push_back(Kept("index keys", width));
      widths.list.push_back(Scores("index scores", attention.index->query_heads));
    }
    AddAttention(attention.heads, widths);
    return widths;
  }
  MixerWidths operator()(const SharedAttentionSpec& shared) const {
    const AttentionSpec& attention = shared.attention;
    MixerWidths widths;
    widths.projected = attention.heads * attention.key_width;
    widths.output = attention.heads * attention.value_width;
    widths.list = {Dropped("queries", widths.projected)};
    AddAttention(attention.heads, widths);
    return widths;
  }
  MixerWidths operator()(const CrossAttentionSpec& cross) const {
    return (*this)(SharedAttentionSpec{.attention = cross.attention, .source = {}});
  }

  // Prefill expands keys and values of every head from the latent row.
  MixerWidths operator()(const LatentAttentionSpec& latent) const {
    const int64_t query = latent.heads * (latent.key_width + latent.rope_width);
    const int64_t row = latent.latent_width + latent.rope_width;
    const int64_t keys = latent.heads * (latent.key_width + latent.rope_width);
    const int64_t values = latent.heads * latent.value_width;
    MixerWidths widths;
    widths.output = values;
    widths.projected = latent.query_rank + query + row + keys + values;
    if (latent.query_rank > 0) widths.list.push_back(Dropped("query latent", latent.query_rank));
    widths.list.push_back(Dropped("queries", query));
    widths.list.push_back(Kept("latent row", row));
    widths.list.push_back(Dropped("expanded keys", keys));
    widths.list.push_back(Dropped("expanded values", values));
    if (latent.index) {
      widths.projected += (latent.index->query_heads + 1) * latent.index->width;
      widths.list.push_back(
          Dropped("index queries", latent.index->query_heads * latent.index->width));
      widths.list.push_back(Kept("index keys", latent.index->width));
      widths.list.push_back(Scores("index scores", latent.index->query_heads));
    }
    AddAttention(latent.heads, widths);
    return widths;
  }
  MixerWidths operator()(const CompressedAttentionSpec& compressed) const {
    const int64_t heads = compressed.heads * compressed.width;
    MixerWidths widths;
    widths.output = heads;
    widths.projected = heads + compressed.width;
    widths.list = {Dropped("queries", heads), Kept("key-value row", compressed.width)};
    AddAttention(compressed.heads, widths);
    return widths;
  }
  MixerWidths operator()(const DeltaRuleSpec& delta) const {
    const int64_t keys = delta.key_heads * delta.key_width;
    const int64_t values = delta.value_heads * delta.value_width;
    MixerWidths widths = Recurrent(2 * keys + 2 * values + 2 * delta.value_heads, values);
    widths.list = {Dropped("queries", keys),
                   Dropped("keys", keys),
                   Dropped("values", values),
                   Dropped("gate", values),
                   Dropped("decay and rate", 2 * delta.value_heads),
                   Kept("recurrent state", 0),
                   Dropped("mixer output", values)};
    return widths;
  }
  MixerWidths operator()(const LinearAttentionSpec& linear) const {
    const int64_t keys = linear.heads * linear.key_width;
    const int64_t values = linear.heads * linear.value_width;
    MixerWidths widths = Recurrent(2 * keys + 2 * values, values);
    widths.list = {Dropped("queries", keys),   Dropped("keys", keys),
                   Dropped("values", values),  Dropped("gate", values),
                   Kept("recurrent state", 0), Dropped("mixer output", values)};
    return widths;
  }
  MixerWidths operator()(const MambaSpec& mamba) const {
    const int64_t steps = mamba.version == 1 ? mamba.inner : mamba.heads;
    MixerWidths widths = Recurrent(mamba.inner + mamba.ConvChannels() + steps, mamba.inner);
    widths.list = {Dropped("gate", mamba.inner), Dropped("convolved", mamba.ConvChannels()),
                   Dropped("step widths", steps), Kept("recurrent state", 0),
                   Dropped("mixer output", mamba.inner)};
    return widths;
  }
  MixerWidths operator()(const AttentionBesideMambaSpec& both) const {
    MixerWidths widths = (*this)(both.attention);
    const MixerWidths mamba = (*this)(both.mamba);
    widths.projected += mamba.projected;
    widths.output += mamba.output;
    widths.list.insert(widths.list.end(), mamba.list.begin(), mamba.list.end());
    return widths;
  }
  MixerWidths operator()(const RwkvSpec& rwkv) const {
    const int64_t channels = rwkv.heads * rwkv.width;
    MixerWidths widths = Recurrent(4 * channels, channels);
    widths.list = {Dropped("receptance, keys, values, decay", 4 * channels),
                   Kept("recurrent state", 0), Dropped("mixer output", channels)};
    return widths;
  }
  MixerWidths operator()(const ShortConvSpec& conv) const {
    MixerWidths widths = Recurrent(3 * conv.channels, conv.channels);
    widths.list = {Dropped("gates and input", 3 * conv.channels), Kept("convolution tail", 0),
                   Dropped("mixer output", conv.channels)};
    return widths;
  }
  MixerWidths operator()(const RecurrentGateSpec& gate) const {
    MixerWidths widths = Recurrent(2 * gate.width, gate.width);
    widths.list = {Dropped("gate and input", 2 * gate.width), Kept("recurrent state", 0),
                   Dropped("mixer output", gate.width)};
    return widths;
  }
  MixerWidths operator()(const NoMixer& /*none*/) const { return {}; }

 private:
  static MixerWidths Recurrent(int64_t projected, int64_t output) {
    MixerWidths widths;
    widths.projected = projected;
    widths.output = output;
    return widths;
  }
  static void AddAttention(int64_t heads, MixerWidths& widths) {
    widths.list.push_back(Scores("scores", heads));
    widths.list.push_back(Scores("softmax weights", heads));
    widths.list.push_back(Dropped("attention output of each head", widths.output));
    widths.list.push_back(Dropped("concatenated heads", widths.output));
  }
};

// Widths of a feed-forward network on one card, per token of the chunk.
struct NetworkWidths {
  int64_t gate_and_up = 0;
  int64_t product = 0;
  int64_t copies = 0;  // of the input and output for experts: rows gathered for each pick
  std::vector<LayerActivation> list;
};

struct NetworkOf {
  int64_t hidden;
  int tp;
  int ep;

  NetworkWidths operator()(const GatedMlpSpec& mlp) const {
    const int64_t width = CeilDiv(mlp.intermediate, tp);
    return {.gate_and_up = 2 * width,
            .product = width,
            .list = {Dropped("gate", width), Dropped("up", width), Dropped("gated product", width),
                     Dropped("down projection", hidden)}};
  }
  NetworkWidths operator()(const MlpSpec& mlp) const {
    const int64_t width = CeilDiv(mlp.intermediate, tp);
    return {.gate_and_up = width,
            .product = width,
            .list = {Dropped("up", width), Dropped("activated", width),
                     Dropped("down projection", hidden)}};
  }
  // Picks of a chunk spread evenly over the expert parallel cards, each of which gathers its own.
  NetworkWidths operator()(const MixtureSpec& mixture) const {
    const int64_t picks = std::max<int64_t>(mixture.experts_per_token, 1);
    const int64_t inside = mixture.latent == 0 ? hidden : mixture.latent;
    const int64_t expert = CeilDiv(picks * mixture.intermediate, tp);
    const int64_t shared = CeilDiv(mixture.shared_intermediate, tp);
    const int64_t matrices = mixture.gated ? 2 : 1;
    NetworkWidths widths;
    widths.gate_and_up = matrices * (expert + shared) + mixture.experts;
    widths.product = expert + shared;
    widths.copies = CeilDiv(picks * inside, std::min(ep, tp));
    widths.list = {Dropped("router scores", mixture.experts),
                   Dropped("inputs of the picked experts", widths.copies)};
    if (mixture.gated) widths.list.push_back(Dropped("gate", expert + shared));
    widths.list.push_back(Dropped("up", expert + shared));
    widths.list.push_back(Dropped("activated product", expert + shared));
    widths.list.push_back(Dropped("outputs of the picked experts", widths.copies));
    widths.list.push_back(Dropped("down projection", hidden));
    return widths;
  }
  // Counted with the mixer, whose parameters hold it.
  NetworkWidths operator()(const ChannelMixSpec& /*mix*/) const { return {}; }
  NetworkWidths operator()(const NoFeedForward& /*none*/) const { return {}; }
};

void AddStage(std::string name, int64_t width, std::string formula,
              std::vector<ActivationStage>& stages) {
  stages.push_back({std::move(name), width, std::move(formula)});
}

}  // namespace

std::vector<LayerActivation> ActivationsOf(const LayerSpec& layer, int64_t hidden,
                                           const Parallelism& parallel) {
  std::vector<LayerActivation> list = {
      {.name = "layer input", .width = hidden, .fate = Fate::kResidual}};
  const MixerWidths mixer = std::visit(WidthsOf(), layer.mixer);
  list.insert(list.end(), mixer.list.begin(), mixer.list.end());
  const NetworkWidths network =
      std::visit(NetworkOf{hidden, parallel.tp, parallel.ep}, layer.feed_forward);
  if (!mixer.list.empty()) {
    list.push_back(Dropped("output projection", hidden));
    if (!network.list.empty()) {
      list.push_back({.name = "after the mixer", .width = hidden, .fate = Fate::kResidual});
    }
  }
  list.insert(list.end(), network.list.begin(), network.list.end());
  list.push_back({.name = "layer output", .width = hidden, .fate = Fate::kPassedOn});
  return list;
}

std::vector<ActivationStage> StagesOf(const LayerSpec& layer, int64_t hidden,
                                      const Parallelism& parallel) {
  const int64_t h = hidden;
  std::vector<ActivationStage> stages;
  AddStage("norm", 2 * h, fmt::format("residual {} + normed {}", h, h), stages);
  const MixerWidths mixer = std::visit(WidthsOf(), layer.mixer);
  if (mixer.projected > 0) {
    AddStage("projections", 2 * h + mixer.projected,
             fmt::format("residual {} + normed {} + projected {}", h, h, mixer.projected), stages);
    AddStage(
        "mixer", h + mixer.projected + mixer.output,
        fmt::format("residual {} + projected {} + output {}", h, mixer.projected, mixer.output),
        stages);
    AddStage("output projection", 2 * h + mixer.output,
             fmt::format("residual {} + output {} + projected {}", h, mixer.output, h), stages);
  }
  const NetworkWidths network =
      std::visit(NetworkOf{hidden, parallel.tp, parallel.ep}, layer.feed_forward);
  if (network.product == 0) return stages;
  AddStage("gate and up", 2 * h + network.copies + network.gate_and_up,
           fmt::format("residual {} + normed {} + gathered {} + gate and up {}", h, h,
                       network.copies, network.gate_and_up),
           stages);
  AddStage("activation", h + network.gate_and_up + network.product,
           fmt::format("residual {} + gate and up {} + product {}", h, network.gate_and_up,
                       network.product),
           stages);
  AddStage("down", 2 * h + network.product + network.copies,
           fmt::format("residual {} + product {} + outputs of experts {} + down {}", h,
                       network.product, network.copies, h),
           stages);
  return stages;
}

}  // namespace cairn
