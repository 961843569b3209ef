// Softmax weights by themselves, of one query over rows that were decoded before: what token
// policies judge rows by.
//
// Keys come as [key_width][stride] floats, a row's channels `stride` apart, so that loops run along
// rows and every weight has one order of additions, channel by channel. That isn't the order of
// Attention, whose outputs these weights equal up to rounding. Thread-safe.
#ifndef CAIRN_KERNELS_ATTENTION_WEIGHTS_H_
#define CAIRN_KERNELS_ATTENTION_WEIGHTS_H_

#include <cstdint>
#include <span>

#include "cairn/kernels/attention.h"

namespace cairn {

// The keys of one KV head, undone from their stored form: `keys` is [key_width][stride]. Rows of
// the blocks [0, rows) that the span holds; those before the head's first row are 0. REQUIRES keys
// that aren't standardised.
void DecodeKeysOf(const AttentionShape& shape, const AttentionSpan& span, int64_t kv_head,
                  int64_t rows, int64_t stride, float* keys);
// Its values, [rows][value_width].
void DecodeValuesOf(const AttentionShape& shape, const AttentionSpan& span, int64_t kv_head,
                    int64_t rows, float* values);

struct DecodedKeys {
  const float* keys = nullptr;
  int64_t stride = 0;
  int64_t first = 0;  // rows [first, end) are seen
  int64_t end = 0;
};
// weights[first ..end) = the weights that query head `head` gives the rows; numbers that aren't
// finite count as no weight. With a sink they add up to less than 1.
void SoftmaxWeights(const AttentionShape& shape, int64_t head, const float* query,
                    const DecodedKeys& keys, float* weights);

}  // namespace cairn

#endif  // CAIRN_KERNELS_ATTENTION_WEIGHTS_H_
