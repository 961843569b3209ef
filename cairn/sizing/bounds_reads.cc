#include "cairn/sizing/bounds_reads.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <variant>
#include <vector>

#include "cairn/spec/state_layout.h"

namespace cairn {
namespace {

// Keys, gates and positions by which an index chooses.
bool IsIndex(const Rows& rows) {
  return rows.name.starts_with("index_") || rows.name == "positions";
}

// Rows that an index leaves a query after `context` tokens; 0: no index.
struct PicksOf {
  TokenCount context;

  int64_t operator()(const AttentionSpec& attention) const {
    return Of(attention.picks, attention.index);
  }
  int64_t operator()(const SharedAttentionSpec& shared) const { return (*this)(shared.attention); }
  int64_t operator()(const LatentAttentionSpec& latent) const {
    return Of(latent.picks, latent.index);
  }
  int64_t operator()(const CompressedAttentionSpec& compressed) const { return compressed.picks; }
  int64_t operator()(const AttentionBesideMambaSpec& both) const { return (*this)(both.attention); }
  int64_t operator()(const auto& /*reads_all*/) const { return 0; }

  // Whole pools are picked, and the open one is read besides.
  int64_t Of(int64_t picks, const std::optional<SparseIndexSpec>& index) const {
    if (picks == 0 || !index || index->pool <= 1) return picks;
    return picks / index->pool * index->pool + context.value() % index->pool;
  }
};

// Bytes of single components, asked of a StateLayout once for each that differs.
class ComponentBytes {
 public:
  explicit ComponentBytes(TokenCount context) : context_(context) {}

  // Rows that the next query sees after `tokens` tokens.
  Result<Bytes> Seen(Rows rows, TokenCount tokens) {
    for (const auto& [known, at, bytes] : seen_) {
      if (known == rows && at == tokens) return bytes;
    }
    CAIRN_ASSIGN(const StateLayout layout, StateLayout::Make({{LayerState{{rows}}}}));
    const Bytes bytes = layout.SeenRowBytes(tokens);
    seen_.push_back({std::move(rows), tokens, bytes});
    return bytes;
  }

  TokenCount context() const { return context_; }

 private:
  struct Known {
    Rows rows;
    TokenCount tokens;
    Bytes bytes;
  };
  TokenCount context_;
  std::vector<Known> seen_;
};

// Of a window, a chunk or entries that are few, no more are picked than there are.
TokenCount PickedTokens(const Rows& rows, int64_t picks, TokenCount context) {
  if (picks == 0) return context;
  int64_t tokens = 0;
  if (__builtin_mul_overflow(picks, rows.tokens_per_row.value(), &tokens)) return context;
  return std::min(context, TokenCount(tokens));
}

struct LayerReader {
  const StateSpec& spec;
  ComponentBytes& bytes;
  StateTraffic& traffic;
  int64_t picks = 0;
  bool compressed = false;  // picks are among its entries, not its window

  Status Read(const Rows& rows) {
    CAIRN_ASSIGN(const Bytes all, bytes.Seen(rows, bytes.context()));
    if (IsIndex(rows)) {
      traffic.index += all;
      return {};
    }
    traffic.all_rows += all;
    const bool picked = !compressed || rows.tokens_per_row > TokenCount(1);
    const TokenCount tokens = PickedTokens(rows, picked ? picks : 0, bytes.context());
    CAIRN_ASSIGN(const Bytes read, bytes.Seen(rows, tokens));
    traffic.rows += read;
    return {};
  }
  Status Read(const Fixed& /*counted at once*/) { return {}; }
  Status Read(const Alias& alias) { return ReadRowsOf(alias.layer); }

  // A reader of another layer's latents that has index keys of its own names no alias.
  Status ReadSource(const MixerSpec& mixer) {
    const auto* latent = std::get_if<LatentAttentionSpec>(&mixer);
    if (latent == nullptr || !latent->source || !latent->index) return {};
    return ReadRowsOf(*latent->source);
  }

  Status ReadRowsOf(LayerIndex layer) {
    const auto at = static_cast<size_t>(layer.value());
    for (const Component& component : spec.layers[at].components) {
      const auto* rows = std::get_if<Rows>(&component);
      if (rows == nullptr || IsIndex(*rows)) continue;
      CAIRN_TRY(Read(*rows));
    }
    return {};
  }
};

}  // namespace

Result<StateTraffic> TrafficOfStep(const ModelSpec& model, const StateCodecs& codecs,
                                   TokenCount context) {
  if (context < TokenCount(0) || context > kMaxStateTokens) {
    return Fail(ErrorCode::kInvalidArgument, "context {}, expected 0 to {} tokens", context.value(),
                kMaxStateTokens.value());
  }
  const StateSpec spec = StateSpecOf(model, codecs);
  CAIRN_ASSIGN(const StateLayout layout, StateLayout::Make(spec));
  StateTraffic traffic;
  ComponentBytes bytes(context);
  for (size_t i = 0; i < spec.layers.size(); ++i) {
    const MixerSpec& mixer = model.layers[i].mixer;
    LayerReader reader = {.spec = spec,
                          .bytes = bytes,
                          .traffic = traffic,
                          .picks = std::visit(PicksOf{context}, mixer),
                          .compressed = std::holds_alternative<CompressedAttentionSpec>(mixer)};
    for (const Component& component : spec.layers[i].components) {
      CAIRN_TRY(std::visit([&](const auto& kind) { return reader.Read(kind); }, component));
    }
    CAIRN_TRY(reader.ReadSource(mixer));
  }
  traffic.fixed_read = layout.fixed_content_bytes();
  traffic.fixed_written = traffic.fixed_read;
  traffic.row_written = layout.MarginalBytesPerToken();
  traffic.stored = layout.SeenRowBytes(context) + layout.fixed_content_bytes();
  return traffic;
}

}  // namespace cairn
