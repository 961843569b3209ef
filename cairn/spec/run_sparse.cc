// How MiniMax M3 computes: attention that reads blocks of keys which an index picks.
#include <algorithm>
#include <variant>

#include "cairn/spec/run_dense.h"

namespace cairn {
namespace {

constexpr RunFacts kMiniMaxM3 = {
    .rope_base = 5000000, .partial_rotation = true, .activation_key = ""};

// Each head of the index picks for as many query heads; they mustn't straddle KV heads.
Status CheckIndex(const HfConfig& config, const AttentionSpec& attention) {
  const SparseIndexSpec& index = *attention.index;
  const int64_t more = std::max(index.query_heads, attention.kv_heads);
  const int64_t fewer = std::min(index.query_heads, attention.kv_heads);
  if (more % fewer != 0 || attention.heads % more != 0) {
    return config.Unsupported("index_n_heads", "a divisor or multiple of num_key_value_heads");
  }
  if (attention.picks < index.block || index.local_blocks > attention.picks / index.block) {
    return config.Unsupported("index_topk_blocks", "at least 1 and at least index_local_blocks");
  }
  if (attention.rope->width > index.width) {
    return config.Unsupported("index_head_dim", "at least as many channels as a head turns");
  }
  return {};
}

}  // namespace

Status RunMiniMaxM3(const ConfigSource& source, ModelSpec& model) {
  const HfConfig& config = source.config;
  CAIRN_TRY(DescribeDecoder(source, kMiniMaxM3, model));
  model.norm_weight_plus_one = true;
  Clip clip;
  CAIRN_ASSIGN(clip.limit, config.FloatOr("swiglu_limit", {1e-3, 1e6}, 7));
  CAIRN_ASSIGN(clip.alpha, config.FloatOr("swiglu_alpha", {1e-3, 1e3}, 1.702));
  CAIRN_ASSIGN(const double scale, config.FloatOr("routed_scaling_factor", {1e-6, 1e6}, 2));
  for (LayerSpec& layer : model.layers) {
    const auto& attention = std::get<AttentionSpec>(layer.mixer);
    if (attention.index) CAIRN_TRY(CheckIndex(config, attention));
    if (auto* mlp = std::get_if<GatedMlpSpec>(&layer.feed_forward)) {
      mlp->activation = Activation::kClippedSilu;
      mlp->clip = clip;
    }
    auto* mixture = std::get_if<MixtureSpec>(&layer.feed_forward);
    if (mixture == nullptr) continue;
    mixture->router = {.score = RouterSpec::Score::kSigmoid,
                       .choice_bias = mixture->router_bias,
                       .normalise = true,
                       .scale = scale};
    mixture->activation = mixture->shared_activation = Activation::kClippedSilu;
    mixture->clip = clip;
  }
  return {};
}

}  // namespace cairn
