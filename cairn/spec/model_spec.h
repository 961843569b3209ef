// ModelSpec: what a model computes, layer by layer, as data; no weights, no memory.
//
// Made by families.h from a config.json or GGUF metadata. The layer loop of models/ reads it,
// sizing counts with it, StateSpecOf says what state it keeps. Plain data; thread-compatible.
#ifndef CAIRN_SPEC_MODEL_SPEC_H_
#define CAIRN_SPEC_MODEL_SPEC_H_

#include <array>
#include <limits>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "cairn/base/dtype.h"
#include "cairn/base/ids.h"
#include "cairn/spec/rope.h"
#include "cairn/spec/state_form.h"
#include "cairn/spec/state_spec.h"

namespace cairn {

// Keys of one head by which a query picks what it attends to (DSA and its relatives).
struct SparseIndexSpec {
  int64_t query_heads = 0;
  int64_t width = 0;          // of a key; one key for each token or compressed entry
  int64_t gate_width = 0;     // channels kept beside the key, by which keys are pooled when read
  int64_t pool = 0;           // tokens whose keys are pooled, and that are picked together; 0: none
  int64_t position_axes = 0;  // coordinates of a token's position kept beside the key; 0: none
  int64_t block = 0;          // tokens that are picked together; 0: that isn't described
  int64_t local_blocks = 0;   // of such, up to the own one, that are picked at any score
  // How latent attention's index is computed: which leading channels of keys and queries turn.
  std::optional<Rope> rope = std::nullopt;
  bool splits_pairs = false;      // as in LatentAttentionSpec
  bool position_scaling = false;  // as there
  bool reads_hidden = false;      // queries come from the layer's input, behind a LayerNorm
};

// Queries at position p are multiplied by 1 + scale * ln(1 + floor((p + offset) / interval)).
struct QueryTemperature {
  double scale = 0;
  double interval = 1;
  int64_t offset = 0;
};

// What multiplies the attended values before the output projection.
enum class OutputGate : uint8_t {
  kNone,
  kChannels,     // sigmoid of as many channels, which the query projection makes: [q | gate] a head
  kHeads,        // sigmoid of one number a head, from a projection of its own
  kOwnChannels,  // sigmoid of as many channels, from a projection of its own
};

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
  std::optional<SparseIndexSpec> index = std::nullopt;
  int64_t picks = 0;             // rows that an index leaves a query to read; 0: all
  int64_t conv_kernel = 0;       // keys and values pass a causal convolution so wide; 0: none
  int64_t conv_history = 0;      // convolutions over queries and keys read so many earlier tokens
  int64_t conv_head_kernel = 0;  // of these the second one's kernel, which mixes a head's channels
  int64_t delayed_values = 0;    // channels of the values that the token before makes; 0: none
  bool value_is_key = false;     // no value projection; both are kept, they differ by norm and turn
  int64_t other_parameters = 0;  // sinks, gates and norms that no field above implies
  // What is computed, where the parameters above don't tell.
  bool norm_after_rotation = false;  // of queries and keys
  // Keys are kept normed without the weight, which multiplies the queries: layers that share keys
  // have one of their own each. Only where the norm comes after the rotation.
  bool key_weight_on_queries = false;
  bool whole_norm = false;  // an RMSNorm over all heads of q together, and one over those of k
  bool unit_norm = false;   // heads of q and k are normed without a weight
  bool value_norm = false;  // heads of v are normed without a weight
  bool sinks = false;       // a learned score for each head joins the softmax, and is dropped
  double key_factor = 1;    // multiplies keys before the rotation
  OutputGate output_gate = OutputGate::kNone;
  std::optional<QueryTemperature> temperature = std::nullopt;
};

// Attention that reads the keys and values of an earlier layer and keeps none.
struct SharedAttentionSpec {
  AttentionSpec attention;
  LayerIndex source;
  bool projects_keys = false;  // the file holds the projections all the same
};

// Attention over an image's keys and values, which no text token adds to.
struct CrossAttentionSpec {
  AttentionSpec attention;
};

// The most channels that latent attention turns.
inline constexpr int64_t kMaxLatentRope = 512;

// MLA: one latent row and one rotated key row for all heads.
struct LatentAttentionSpec {
  int64_t heads = 0;
  int64_t query_rank = 0;  // 0: queries are projected at once
  int64_t latent_width = 0;
  int64_t rope_width = 0;
  int64_t key_width = 0;    // channels of a head's key that come from the latent row
  int64_t value_width = 0;  // channels of a head's value
  bool output_bias = false;
  std::optional<LayerIndex> source = std::nullopt;  // whose latent rows it reads, keeping none
  std::optional<SparseIndexSpec> index = std::nullopt;
  // Rows that an index, its own or an earlier layer's, leaves a query to read at most; 0: all.
  int64_t picks = 0;
  int64_t other_parameters = 0;
  double scale = 0;                         // multiplies q . k
  std::optional<Rope> rope = std::nullopt;  // of rope_width channels; absent: they don't turn
  bool splits_pairs = false;  // what turned as (2i, 2i + 1) is kept as (i, i + rope_width / 2)
  // Queries of head h at position p are multiplied by scale[h] * ln(p + 1) + bias[h].
  bool position_scaling = false;
  bool trained_frequencies = false;  // the rotation's are multiplied by exp of a vector of the file
  bool projection_bias = false;      // of the down projections
  double rank_norm_epsilon = 1e-6;   // of the norms of query rank and latent
  OutputGate output_gate = OutputGate::kNone;
  std::optional<QueryTemperature> temperature = std::nullopt;
};

// DeepSeek V4: one key-value row of all heads in a window, and beyond it one entry for every
// `ratio` tokens.
struct CompressedAttentionSpec {
  int64_t heads = 0;
  int64_t width = 0;
  Lifetime window;
  int64_t ratio = 0;      // 0: the window only
  bool overlaps = false;  // an entry mixes its own `ratio` tokens with the `ratio` before them
  int64_t query_rank = 0;
  int64_t output_groups = 0;  // of heads, each projected to output_rank channels first
  int64_t output_rank = 0;
  std::optional<SparseIndexSpec> index = std::nullopt;
  int64_t picks = 0;                        // entries that the index leaves a query to read; 0: all
  std::optional<Rope> rope = std::nullopt;  // of a head's last channels; entries' and index's too
};

// A matrix of key_width x value_width for each value head, moved by the delta rule, behind a
// causal convolution of q, k and v.
struct DeltaRuleSpec {
  enum class Decay : uint8_t {
    kHead,     // Gated DeltaNet: one decay for a head
    kChannel,  // KDA: one for each channel of the keys
  };
  Decay decay = Decay::kHead;
  int64_t key_heads = 0;
  int64_t value_heads = 0;
  int64_t key_width = 0;
  int64_t value_width = 0;
  int64_t conv_kernel = 0;
  std::optional<DType> dtype = std::nullopt;  // of the matrices, where the model says
  int64_t other_parameters = 0;
  double decay_bound = 0;  // decays are exp(bound * sigmoid), not exp(-rate * softplus); 0: not so
  bool sigmoid_gate = false;  // of the output; else what the decay's kind has: KDA's, or SiLU
};

// Linear attention without a delta rule: a decayed sum of k v^T.
struct LinearAttentionSpec {
  enum class Kind : uint8_t { kLightning, kRetention };
  Kind kind = Kind::kLightning;
  int64_t heads = 0;
  int64_t key_width = 0;
  int64_t value_width = 0;
  int64_t other_parameters = 0;
  std::optional<Rope> rope = std::nullopt;  // of retention's queries and keys
  int64_t table_block = 0;                  // tokens of the tables of decays that files may hold
};

struct MambaSpec {
  int version = 1;
  int64_t inner = 0;  // channels
  int64_t state = 0;  // of each channel
  int64_t conv_kernel = 0;
  int64_t heads = 0;                          // version 2: share a step width
  int64_t groups = 0;                         // version 2: share B and C
  int64_t step_rank = 0;                      // version 1: of the step width's projection
  std::optional<DType> dtype = std::nullopt;  // of the state, where the model says
  int64_t other_parameters = 0;
  // What is computed, where the parameters above don't tell.
  bool conv_bias = true;
  bool input_bias = false;   // of the projections into the layer
  bool output_bias = false;  // of the one out of it
  bool inner_norms = false;  // version 1: step width, B and C pass a norm each
  bool gated_norm = true;    // version 2: outputs are normed in groups, around their gate
  bool gates_after_norm = false;
  double step_low = 0;  // version 2: bounds of the step width
  double step_high = std::numeric_limits<double>::infinity();
  // Version 2: factors of the input and of what it becomes: gate, x, B, C, step width.
  double input_factor = 1;
  std::array<double, 5> part_factors = {1, 1, 1, 1, 1};

  // What the convolution runs over.
  int64_t ConvChannels() const { return version == 1 ? inner : inner + 2 * groups * state; }
};

// Falcon-H1 and Zamba: both mixers in one layer, each with its own state.
struct AttentionBesideMambaSpec {
  AttentionSpec attention;
  MambaSpec mamba;
  bool shares_weights = false;  // attention's are of one block that the model counts once
  // Both read the same vector and are added.
  double attention_input_factor = 1;
  double attention_output_factor = 1;
  double mamba_output_factor = 1;
};

// Version 4 keeps three vectors, later ones a matrix of width x width for each head.
struct RwkvSpec {
  int version = 7;
  int64_t token_shifts = 2;  // one before each half of the layer, or before the mixer alone
  int64_t heads = 0;
  int64_t width = 0;       // of a head
  int64_t parameters = 0;  // all of the layer's, with its channel mix
};

// LFM2: a gated causal convolution.
struct ShortConvSpec {
  int64_t channels = 0;
  int64_t kernel = 0;
  bool bias = false;
};

// RG-LRU of Griffin, behind a causal convolution.
struct RecurrentGateSpec {
  int64_t width = 0;
  int64_t conv_kernel = 0;
  int64_t gate_blocks = 1;  // both gates are block-diagonal
};

// The most tables of n-gram embeddings, of all layers together.
inline constexpr int64_t kMaxNgramTables = 1024;

// Embeddings of the last few tokens together, before a mixer, behind a convolution with gaps.
struct NgramSpec {
  int64_t history = 0;       // ids of earlier tokens
  int64_t channels = 0;      // of the convolution
  int64_t conv_history = 0;  // its inputs of earlier tokens
  int64_t kernel = 0;        // of the convolution; its gaps are as wide as the longest n-gram
  int64_t width = 0;         // of an embedding, put together from as many tables for each n-gram
  int64_t heads = 0;         // tables for n-grams of one size, of which there are `history`
  int64_t rows = 0;          // of all tables together
  int64_t end_token = -1;    // n-grams don't reach beyond it

  int64_t Tables() const { return history * heads; }
};

// Keeps nothing: a layer that is a feed-forward network alone, or whose attention was pruned.
struct NoMixer {
  int64_t parameters = 0;
};

enum class Activation : uint8_t {
  kSilu,
  kGeluTanh,
  kGeluErf,
  kRelu,
  kReluSquared,
  kClippedSilu,  // see Clip
  kSitu,         // the same
};

// kClippedSilu: gate and up are clamped, gate from above alone; the result is
// (up + up_offset) * gate * sigmoid(alpha * gate).
// kSitu: bent(up, up_limit) * bent(gate, limit) * sigmoid(gate); bent(x, l) is l * tanh(x / l).
struct Clip {
  double limit = 7;
  double alpha = 1.702;
  double up_offset = 1;
  double up_limit = 0;  // 0: up isn't bent
};

// down(activation(gate x) * up x)
struct GatedMlpSpec {
  int64_t intermediate = 0;
  Activation activation = Activation::kSilu;
  bool bias = false;
  Clip clip = {};
  double gate_factor = 1;    // multiplies the gate before the activation
  double output_factor = 1;  // multiplies what comes out
  // Gemma 3n: so much of a normal distribution lies below the bound over which channels of the gate
  // go on, less that bound; 0: all go on as they are.
  double gate_sparsity = 0;
};

// down(activation(up x))
struct MlpSpec {
  int64_t intermediate = 0;
  bool bias = false;
  Activation activation = Activation::kGeluTanh;
};

// How a token's experts are chosen and weighed.
struct RouterSpec {
  enum class Score : uint8_t {
    kSoftmax,       // over all experts
    kPickedLogits,  // softmax over those that are picked
    kSigmoid,
    kSqrtSoftplus,
  };
  enum class GroupScore : uint8_t { kLargest, kTwoLargest };
  Score score = Score::kSoftmax;
  bool choice_bias = false;  // added for choosing, not for weighing
  int64_t groups = 1;        // only experts of the best groups_kept groups are chosen from
  int64_t groups_kept = 1;
  GroupScore group_score = GroupScore::kLargest;
  bool normalise = false;     // weights of the picked are divided by their sum
  double scale = 1;           // multiplies all weights
  bool bias = false;          // of the logits
  bool scales_input = false;  // the weight multiplies the expert's input, not its output
  int64_t token_table = 0;    // experts of a token are read from a table of so many ids
  // A network of so many channels makes the logits, those of one choice more that is no expert; it
  // reads what the layer before left of it. 0: one matrix makes them.
  int64_t network_width = 0;
};

// Each token passes a few of the experts, and the shared ones.
struct MixtureSpec {
  int64_t experts = 0;
  int64_t experts_per_token = 0;    // 0: the file doesn't say
  int64_t intermediate = 0;         // of one expert
  int64_t shared_intermediate = 0;  // of all shared experts together; 0: none
  int64_t latent = 0;               // experts work on so many channels; 0: on all
  bool latent_norm = false;         // of their sum, before it becomes all channels again
  bool gated = true;                // three matrices an expert, not two
  bool expert_bias = false;
  bool router_bias = false;
  bool shared_gate = false;
  int64_t other_parameters = 0;
  RouterSpec router = {};
  Activation activation = Activation::kSilu;
  Clip clip = {};
  Activation shared_activation = Activation::kSilu;
  double output_factor = 1;
  // Gemma 4: what is shared is a network of its own beside the experts; each has its norms, the
  // experts read the residual as it is, and weights have a factor for each expert.
  bool beside_network = false;
};

// RWKV: sigmoid(receptance) * value(relu(key)^2), of a token mixed with the one before.
// RwkvSpec::parameters counts it.
struct ChannelMixSpec {
  int64_t intermediate = 0;
};

struct NoFeedForward {};

using MixerSpec =
    std::variant<AttentionSpec, SharedAttentionSpec, CrossAttentionSpec, LatentAttentionSpec,
                 CompressedAttentionSpec, DeltaRuleSpec, LinearAttentionSpec, MambaSpec,
                 AttentionBesideMambaSpec, RwkvSpec, ShortConvSpec, RecurrentGateSpec, NoMixer>;
using FeedForwardSpec =
    std::variant<GatedMlpSpec, MlpSpec, MixtureSpec, ChannelMixSpec, NoFeedForward>;

// "full", "sliding", "mla+index", "mamba2", "reuse", ...: what people call the layer.
std::string KindOf(const MixerSpec& mixer);

// A branch's way back into the residual: residual = keep * residual + add * branch.
struct BranchScale {
  double keep = 1;
  double add = 1;
  bool keeps_normed = false;  // the branch's normed input stands for the residual
};

struct LayerSpec {
  MixerSpec mixer;
  FeedForwardSpec feed_forward;
  // Gemma 2 and 3: a norm on each branch's output before it is added to the residual.
  bool branch_output_norms = false;
  // Vectors of the layer's other norms: one for an RMSNorm, two for a LayerNorm with bias.
  int norm_vectors = 2;
  std::optional<NgramSpec> ngram = std::nullopt;
  int64_t other_parameters = 0;  // outside of mixer and network: scales of residual streams
  bool branch_input_norms = true;
  bool parallel = false;  // mixer and network read the same residual and are added together
  BranchScale mixer_scale = {};
  BranchScale feed_forward_scale = {};
};

// What the layers' branches read from and are added to. Each kind is a part of models/.
struct PlainResidualSpec {};  // one stream; LayerSpec says the rest
// DeepSeek V4: several streams, mixed by weights that they make themselves.
struct HyperConnectionsSpec {
  int64_t streams = 0;
  int64_t iterations = 0;  // of normalising the mixing matrix
  double epsilon = 0;
  bool ends_in_mean = false;  // of the streams; else in a weighted sum of its own
};
// Qwen 4: several streams with low-rank mixing.
struct GatedStreamsSpec {
  int64_t streams = 0;
  int64_t rank = 0;
};
// What a layer knows of a token besides the residual.
struct LayerInputsSpec {
  int64_t width = 0;       // of a layer's own embedding of the token; 0: there is none
  int64_t vocabulary = 0;  // ids beyond it use row 0
  Activation activation = Activation::kGeluTanh;
};
// Gemma 3n: streams predicted and corrected, a low-rank branch, inputs of each layer.
struct AltUpSpec {
  int64_t streams = 0;
  int64_t active = 0;
  int64_t low_rank = 0;  // of the branch beside attention
  bool scales_active = true;
  LayerInputsSpec inputs = {};
};
// Gemma 4: one stream, inputs of each layer, a factor for each layer.
struct PerLayerInputsSpec {
  LayerInputsSpec inputs = {};
};
// Kimi K3: layers make blocks, and each branch reads a mean, weighted by a softmax, of what the
// blocks before added up to and of what the current one has so far.
struct AttendedBlocksSpec {
  int64_t block = 0;  // layers of one
};
// Zaya: scales and biases for each channel.
struct ChannelScalesSpec {};
using ResidualSpec =
    std::variant<PlainResidualSpec, HyperConnectionsSpec, GatedStreamsSpec, AltUpSpec,
                 PerLayerInputsSpec, AttendedBlocksSpec, ChannelScalesSpec>;

enum class NormKind : uint8_t {
  kRms,
  kLayer,  // with mean and bias
};

struct ModelSpec {
  std::string family;  // row of families.cc: "llama", "gemma3", ...
  int64_t vocabulary = 0;
  int64_t hidden = 0;
  TokenCount context_length;  // 0: the file names none
  double norm_epsilon = 0;
  NormKind norm = NormKind::kRms;
  bool norm_weight_plus_one = false;  // the stored norm weight w means (1 + w)
  bool embedding_norm = false;        // embeddings are normed before the first layer
  std::optional<double> final_norm_epsilon = std::nullopt;  // where it isn't norm_epsilon
  double embedding_scale = 1;
  double logit_factor = 1;
  double logit_cap = 0;  // logits become cap * tanh(logit / cap); 0: none
  bool tied_head = false;
  int final_norm_vectors = 1;
  int64_t other_parameters = 0;  // outside of the layers: positions, biases of the head
  // Why this describes what the model keeps but not how it computes; empty: it does both.
  std::string sizing_only = {};
  ResidualSpec residual = {};
  std::string uncounted = {};  // why the parameters can't be counted; empty: they can
  std::vector<LayerSpec> layers;
  // Layers that draft tokens ahead (multi-token prediction): not among `layers`, and part of no
  // size unless asked for. Their count is what the file says; files rarely say more.
  std::vector<LayerSpec> draft_layers;
  // What people get wrong about such a file, a sentence each.
  std::vector<std::string> notes;
};

// Stored forms of one layer's keys and values.
struct LayerForms {
  StateForm keys;
  StateForm values;

  bool operator==(const LayerForms&) const = default;
};

// Stored forms. Latent rows, index keys and compressed entries are stored in the codec of keys.
// Keys and values that softmax attention reads whole may be turned and have exact ends; keys that
// are picked from by an index can only be rotated.
struct StateCodecs {
  StateForm keys = {};
  StateForm values = {};
  // By layer, for the keys and values of softmax attention; empty: all layers are as above.
  std::vector<LayerForms> layers = {};
  // Tails of convolutions, token shifts; unless named as keys are, if those are plain floats, else
  // BF16.
  std::optional<DType> convolutions = std::nullopt;
  DType recurrent = DType::kF32;  // recurrent states of models that name no type
};

// REQUIRES codecs.layers is empty or has one entry for each layer.
StateSpec StateSpecOf(const ModelSpec& model, const StateCodecs& codecs);

}  // namespace cairn

#endif  // CAIRN_SPEC_MODEL_SPEC_H_
