// ModelSpec: what a model computes, layer by layer, as data; no weights, no memory.
//
// Made by families.h from a config.json or GGUF metadata. The layer loop of models/ reads it,
// sizing counts with it, StateSpecOf says what state it keeps. Plain data; thread-compatible.
#ifndef CAIRN_SPEC_MODEL_SPEC_H_
#define CAIRN_SPEC_MODEL_SPEC_H_

#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "cairn/base/dtype.h"
#include "cairn/base/ids.h"
#include "cairn/spec/rope.h"
#include "cairn/spec/state_spec.h"

namespace cairn {

// Softmax attention with grouped heads: query head h reads KV head h / (heads / kv_heads).
struct AttentionSpec {
  int64_t heads = 0;
  int64_t kv_heads = 0;
  int64_t key_width = 0;        // channels of one query or key head
  int64_t value_width = 0;      // channels of one value head
  double scale = 0;             // multiplies q . k
  double score_cap = 0;         // scores become cap * tanh(score / cap) before the mask; 0: none
  Lifetime lifetime;            // which keys a query sees, and so which rows are kept
  std::optional<Rope> rope;     // absent: no positional rotation
  bool query_key_norm = false;  // RMSNorm over each head of q and k, before the rotation
  bool qkv_bias = false;
  bool output_bias = false;
};

enum class Activation : uint8_t { kSilu, kGeluTanh, kGeluErf };

// down(activation(gate x) * up x)
struct GatedMlpSpec {
  int64_t intermediate = 0;
  Activation activation = Activation::kSilu;
  bool bias = false;
};

using MixerSpec = std::variant<AttentionSpec>;
using FeedForwardSpec = std::variant<GatedMlpSpec>;

struct LayerSpec {
  MixerSpec mixer;
  FeedForwardSpec feed_forward;
  // Gemma 2 and 3: a norm on each branch's output before it is added to the residual.
  bool branch_output_norms = false;
};

struct ModelSpec {
  std::string family;  // row of families.cc: "llama", "gemma3", ...
  int64_t vocabulary = 0;
  int64_t hidden = 0;
  TokenCount context_length;
  double norm_epsilon = 0;
  bool norm_weight_plus_one = false;  // the stored norm weight w means (1 + w)
  double embedding_scale = 1;
  double logit_cap = 0;  // logits become cap * tanh(logit / cap); 0: none
  bool tied_head = false;
  std::vector<LayerSpec> layers;
};

// Stored form of keys and of values.
struct StateCodecs {
  DType keys = DType::kF16;
  DType values = DType::kF16;
};

StateSpec StateSpecOf(const ModelSpec& model, StateCodecs codecs);

}  // namespace cairn

#endif  // CAIRN_SPEC_MODEL_SPEC_H_
