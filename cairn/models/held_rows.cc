#include "cairn/models/held_rows.h"

#include <cstring>

namespace cairn {

void HeldRows::Copy(Rows& to, const std::byte* from, size_t row_bytes) const {
  const size_t bytes = static_cast<size_t>(tokens_) * row_bytes;
  to.row_bytes = row_bytes;
  to.data.Reserve(bytes);
  if (bytes > 0) std::memcpy(to.data.data(), from, bytes);
}

void HeldRows::Take(const Pass& pass, int64_t first, int64_t width, int64_t layers) {
  tokens_ = pass.tokens - first;
  layers_ = layers;
  Copy(residual_, reinterpret_cast<const std::byte*>(pass.residual + first * width),
       static_cast<size_t>(width) * sizeof(float));
  for (size_t i = 0; i < kHandovers; ++i) {
    HandoverRows& handover = (*pass.handovers)[i];
    const size_t row_bytes = handover.row_bytes();
    const std::byte* rows = row_bytes > 0 ? handover.Rows(pass.tokens, row_bytes) : nullptr;
    Copy(handovers_[i], rows + static_cast<size_t>(first) * row_bytes, row_bytes);
  }
}

void HeldRows::MakeRoom(const Pass& pass, int64_t first) const {
  for (size_t i = 0; i < kHandovers; ++i) {
    const size_t row_bytes = handovers_[i].row_bytes;
    if (row_bytes > 0) (*pass.handovers)[i].Rows(first + tokens_, row_bytes);
  }
}

void HeldRows::Give(const Pass& pass, int64_t first) const {
  const auto count = static_cast<size_t>(tokens_);
  const auto at = static_cast<size_t>(first);
  auto* residual = reinterpret_cast<std::byte*>(pass.residual);
  std::memcpy(residual + at * residual_.row_bytes, residual_.data.data(),
              count * residual_.row_bytes);
  for (size_t i = 0; i < kHandovers; ++i) {
    const size_t row_bytes = handovers_[i].row_bytes;
    if (row_bytes == 0) continue;
    std::byte* rows = (*pass.handovers)[i].Rows(first + tokens_, row_bytes);
    std::memcpy(rows + at * row_bytes, handovers_[i].data.data(), count * row_bytes);
  }
}

}  // namespace cairn
