// HeldRows: what the tokens of a span that has passed a part of the layers have with them, while
// other batches pass: their rows of the residual and of the handovers.
//
// Thread safety: none.
#ifndef CAIRN_MODELS_HELD_ROWS_H_
#define CAIRN_MODELS_HELD_ROWS_H_

#include <array>
#include <cstdint>

#include "cairn/base/aligned_buffer.h"
#include "cairn/models/pass.h"

namespace cairn {

class HeldRows {
 public:
  // Of the pass's tokens from `first` on, that have passed `layers` layers; `width` floats of the
  // residual each.
  void Take(const Pass& pass, int64_t first, int64_t width, int64_t layers);
  // Room for these tokens behind `first` others; before the pass writes anything. The residual has
  // it.
  void MakeRoom(const Pass& pass, int64_t first) const;
  // Puts them back where the pass's tokens from `first` on have theirs.
  void Give(const Pass& pass, int64_t first) const;

  int64_t tokens() const { return tokens_; }
  int64_t layers() const { return layers_; }

 private:
  struct Rows {
    AlignedBuffer data;
    size_t row_bytes = 0;
  };
  void Copy(Rows& to, const std::byte* from, size_t row_bytes) const;

  int64_t tokens_ = 0;
  int64_t layers_ = 0;
  Rows residual_;
  std::array<Rows, kHandovers> handovers_;
};

}  // namespace cairn

#endif  // CAIRN_MODELS_HELD_ROWS_H_
