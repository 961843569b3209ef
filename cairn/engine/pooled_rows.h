// PooledRows: the hidden states of a text's tokens on their way to its embedding.
//
// Rows come in the tokens' order, in pieces of any size; sums are taken one by one in double, so
// that pieces change no bit. Thread-compatible.
#ifndef CAIRN_ENGINE_POOLED_ROWS_H_
#define CAIRN_ENGINE_POOLED_ROWS_H_

#include <cstdint>
#include <span>
#include <vector>

#include "cairn/spec/pooling.h"

namespace cairn {

class PooledRows {
 public:
  explicit PooledRows(Pooling pooling) : pooling_(pooling) {}

  // How many of the last `tokens` tokens' rows are wanted, if that is where the text ends or not.
  int64_t Wanted(int64_t tokens, bool ends) const {
    if (pooling_ == Pooling::kMean) return tokens;
    return ends ? 1 : 0;
  }
  void Add(std::span<const float> row);
  void Clear() {
    sums_.clear();
    rows_ = 0;
  }
  // REQUIRES a row or more.
  std::vector<float> Pooled() const;

 private:
  Pooling pooling_;
  std::vector<double> sums_;
  int64_t rows_ = 0;
};

}  // namespace cairn

#endif  // CAIRN_ENGINE_POOLED_ROWS_H_
