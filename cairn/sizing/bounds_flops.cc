#include "cairn/sizing/bounds_flops.h"

#include <algorithm>
#include <optional>
#include <variant>

namespace cairn {
namespace {

// 1 + 2 + ... + n
double Triangle(double n) { return n * (n + 1) / 2; }

// Sum over i = 1 .. n of min(i, most).
double Bounded(double n, double most) {
  return n <= most ? Triangle(n) : Triangle(most) + (n - most) * most;
}

// Sum over i = 1 .. n of min(floor(i / ratio), most): entries that queries see.
double EntryPairs(int64_t n, int64_t ratio, int64_t most) {
  const auto sum = [&](int64_t tokens) {
    const int64_t entries = tokens / ratio;
    const auto whole = static_cast<double>(entries);
    const auto rest = static_cast<double>(tokens - entries * ratio + 1);
    return static_cast<double>(ratio) * whole * (whole - 1) / 2 + whole * rest;
  };
  if (most == 0 || n / ratio <= most) return sum(n);
  const int64_t bound = (most + 1) * ratio - 1;  // the last query that sees `most` entries only
  return sum(bound) + static_cast<double>(n - bound) * static_cast<double>(most);
}

// Sum over i = 1 .. n of the tokens that a query reads when as many whole pools are picked as make
// up `most` tokens, and those of the open pool in any case.
double PooledPairs(int64_t n, int64_t pool, int64_t most) {
  const int64_t picked = most / pool * pool;
  const int64_t all = std::min(n, picked + pool - 1);  // queries that read all they see
  const int64_t cycles = (n - all) / pool;
  const auto rest = static_cast<double>((n - all) % pool);
  return Triangle(static_cast<double>(all)) +
         static_cast<double>(n - all) * static_cast<double>(picked) +
         static_cast<double>(cycles) * Triangle(static_cast<double>(pool - 1)) +
         (rest > 0 ? Triangle(rest - 1) : 0);
}

double PerPair(int64_t heads, int64_t key_width, int64_t value_width) {
  return 2.0 * static_cast<double>(heads) * static_cast<double>(key_width + value_width);
}

double IndexPerPair(const std::optional<SparseIndexSpec>& index) {
  if (!index) return 0;
  return 2.0 * static_cast<double>(index->query_heads) * static_cast<double>(index->width);
}

// What one state element costs a token: decayed, corrected, added to, read.
constexpr double kDelta = 6;   // k^T S, rank-one update, q^T S
constexpr double kLinear = 4;  // rank-one update, q^T S
constexpr double kMamba = 6;   // decay, input, output

// Adds one layer's part for a run of queries.
struct Adder {
  Flops& flops;
  int64_t tokens;  // the queries are [cached, tokens)
  int64_t cached;
  bool latent_as_stored;

  double Pairs(const Lifetime& lifetime, int64_t most) const {
    return VisiblePairs(lifetime, TokenCount(tokens), most) -
           VisiblePairs(lifetime, TokenCount(cached), most);
  }
  // Pairs of which an index picks some.
  double Picked(const Lifetime& lifetime, const std::optional<SparseIndexSpec>& index,
                int64_t picks) const {
    if (picks == 0 || !index || index->pool <= 1) return Pairs(lifetime, picks);
    return PooledPairs(tokens, index->pool, picks) - PooledPairs(cached, index->pool, picks);
  }
  double Entries(int64_t ratio, int64_t most) const {
    return EntryPairs(tokens, ratio, most) - EntryPairs(cached, ratio, most);
  }

  void operator()(const AttentionSpec& attention) const {
    const double per = PerPair(attention.heads, attention.key_width, attention.value_width);
    flops.attention += per * Picked(attention.lifetime, attention.index, attention.picks);
    flops.index += IndexPerPair(attention.index) * Pairs(Lifetime::All(), 0);
  }
  void operator()(const SharedAttentionSpec& shared) const {
    AttentionSpec attention = shared.attention;
    attention.index.reset();
    (*this)(attention);
  }
  void operator()(const CrossAttentionSpec& /*an image's keys*/) const {}
  void operator()(const LatentAttentionSpec& latent) const {
    const int64_t row = latent.latent_width + latent.rope_width;
    const double per =
        latent_as_stored
            ? PerPair(latent.heads, row, latent.latent_width)
            : PerPair(latent.heads, latent.key_width + latent.rope_width, latent.value_width);
    flops.attention += per * Picked(Lifetime::All(), latent.index, latent.picks);
    flops.index += IndexPerPair(latent.index) * Pairs(Lifetime::All(), 0);
  }
  void operator()(const CompressedAttentionSpec& compressed) const {
    const double per = PerPair(compressed.heads, compressed.width, compressed.width);
    flops.attention += per * Pairs(compressed.window, 0);
    if (compressed.ratio == 0) return;
    flops.attention += per * Entries(compressed.ratio, compressed.picks);
    flops.index += IndexPerPair(compressed.index) * Entries(compressed.ratio, 0);
  }
  void operator()(const DeltaRuleSpec& delta) const {
    AddState(kDelta, delta.value_heads * delta.key_width * delta.value_width);
  }
  void operator()(const LinearAttentionSpec& linear) const {
    AddState(kLinear, linear.heads * linear.key_width * linear.value_width);
  }
  void operator()(const MambaSpec& mamba) const { AddState(kMamba, mamba.inner * mamba.state); }
  void operator()(const AttentionBesideMambaSpec& both) const {
    (*this)(both.attention);
    (*this)(both.mamba);
  }
  void operator()(const RwkvSpec& rwkv) const {
    const int64_t channels = rwkv.heads * rwkv.width;
    AddState(kDelta, rwkv.version == 4 ? channels : channels * rwkv.width);
  }
  void operator()(const RecurrentGateSpec& gate) const { AddState(kLinear, gate.width); }
  // Convolutions are matrices of a few columns, counted with the weights.
  void operator()(const ShortConvSpec& /*conv*/) const {}
  void operator()(const NoMixer& /*none*/) const {}

  void AddState(double per_element, int64_t elements) const {
    flops.recurrence +=
        per_element * static_cast<double>(elements) * static_cast<double>(tokens - cached);
  }
};

Flops OfRun(const ModelSpec& model, int64_t multiplied, int64_t tokens, int64_t cached,
            bool latent_as_stored) {
  Flops flops;
  const auto queries = static_cast<double>(tokens - cached);
  if (queries <= 0) return flops;
  flops.matrices = 2.0 * static_cast<double>(multiplied) * queries;
  flops.head = 2.0 * static_cast<double>(model.vocabulary) * static_cast<double>(model.hidden);
  const Adder adder = {
      .flops = flops, .tokens = tokens, .cached = cached, .latent_as_stored = latent_as_stored};
  for (const LayerSpec& layer : model.layers) std::visit(adder, layer.mixer);
  return flops;
}

}  // namespace

double VisiblePairs(const Lifetime& lifetime, TokenCount tokens, int64_t most) {
  const auto n = static_cast<double>(tokens.value());
  const double bound = most > 0 ? static_cast<double>(most) : n;
  const auto reach = static_cast<double>(lifetime.tokens.value());
  switch (lifetime.kind) {
    case Lifetime::Kind::kAll:
      break;
    case Lifetime::Kind::kFirst:
      return Bounded(n, std::min(reach, bound));
    case Lifetime::Kind::kWindow:
      return Bounded(n, std::min(reach, bound));
    case Lifetime::Kind::kChunk: {
      const int64_t chunks = tokens.value() / std::max<int64_t>(lifetime.tokens.value(), 1);
      const double rest = n - static_cast<double>(chunks) * reach;
      return static_cast<double>(chunks) * Bounded(reach, bound) + Bounded(rest, bound);
    }
  }
  return Bounded(n, bound);
}

Flops PrefillFlops(const ModelSpec& model, int64_t multiplied, TokenCount tokens,
                   TokenCount cached) {
  return OfRun(model, multiplied, tokens.value(), cached.value(), false);
}

Flops DecodeFlops(const ModelSpec& model, int64_t multiplied, TokenCount context) {
  return OfRun(model, multiplied, context.value() + 1, context.value(), true);
}

}  // namespace cairn
