// Sizing: how much memory a model's state takes, and which layers take it.
//
// Adds up what StateLayout answers, for the whole model and for groups of equal layers; there is no
// formula of its own here. Three figures everywhere: content, the rows that are still needed after
// a token; allocated, the whole blocks that hold them; and kv with state, what there must be room
// for while a request grows to so many tokens. Plain data and pure functions; thread-compatible.
#ifndef CAIRN_SIZING_SIZING_H_
#define CAIRN_SIZING_SIZING_H_

#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "cairn/base/ids.h"
#include "cairn/base/status.h"
#include "cairn/sizing/request_mix.h"
#include "cairn/spec/model_spec.h"
#include "cairn/spec/state_layout.h"

namespace cairn {

inline constexpr int64_t kMaxBatch = 1'000'000;

// What is asked: for each entry of `tokens` the state of `batch` requests so long; or, where there
// are `requests`, the state of those together.
struct SizingQuestion {
  StateCodecs codecs = {};
  int64_t batch = 1;                    // 1 .. kMaxBatch
  std::vector<TokenCount> tokens = {};  // each 0 .. kMaxStateTokens
  std::vector<RequestGroup> requests = {};
  TokenCount shared_prefix = {};  // of all requests
  int row_ranks = 1;              // cards that divide a sequence's rows (AmountOf)

  std::vector<RequestMix> Mixes() const;
};

// Of a file's tensor table.
struct WeightTotals {
  ElementCount parameters;
  std::optional<Bytes> bytes;  // nothing when the file has types of unknown size
};

// All layers of one kind that keep the same state; figures are the group's, not one layer's.
struct LayerGroup {
  std::string kind;  // KindOf the mixers
  LayerState state;
  std::vector<LayerIndex> layers;   // ascending
  std::vector<LayerIndex> sources;  // of layers that read another's rows: whose, in their order
  ElementCount elements_per_token;  // at the margin: once every window is full
  Bytes bytes_per_token;
  Bytes fixed_bytes_per_request;
  std::vector<StateAmount> amounts;  // one for each answer of the sizing
};

struct SizeAnswer {
  TokenCount tokens;  // of the longest request
  int64_t requests = 1;
  StateAmount per_request;  // one request of so many tokens that shares nothing
  StateAmount total;        // all requests, the shared prefix once
};

struct Sizing {
  SizingQuestion question;
  // Of the file if there is one, else from the shapes if they tell.
  std::optional<ElementCount> parameters;
  std::optional<WeightTotals> weights;
  ElementCount elements_per_token;
  Bytes bytes_per_token;
  Bytes fixed_bytes_per_request;
  std::vector<LayerGroup> groups;   // by first layer
  std::vector<SizeAnswer> answers;  // in the order of question.Mixes()
};

// Runs of consecutive layers, both ends included.
std::vector<std::pair<int32_t, int32_t>> RunsOf(const std::vector<LayerIndex>& layers);

// Errors: a batch or token count out of range, a codec that doesn't fit the widths, a total that
// passes 63 bits.
Result<Sizing> SizeModel(const ModelSpec& model, SizingQuestion question,
                         std::optional<WeightTotals> weights);

}  // namespace cairn

#endif  // CAIRN_SIZING_SIZING_H_
