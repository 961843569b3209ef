#include "cairn/spec/config_notes.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cairn/spec/config_dimensions.h"
#include "cairn/spec/limits.h"

namespace cairn {
namespace {

std::optional<int64_t> Number(const HfConfig& config, std::string_view key) {
  const auto number = config.Int(key, {INT64_MIN, INT64_MAX});
  return number ? std::optional(*number) : std::nullopt;
}

std::optional<bool> Flag(const HfConfig& config, std::string_view key) {
  if (!config.Has(key)) return std::nullopt;
  const auto flag = config.BoolOr(key, false);
  return flag ? std::optional(*flag) : std::nullopt;
}

const AttentionSpec* AttentionIn(const MixerSpec& mixer) {
  if (const auto* attention = std::get_if<AttentionSpec>(&mixer)) return attention;
  if (const auto* shared = std::get_if<SharedAttentionSpec>(&mixer)) return &shared->attention;
  if (const auto* both = std::get_if<AttentionBesideMambaSpec>(&mixer)) return &both->attention;
  return nullptr;
}

template <typename Predicate>
int64_t CountLayers(const ModelSpec& model, Predicate predicate) {
  return std::ranges::count_if(model.layers,
                               [&](const LayerSpec& layer) { return predicate(layer.mixer); });
}

bool Slides(const MixerSpec& mixer) {
  const auto* compressed = std::get_if<CompressedAttentionSpec>(&mixer);
  if (compressed != nullptr) return compressed->window.kind == Lifetime::Kind::kWindow;
  const AttentionSpec* attention = AttentionIn(mixer);
  return attention != nullptr && attention->lifetime.kind == Lifetime::Kind::kWindow;
}

// "1 layer", "24 layers"
std::string Layers(int64_t count) {
  return fmt::format("{} layer{}", count, count == 1 ? "" : "s");
}

// "1 layer keeps", "24 layers keep"
std::string LayersThat(int64_t count, std::string_view verb) {
  return fmt::format("{} {}{}", Layers(count), verb,
                     count > 1              ? ""
                     : verb.ends_with("ss") ? "es"
                                            : "s");
}

// "is 1 layer", "are 24 layers"
std::string Those(int64_t count) { return (count == 1 ? "is " : "are ") + Layers(count); }

void NoteWindow(const HfConfig& config, ModelSpec& model) {
  constexpr std::array<std::string_view, 3> kKeys = {"sliding_window", "sliding_window_size",
                                                     "attention_window_size"};
  for (const std::string_view key : kKeys) {
    const auto window = Number(config, key);
    if (!window || CountLayers(model, Slides) > 0) continue;
    std::string why = "no layer of this model slides";
    const int64_t context = model.context_length.value();
    if (Flag(config, "use_sliding_window") == false) {
      why = "use_sliding_window is false";
    } else if (context > 0 && *window >= context) {
      why = fmt::format("it can't bind within {} tokens", context);
    } else if (config.Has("layer_types")) {
      why = "layer_types names no sliding layer";
    }
    model.notes.push_back(
        fmt::format("{} is {} and isn't used: {}, so every row is kept.", key, *window, why));
  }
}

void NoteChunks(ModelSpec& model) {
  int64_t chunk = 0;
  const int64_t chunked = CountLayers(model, [&](const MixerSpec& mixer) {
    const AttentionSpec* attention = AttentionIn(mixer);
    if (attention == nullptr || attention->lifetime.kind != Lifetime::Kind::kChunk) return false;
    chunk = attention->lifetime.tokens.value();
    return true;
  });
  if (chunked == 0) return;
  model.notes.push_back(
      fmt::format("{} within chunks of {} tokens, not within a sliding window: what is kept there "
                  "falls to nothing at each multiple of {}; at most one chunk is counted.",
                  LayersThat(chunked, "attend"), chunk, chunk));
}

// The first layer that attends, of layers with heads.
const AttentionSpec* FirstAttention(const ModelSpec& model) {
  for (const LayerSpec& layer : model.layers) {
    if (const AttentionSpec* attention = AttentionIn(layer.mixer)) return attention;
  }
  return nullptr;
}

void NoteHeads(const HfConfig& config, ModelSpec& model) {
  const AttentionSpec* attention = FirstAttention(model);
  if (attention == nullptr || attention->heads == 0) return;
  if (model.hidden > 0 && attention->heads * attention->key_width != model.hidden) {
    model.notes.push_back(
        fmt::format("A head is {} channels wide, not hidden size / heads ({} / {}): the hidden "
                    "size doesn't tell "
                    "how wide a row is.",
                    attention->key_width, model.hidden, attention->heads));
  }
  if (attention->key_width != attention->value_width) {
    model.notes.push_back(
        fmt::format("Keys are {} and values {} channels a head: twice either is wrong.",
                    attention->key_width, attention->value_width));
  }
  const int64_t kv_heads = attention->kv_heads;
  if (!config.Has("num_key_value_heads") && kv_heads == attention->heads && kv_heads > 1) {
    model.notes.push_back(fmt::format(
        "No number of KV heads is given, so there are as many as heads: {}.", kv_heads));
  }
  const auto written = Number(config, "num_kv_heads");
  if (written && *written != kv_heads) {
    model.notes.push_back(
        fmt::format("num_kv_heads is {} but {} is kept: another key of this family decides.",
                    *written, kv_heads));
  }
  if (kv_heads > 1 && (kv_heads & (kv_heads - 1)) != 0) {
    model.notes.push_back(fmt::format(
        "{} KV heads can't be split evenly over 2, 4 or 8 cards unless that number divides them; "
        "else cards keep copies.",
        kv_heads));
  }
}

void NoteLatent(const HfConfig& config, ModelSpec& model) {
  const LatentAttentionSpec* found = nullptr;
  for (const LayerSpec& layer : model.layers) {
    const auto* latent = std::get_if<LatentAttentionSpec>(&layer.mixer);
    if (latent != nullptr && found == nullptr) found = latent;
  }
  if (found == nullptr) return;
  std::string heads;
  if (const auto written = Number(config, "num_key_value_heads")) {
    heads = fmt::format("; num_key_value_heads ({}) and head_dim don't enter", *written);
  }
  model.notes.push_back(
      fmt::format("Latent attention keeps one row of {} + {} channels for all heads, without a "
                  "factor 2{}. Every card of a tensor-parallel group keeps all of it.",
                  found->latent_width, found->rope_width, heads));
}

void NoteIndex(ModelSpec& model) {
  const int64_t indexed = CountLayers(model, [](const MixerSpec& mixer) {
    const AttentionSpec* attention = AttentionIn(mixer);
    if (attention != nullptr) return attention->index.has_value();
    const auto* latent = std::get_if<LatentAttentionSpec>(&mixer);
    if (latent != nullptr) return latent->index.has_value();
    const auto* compressed = std::get_if<CompressedAttentionSpec>(&mixer);
    return compressed != nullptr && compressed->index.has_value();
  });
  if (indexed == 0) return;
  model.notes.push_back(
      fmt::format("{} rows to read by index keys: less is read, but all rows are kept, and the "
                  "index keys besides.",
                  LayersThat(indexed, "pick")));
}

void NoteCompression(ModelSpec& model) {
  const int64_t compressed = CountLayers(model, [](const MixerSpec& mixer) {
    const auto* attention = std::get_if<CompressedAttentionSpec>(&mixer);
    return attention != nullptr && attention->ratio > 0;
  });
  if (compressed == 0) return;
  model.notes.push_back(
      fmt::format("{} several tokens into an entry; until an entry is complete those tokens are "
                  "kept in an open "
                  "window, which published cache sizes leave out.",
                  LayersThat(compressed, "compress")));
}

void NoteSharing(ModelSpec& model) {
  const auto reads = [](const LayerSpec& layer) {
    const auto* latent = std::get_if<LatentAttentionSpec>(&layer.mixer);
    return std::holds_alternative<SharedAttentionSpec>(layer.mixer) ||
           (latent != nullptr && latent->source.has_value());
  };
  const int64_t sharing = std::ranges::count_if(model.layers, reads);
  if (sharing == 0) return;
  const auto first = std::ranges::find_if(model.layers, reads) - model.layers.begin();
  const auto layers = static_cast<int64_t>(model.layers.size());
  const bool suffix = first + sharing == layers;
  model.notes.push_back(
      fmt::format("{} {} of {} {} the keys and values of an earlier layer and {} none.",
                  suffix ? "The last" : "In all", Layers(sharing), layers,
                  sharing == 1 ? "reads" : "read", sharing == 1 ? "keeps" : "keep"));
}

bool KeepsFixedState(const LayerSpec& layer) {
  return std::holds_alternative<DeltaRuleSpec>(layer.mixer) ||
         std::holds_alternative<LinearAttentionSpec>(layer.mixer) ||
         std::holds_alternative<MambaSpec>(layer.mixer) ||
         std::holds_alternative<AttentionBesideMambaSpec>(layer.mixer) ||
         std::holds_alternative<RwkvSpec>(layer.mixer) ||
         std::holds_alternative<ShortConvSpec>(layer.mixer) ||
         std::holds_alternative<RecurrentGateSpec>(layer.mixer) || layer.ngram.has_value();
}

void NoteFixedState(ModelSpec& model) {
  const int64_t fixed = std::ranges::count_if(model.layers, KeepsFixedState);
  if (fixed == 0) return;
  model.notes.push_back(
      fmt::format("{} of {} {} a state of fixed size for each request, however long: it grows with "
                  "the batch, not with tokens, and requests can't share it row by row.",
                  Layers(fixed), model.layers.size(), fixed == 1 ? "keeps" : "keep"));
}

void NoteEmptyLayers(ModelSpec& model) {
  const int64_t empty = CountLayers(
      model, [](const MixerSpec& mixer) { return std::holds_alternative<NoMixer>(mixer); });
  if (empty == 0) return;
  model.notes.push_back(
      fmt::format("{} of {} {} nothing: the number of layers says little about the cache.",
                  Layers(empty), model.layers.size(), empty == 1 ? "keeps" : "keep"));
}

void NoteDrafts(const HfConfig& config, ModelSpec& model) {
  if (model.draft_layers.empty()) return;
  model.notes.push_back(fmt::format(
      "Beside the {} there {} for drafting tokens (multi-token prediction), not counted here.",
      Layers(static_cast<int64_t>(model.layers.size())),
      Those(static_cast<int64_t>(model.draft_layers.size()))));
  const auto written = Number(config, "num_nextn_predict_layers");
  const auto modules = Number(config, "num_mtp_modules");
  if (written && modules && *written != *modules) {
    model.notes.push_back(
        fmt::format("num_nextn_predict_layers ({}) and num_mtp_modules ({}) disagree; the first is "
                    "taken.",
                    *written, *modules));
  }
}

void NoteTies(const ConfigSource& source, ModelSpec& model) {
  if (model.family == "shape") return;  // a shape has no family's default, nor often a head
  const auto inner = Flag(source.config, "tie_word_embeddings");
  if (!inner && !source.outer_tied_head) {
    model.notes.push_back(
        fmt::format("tie_word_embeddings is absent: by default this family {} its "
                    "head to the embedding.",
                    model.tied_head ? "ties" : "doesn't tie"));
  } else if (inner && source.outer_tied_head && *inner != *source.outer_tied_head) {
    model.notes.push_back(fmt::format(
        "tie_word_embeddings is {} inside the text part and {} outside; the text part's is taken.",
        *inner, *source.outer_tied_head));
  }
}

// An original context may stand in the scaling or beside it.
void NoteRope(const HfConfig& config, ModelSpec& model) {
  constexpr std::string_view kOriginal = "original_max_position_embeddings";
  std::optional<int64_t> trained = Number(config, kOriginal);
  for (const std::string_view key : {"rope_scaling", "rope_parameters"}) {
    const auto section = config.Child(key);
    if (!section || !*section) continue;
    if (const auto inside = Number(**section, kOriginal)) trained = inside;
  }
  const int64_t context = model.context_length.value();
  if (!trained || *trained < 1 || context <= *trained) return;
  model.notes.push_back(
      fmt::format("Trained on {} tokens; the rotation is scaled to reach {}, and the state is as "
                  "large for those "
                  "tokens as for others.",
                  *trained, context));
}

void NoteTypes(const HfConfig& config, ModelSpec& model) {
  const auto quantization = config.Child("quantization_config");
  if (quantization && *quantization) {
    const auto scheme = (*quantization)->Child("kv_cache_scheme");
    if (scheme && *scheme) {
      if (const auto bits = Number(**scheme, "num_bits")) {
        model.notes.push_back(
            fmt::format("The file asks for a cache of {} bits (kv_cache_scheme); sizes here follow "
                        "the type that is asked for.",
                        *bits));
        return;
      }
    }
    model.notes.push_back(
        "quantization_config is about the weights; the cache keeps the type that is asked for.");
  }
  for (const std::string_view key : {"dtype", "torch_dtype"}) {
    const auto type = config.StringOr(key, "");
    if (!type || *type != "float32") continue;
    model.notes.push_back(
        fmt::format("{} is float32: that is how the weights are stored, not the cache.", key));
    return;
  }
}

void NoteContext(const ConfigSource& source, ModelSpec& model) {
  if (model.context_length == TokenCount(0) && model.family != "shape") {
    model.notes.push_back("No context length is named.");
  }
  if (source.nested) {
    model.notes.push_back("Of this multimodal model the text decoder is sized.");
  }
}

// Published counts that this one is compared with leave these weights out.
void NoteParameters(const HfConfig& config, ModelSpec& model) {
  if (model.family != "gemma3n" && model.family != "gemma4") return;
  const auto width = Number(config, "hidden_size_per_layer_input");
  if (!width || *width == 0) return;
  model.notes.push_back(fmt::format(
      "The count of parameters leaves out one norm of {} weights, and holds the key and value "
      "projections of layers that share.",
      *width));
}

}  // namespace

void AddConfigNotes(const ConfigSource& source, ModelSpec& model) {
  const HfConfig& config = source.config;
  NoteWindow(config, model);
  NoteChunks(model);
  NoteHeads(config, model);
  NoteLatent(config, model);
  NoteIndex(model);
  NoteCompression(model);
  NoteSharing(model);
  NoteFixedState(model);
  NoteEmptyLayers(model);
  NoteDrafts(config, model);
  NoteTies(source, model);
  NoteRope(config, model);
  NoteTypes(config, model);
  NoteParameters(config, model);
  NoteContext(source, model);
}

}  // namespace cairn
