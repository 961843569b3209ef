// What the parts of a model are given while a batch passes through its layers.
//
// Thread safety: one pass at a time; parts run one after the other and use the pool inside.
#ifndef CAIRN_MODELS_PASS_H_
#define CAIRN_MODELS_PASS_H_

#include <array>
#include <cstdint>
#include <span>

#include "cairn/base/aligned_buffer.h"
#include "cairn/base/ids.h"
#include "cairn/base/thread_pool.h"
#include "cairn/kernels/attention.h"
#include "cairn/kernels/index_picks.h"
#include "cairn/kernels/matmul.h"
#include "cairn/kernels/row_attention.h"
#include "cairn/models/model.h"

namespace cairn {

class KeyObserver;

// Working memory that all parts share; what a part leaves there is gone when the next one runs.
// Parts use the slots below kOuter; a part that runs other parts keeps its own in those from kOuter
// on, the residual in those from kResidual on. Grows to the largest batch, then allocates nothing.
class Workspace {
 public:
  static constexpr int kOuter = 12;
  static constexpr int kResidual = 16;
  static constexpr int kSlots = 24;
  static constexpr int kActivations = 4;

  // Room for `count` floats; not initialised. The pointer holds until the slot is asked for again.
  float* Floats(int slot, int64_t count) {
    AlignedBuffer& buffer = buffers_[static_cast<size_t>(slot)];
    buffer.Reserve(static_cast<size_t>(count) * sizeof(float));
    return buffer.As<float>();
  }
  Activations& activations(int slot) { return activations_[static_cast<size_t>(slot)]; }
  AttentionScratch& attention() { return attention_; }
  RowAttentionScratch& row_attention() { return row_attention_; }
  IndexScratch& index() { return index_; }

 private:
  std::array<AlignedBuffer, kSlots> buffers_;
  std::array<Activations, kActivations> activations_;
  AttentionScratch attention_;
  RowAttentionScratch row_attention_;
  IndexScratch index_;
};

// What a layer leaves for later layers of the same pass: [tokens][whatever they agreed on].
enum class Handover : uint8_t {
  kIndexPicks,      // which rows an index left each token to read
  kIndexCounts,     // how many they are
  kRouterState,     // what a router hands on to the next layer's
  kPerLayerInputs,  // embeddings of the tokens for each layer
};
inline constexpr size_t kHandovers = 4;

// The rows of one handover. Who uses it asks for as many as the pass has tokens.
class HandoverRows {
 public:
  // Lost when they grow; not initialised.
  std::byte* Rows(int64_t tokens, size_t row_bytes) {
    row_bytes_ = row_bytes;
    buffer_.Reserve(static_cast<size_t>(tokens) * row_bytes);
    return buffer_.data();
  }
  float* Floats(int64_t tokens, int64_t width) {
    return reinterpret_cast<float*>(Rows(tokens, static_cast<size_t>(width) * sizeof(float)));
  }
  // As it was last asked for; 0: never.
  size_t row_bytes() const { return row_bytes_; }

 private:
  AlignedBuffer buffer_;
  size_t row_bytes_ = 0;
};

struct Pass {
  std::span<const BatchSpan> batch;
  int64_t tokens = 0;
  std::span<const int64_t> positions;  // [tokens]
  std::span<const TokenId> ids;        // [tokens]
  std::span<const int64_t> all;        // 0 .. tokens - 1
  float* residual = nullptr;           // [tokens][Residual::width()]
  ThreadPool* pool = nullptr;
  Workspace* work = nullptr;
  std::array<HandoverRows, kHandovers>* handovers = nullptr;
  KeyObserver* key_observer = nullptr;

  HandoverRows& At(Handover what) const { return (*handovers)[static_cast<size_t>(what)]; }
};

// Calls body(span, first) for each span of the batch; its tokens are first, first + 1, ...
template <class Body>
void ForSpans(const Pass& pass, const Body& body) {
  int64_t first = 0;
  for (const BatchSpan& span : pass.batch) {
    body(span, first);
    first += static_cast<int64_t>(span.tokens.size());
  }
}

}  // namespace cairn

#endif  // CAIRN_MODELS_PASS_H_
