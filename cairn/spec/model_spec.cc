#include "cairn/spec/model_spec.h"

#include <utility>

#include "cairn/base/check.h"

namespace cairn {
namespace {

// Channel by channel, what a query or key head's rows need.
Rows RowsNamed(std::string name, int64_t heads, int64_t width, DType codec) {
  Rows rows;
  rows.name = std::move(name);
  rows.heads = heads;
  rows.width = width;
  rows.codec = codec;
  return rows;
}

Fixed FixedNamed(std::string name, int64_t elements, DType dtype) {
  Fixed fixed;
  fixed.name = std::move(name);
  fixed.elements = ElementCount(elements);
  fixed.dtype = dtype;
  return fixed;
}

// Convolutions are computed in the model's own type, so their inputs are kept in a plain one.
DType TailType(const StateCodecs& codecs) {
  if (codecs.convolutions) return *codecs.convolutions;
  const DType keys = codecs.keys.codec;
  const bool plain = keys == DType::kF32 || keys == DType::kF16;
  return plain ? keys : DType::kBF16;
}

// A convolution of kernel k needs the k - 1 inputs before the next one.
void AddConvolution(int64_t channels, int64_t kernel, const StateCodecs& codecs,
                    LayerState& state) {
  if (kernel <= 1) return;
  state.components.emplace_back(FixedNamed("conv", channels * (kernel - 1), TailType(codecs)));
}

void AddIndex(const std::optional<SparseIndexSpec>& index, int64_t tokens_per_row,
              const StateCodecs& codecs, LayerState& state) {
  if (!index) return;
  Rows rows = RowsNamed("index_keys", 1, index->width + index->gate_width, codecs.keys.codec);
  rows.tokens_per_row = TokenCount(tokens_per_row);
  // Whole blocks are picked by scores of neighbours, which are a kernel's lanes as those of keys.
  if (index->block > 0) rows.order = RowOrder::kTransposedTiles;
  state.components.emplace_back(std::move(rows));
  if (index->position_axes == 0) return;
  state.components.emplace_back(RowsNamed("positions", index->position_axes, 1, DType::kI64));
}

// What a compressor of entries so wide keeps of the tokens that no entry holds yet: from each token
// a value and a gate for each channel. Where entries overlap, a second such pair goes into the next
// entry as well.
void AddOpenWindow(const CompressedAttentionSpec& compressed, std::string name, int64_t width,
                   const StateCodecs& codecs, LayerState& state) {
  Rows rows = RowsNamed(std::move(name), 2, width, TailType(codecs));
  rows.lifetime = Lifetime::Chunk(TokenCount(compressed.ratio));
  rows.open_window = true;
  state.components.emplace_back(rows);
  if (!compressed.overlaps) return;
  rows.name += "_before";
  rows.lifetime = Lifetime::ChunkAndTheOneBefore(TokenCount(compressed.ratio));
  state.components.emplace_back(std::move(rows));
}

void AddMamba(const MambaSpec& mamba, const StateCodecs& codecs, LayerState& state) {
  AddConvolution(mamba.ConvChannels(), mamba.conv_kernel, codecs, state);
  state.components.emplace_back(
      FixedNamed("ssm", mamba.inner * mamba.state, mamba.dtype.value_or(codecs.recurrent)));
}

void AddNgram(const NgramSpec& ngram, const StateCodecs& codecs, LayerState& state) {
  if (ngram.history > 0) {
    state.components.emplace_back(FixedNamed("token_ids", ngram.history, DType::kI64));
  }
  if (ngram.conv_history == 0) return;
  state.components.emplace_back(
      FixedNamed("ngram_conv", ngram.channels * ngram.conv_history, TailType(codecs)));
}

// A second component, in kExactCodec, of those rows that are read exactly.
void AddExactRows(const Rows& coarse, const char* suffix, Lifetime lifetime, LayerState& state) {
  Rows exact = coarse;
  exact.name += suffix;
  exact.codec = kExactCodec;
  exact.lifetime = lifetime;
  exact.exact_copy = true;
  state.components.emplace_back(std::move(exact));
}

void AddExactEnds(const Rows& coarse, LayerState& state) {
  // The first rows leave a window soon, and take what they weigh along.
  if (coarse.lifetime.kind == Lifetime::Kind::kAll) {
    AddExactRows(coarse, kFirstSuffix, Lifetime::First(TokenCount(kExactFirst)), state);
  }
  AddExactRows(coarse, kRecentSuffix,
               Lifetime::ChunkAndBefore(TokenCount(kExactStep), kExactBefore), state);
}

// What a layer of each kind keeps.
struct StateOf {
  const StateCodecs& codecs;
  const LayerForms& forms;

  // Keys lie transposed in tiles, so that the lanes of a kernel are positions; values lie row by
  // row, so that they are channels.
  LayerState operator()(const AttentionSpec& attention) const {
    Rows keys = RowsNamed("keys", attention.kv_heads, attention.key_width, forms.keys.codec);
    keys.lifetime = attention.lifetime;
    keys.order = RowOrder::kTransposedTiles;
    keys.position = attention.rope ? PositionApplied::kWhenStored : PositionApplied::kNone;
    keys.transform = forms.keys.transform;
    if (attention.index && keys.transform != RowTransform::kNone) {
      keys.transform = RowTransform::kRotated;
    }
    Rows values =
        RowsNamed("values", attention.kv_heads, attention.value_width, forms.values.codec);
    values.lifetime = attention.lifetime;
    if (forms.values.transform != RowTransform::kNone) values.transform = RowTransform::kRotated;
    LayerState state{{keys, values}};
    if (forms.keys.exact_ends && !attention.index) AddExactEnds(keys, state);
    if (forms.values.exact_ends && !attention.index) AddExactEnds(values, state);
    AddIndex(attention.index, 1, codecs, state);
    AddConvolution(attention.kv_heads * (attention.key_width + attention.value_width),
                   attention.conv_kernel, codecs, state);
    AddConvolution((attention.heads + attention.kv_heads) * attention.key_width,
                   attention.conv_history + 1, codecs, state);
    if (attention.delayed_values != 0) {
      state.components.emplace_back(
          FixedNamed("delayed_values", attention.delayed_values, TailType(codecs)));
    }
    return state;
  }

  LayerState operator()(const SharedAttentionSpec& shared) const {
    return LayerState{{Alias{shared.source}}};
  }

  LayerState operator()(const CrossAttentionSpec& /*cross*/) const { return {}; }

  LayerState operator()(const LatentAttentionSpec& latent) const {
    if (latent.source) {
      if (!latent.index) return LayerState{{Alias{*latent.source}}};
      LayerState index_alone;
      AddIndex(latent.index, 1, codecs, index_alone);
      return index_alone;
    }
    LayerState state{
        {RowsNamed("latent", 1, latent.latent_width + latent.rope_width, codecs.keys.codec)}};
    AddIndex(latent.index, 1, codecs, state);
    return state;
  }

  LayerState operator()(const CompressedAttentionSpec& compressed) const {
    Rows window = RowsNamed("keys", 1, compressed.width, codecs.keys.codec);
    window.lifetime = compressed.window;
    LayerState state{{std::move(window)}};
    if (compressed.ratio == 0) return state;
    Rows entries = RowsNamed("compressed", 1, compressed.width, codecs.keys.codec);
    entries.tokens_per_row = TokenCount(compressed.ratio);
    state.components.emplace_back(std::move(entries));
    AddIndex(compressed.index, compressed.ratio, codecs, state);
    AddOpenWindow(compressed, "open_window", compressed.width, codecs, state);
    if (compressed.index) {
      AddOpenWindow(compressed, "open_index_window", compressed.index->width, codecs, state);
    }
    return state;
  }

  LayerState operator()(const DeltaRuleSpec& delta) const {
    LayerState state;
    AddConvolution(2 * delta.key_heads * delta.key_width + delta.value_heads * delta.value_width,
                   delta.conv_kernel, codecs, state);
    state.components.emplace_back(
        FixedNamed("delta", delta.value_heads * delta.key_width * delta.value_width,
                   delta.dtype.value_or(codecs.recurrent)));
    return state;
  }

  LayerState operator()(const LinearAttentionSpec& linear) const {
    return LayerState{{FixedNamed("linear", linear.heads * linear.key_width * linear.value_width,
                                  codecs.recurrent)}};
  }

  LayerState operator()(const MambaSpec& mamba) const {
    LayerState state;
    AddMamba(mamba, codecs, state);
    return state;
  }

  LayerState operator()(const AttentionBesideMambaSpec& both) const {
    LayerState state = (*this)(both.attention);
    AddMamba(both.mamba, codecs, state);
    return state;
  }

  LayerState operator()(const RwkvSpec& rwkv) const {
    const int64_t channels = rwkv.heads * rwkv.width;
    const int64_t wkv = rwkv.version == 4 ? 3 * channels : channels * rwkv.width;
    return LayerState{{FixedNamed("shift", rwkv.token_shifts * channels, TailType(codecs)),
                       FixedNamed("wkv", wkv, DType::kF32)}};
  }

  LayerState operator()(const ShortConvSpec& conv) const {
    LayerState state;
    AddConvolution(conv.channels, conv.kernel, codecs, state);
    return state;
  }

  LayerState operator()(const RecurrentGateSpec& gate) const {
    LayerState state;
    AddConvolution(gate.width, gate.conv_kernel, codecs, state);
    state.components.emplace_back(FixedNamed("lru", gate.width, DType::kF32));
    return state;
  }

  LayerState operator()(const NoMixer& /*none*/) const { return {}; }
};

struct KindOfMixer {
  std::string operator()(const AttentionSpec& attention) const {
    std::string kind;
    switch (attention.lifetime.kind) {
      case Lifetime::Kind::kAll:
      case Lifetime::Kind::kFirst:
        kind = "full";
        break;
      case Lifetime::Kind::kWindow:
        kind = "sliding";
        break;
      case Lifetime::Kind::kChunk:
        kind = "chunked";
        break;
    }
    return attention.index ? kind + "+index" : kind;
  }
  std::string operator()(const SharedAttentionSpec& /*shared*/) const { return "reuse"; }
  std::string operator()(const CrossAttentionSpec& /*cross*/) const { return "cross"; }
  std::string operator()(const LatentAttentionSpec& latent) const {
    const std::string kind = latent.source ? "reuse" : "mla";
    return latent.index ? kind + "+index" : kind;
  }
  std::string operator()(const CompressedAttentionSpec& compressed) const {
    if (compressed.ratio == 0) return "sliding";
    return compressed.index ? "v4_csa" : "v4_hca";
  }
  std::string operator()(const DeltaRuleSpec& delta) const {
    return delta.decay == DeltaRuleSpec::Decay::kHead ? "gated_delta" : "kda";
  }
  std::string operator()(const LinearAttentionSpec& linear) const {
    return linear.kind == LinearAttentionSpec::Kind::kLightning ? "lightning" : "retention";
  }
  std::string operator()(const MambaSpec& mamba) const {
    return mamba.version == 1 ? "mamba1" : "mamba2";
  }
  std::string operator()(const AttentionBesideMambaSpec& both) const {
    return (*this)(both.mamba) + "+" + (*this)(both.attention);
  }
  std::string operator()(const RwkvSpec& rwkv) const {
    return "rwkv" + std::to_string(rwkv.version);
  }
  std::string operator()(const ShortConvSpec& /*conv*/) const { return "short_conv"; }
  std::string operator()(const RecurrentGateSpec& /*gate*/) const { return "rg_lru"; }
  std::string operator()(const NoMixer& /*none*/) const { return "none"; }
};

}  // namespace

std::string KindOf(const MixerSpec& mixer) { return std::visit(KindOfMixer(), mixer); }

StateSpec StateSpecOf(const ModelSpec& model, const StateCodecs& codecs) {
  CAIRN_CHECK(codecs.layers.empty() || codecs.layers.size() == model.layers.size());
  const LayerForms all = {codecs.keys, codecs.values};
  StateSpec spec;
  spec.layers.reserve(model.layers.size());
  for (size_t i = 0; i < model.layers.size(); ++i) {
    const LayerSpec& layer = model.layers[i];
    const LayerForms& forms = codecs.layers.empty() ? all : codecs.layers[i];
    LayerState& state = spec.layers.emplace_back(std::visit(StateOf{codecs, forms}, layer.mixer));
    if (layer.ngram) AddNgram(*layer.ngram, codecs, state);
  }
  return spec;
}

}  // namespace cairn
