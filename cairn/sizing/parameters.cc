#include "cairn/sizing/parameters.h"

#include <variant>

namespace cairn {
namespace {

// Weights of a layer's two halves in a model with `hidden` channels.
struct Counter {
  int64_t hidden;

  // Queries and output, which every attention layer has.
  int64_t QueryAndOutput(const AttentionSpec& attention) const {
    const int64_t query = attention.heads * attention.key_width;
    int64_t count = hidden * (query + attention.heads * attention.value_width);
    if (attention.qkv_bias) count += query;
    if (attention.output_bias) count += hidden;
    if (attention.query_key_norm) count += 2 * attention.key_width;
    return count + attention.other_parameters;
  }

  int64_t KeyAndValue(const AttentionSpec& attention) const {
    const int64_t key = attention.kv_heads * attention.key_width;
    const int64_t value = attention.value_is_key ? 0 : attention.kv_heads * attention.value_width;
    int64_t count = (hidden + (attention.qkv_bias ? 1 : 0)) * (key + value);
    count += attention.conv_kernel * attention.kv_heads * 2;
    if (attention.index) {
      count += hidden * attention.index->width * (attention.index->query_heads + 1);
    }
    return count;
  }

  int64_t operator()(const AttentionSpec& attention) const {
    return QueryAndOutput(attention) + KeyAndValue(attention);
  }
  int64_t operator()(const SharedAttentionSpec& shared) const {
    return QueryAndOutput(shared.attention) +
           (shared.projects_keys ? KeyAndValue(shared.attention) : 0);
  }
  int64_t operator()(const CrossAttentionSpec& cross) const { return (*this)(cross.attention); }

  int64_t operator()(const LatentAttentionSpec& latent) const {
    const int64_t query = latent.heads * (latent.key_width + latent.rope_width);
    int64_t count = latent.query_rank == 0
                        ? hidden * query
                        : hidden * latent.query_rank + latent.query_rank * (1 + query);
    if (!latent.source) {
      count += hidden * (latent.latent_width + latent.rope_width) + latent.latent_width;
    }
    if (latent.output_bias) count += hidden;
    count += latent.latent_width * latent.heads * (latent.key_width + latent.value_width);
    count += latent.heads * latent.value_width * hidden;
    if (latent.index) {
      // Queries from the latent, one key with a LayerNorm, a weight for each head.
      const SparseIndexSpec& index = *latent.index;
      const int64_t from = latent.query_rank == 0 ? hidden : latent.query_rank;
      count += from * index.query_heads * index.width + hidden * index.width + 2 * index.width;
      count += hidden * index.query_heads;
    }
    return count + latent.other_parameters;
  }

  // Value and gate of each channel, twice where entries overlap; a place in the window for each; a
  // norm.
  int64_t Compressor(const CompressedAttentionSpec& compressed, int64_t width) const {
    const int64_t channels = (compressed.overlaps ? 2 : 1) * width;
    return 2 * channels * hidden + compressed.ratio * channels + width;
  }

  int64_t operator()(const CompressedAttentionSpec& compressed) const {
    const int64_t all_heads = compressed.heads * compressed.width;
    const int64_t rank = compressed.query_rank;
    int64_t count = rank * (hidden + 1 + all_heads);              // queries
    count += compressed.width * (hidden + 1) + compressed.heads;  // key-value row, sinks
    count += compressed.output_rank * (all_heads + compressed.output_groups * hidden);
    if (compressed.ratio == 0) return count;
    count += Compressor(compressed, compressed.width);
    if (!compressed.index) return count;
    const SparseIndexSpec& index = *compressed.index;
    count += Compressor(compressed, index.width);
    return count + index.query_heads * (hidden + rank * index.width);
  }

  int64_t operator()(const DeltaRuleSpec& delta) const {
    const int64_t keys = delta.key_heads * delta.key_width;
    const int64_t values = delta.value_heads * delta.value_width;
    int64_t count = hidden * (2 * keys + values) + values * hidden;
    count += (2 * keys + values) * delta.conv_kernel;
    return count + delta.other_parameters;
  }

  int64_t operator()(const LinearAttentionSpec& linear) const {
    const int64_t keys = linear.heads * linear.key_width;
    const int64_t values = linear.heads * linear.value_width;
    return hidden * (2 * keys + values) + values * hidden + linear.other_parameters;
  }

  int64_t operator()(const MambaSpec& mamba) const {
    int64_t count = hidden * mamba.inner + mamba.ConvChannels() * mamba.conv_kernel;
    if (mamba.version == 1) {
      count += hidden * 2 * mamba.inner;
      count += mamba.inner * (mamba.step_rank + 2 * mamba.state);
      count += mamba.step_rank * mamba.inner + mamba.inner;
      count += mamba.inner * mamba.state + mamba.inner;
    } else {
      count += hidden * (mamba.inner + mamba.ConvChannels() + mamba.heads);
      count += 3 * mamba.heads;
    }
    return count + mamba.other_parameters;
  }

  int64_t operator()(const AttentionBesideMambaSpec& both) const {
    return (both.shares_weights ? 0 : (*this)(both.attention)) + (*this)(both.mamba);
  }

  int64_t operator()(const RwkvSpec& rwkv) const { return rwkv.parameters; }

  int64_t operator()(const ShortConvSpec& conv) const {
    int64_t count = hidden * 3 * conv.channels + conv.channels * conv.kernel;
    count += conv.channels * hidden;
    return conv.bias ? count + 4 * conv.channels + hidden : count;
  }

  // Two projections in, one out, a convolution, two gates, all with biases; the decay.
  int64_t operator()(const RecurrentGateSpec& gate) const {
    const int64_t width = gate.width;
    int64_t count = 2 * (hidden + 1) * width + (width + 1) * hidden;
    count += width * (gate.conv_kernel + 1) + width;
    return count + 2 * width * (width / gate.gate_blocks + 1);
  }

  int64_t operator()(const NoMixer& none) const { return none.parameters; }

  int64_t operator()(const GatedMlpSpec& mlp) const {
    const int64_t count = 3 * hidden * mlp.intermediate;
    return mlp.bias ? count + 2 * mlp.intermediate + hidden : count;
  }
  int64_t operator()(const MlpSpec& mlp) const {
    const int64_t count = 2 * hidden * mlp.intermediate;
    return mlp.bias ? count + mlp.intermediate + hidden : count;
  }

  int64_t operator()(const MixtureSpec& mixture) const {
    const int64_t matrices = mixture.gated ? 3 : 2;
    const int64_t width = mixture.latent == 0 ? hidden : mixture.latent;
    int64_t expert = matrices * width * mixture.intermediate;
    if (mixture.expert_bias) expert += (matrices - 1) * mixture.intermediate + width;
    int64_t count = mixture.experts * (expert + hidden + (mixture.router_bias ? 1 : 0));
    count += 2 * hidden * mixture.latent;
    count += matrices * hidden * mixture.shared_intermediate;
    if (mixture.shared_gate) count += hidden;
    return count + mixture.other_parameters;
  }
  int64_t operator()(const ChannelMixSpec& /*mix*/) const { return 0; }
  int64_t operator()(const NoFeedForward& /*none*/) const { return 0; }
};

}  // namespace

ElementCount MixerParameters(const MixerSpec& mixer, int64_t hidden) {
  return ElementCount(std::visit(Counter{hidden}, mixer));
}

ElementCount FeedForwardParameters(const FeedForwardSpec& network, int64_t hidden) {
  return ElementCount(std::visit(Counter{hidden}, network));
}

std::optional<ElementCount> ParameterCount(const ModelSpec& model) {
  if (!model.uncounted.empty()) return std::nullopt;
  const Counter counter{model.hidden};
  const int64_t embedding = model.vocabulary * model.hidden;
  int64_t count = (model.tied_head ? 1 : 2) * embedding + model.other_parameters;
  count += model.final_norm_vectors * model.hidden;
  for (const LayerSpec& layer : model.layers) {
    count += std::visit(counter, layer.mixer) + std::visit(counter, layer.feed_forward);
    count += (layer.norm_vectors + (layer.branch_output_norms ? 2 : 0)) * model.hidden;
    count += layer.other_parameters;
  }
  return ElementCount(count);
}

}  // namespace cairn
