#include "cairn/models/state_access.h"

#include <algorithm>
#include <array>
#include <variant>

#include "cairn/base/check.h"
#include "cairn/kernels/dequantize.h"
#include "cairn/kernels/state_rows.h"

namespace cairn {

float* FixedPlace::Floats(const SequenceView& state) const {
  CAIRN_DCHECK(dtype == DType::kF32);
  return reinterpret_cast<float*>(In(state));
}

FixedPlace FixedPlace::Part(int64_t first, int64_t count) const {
  CAIRN_DCHECK(first >= 0 && count >= 0 && first + count <= elements);
  return {offset + BytesOf(dtype, ElementCount(first)).value(), count, dtype};
}

void FixedPlace::Load(const SequenceView& state, float* to) const {
  const auto bytes = static_cast<size_t>(BytesOf(dtype, ElementCount(elements)).value());
  DequantizeRow(dtype, {In(state), bytes}, to, elements);
}

void FixedPlace::Store(const SequenceView& state, const float* from) const {
  StoreFloats(dtype, from, elements, In(state));
}

FixedPlace FixedPlaceOf(const StateLayout& layout, LayerIndex layer, std::string_view name) {
  for (const FixedSlot& slot : layout.fixed()) {
    if (slot.layer != layer) continue;
    const LayerState& state = layout.spec().layers[static_cast<size_t>(layer.value())];
    const auto& fixed = std::get<Fixed>(state.components[static_cast<size_t>(slot.component)]);
    if (fixed.name == name) return {slot.offset.value(), fixed.elements.value(), fixed.dtype};
  }
  CAIRN_CHECK(false);
}

void RoundTo(DType dtype, float* x, int64_t count) {
  if (dtype == DType::kF32) return;
  constexpr int64_t kPiece = 256;
  std::array<std::byte, kPiece * sizeof(float)> stored;
  for (int64_t i = 0; i < count; i += kPiece) {
    const int64_t size = std::min(kPiece, count - i);
    const auto bytes = static_cast<size_t>(BytesOf(dtype, ElementCount(size)).value());
    StoreFloats(dtype, x + i, size, stored.data());
    DequantizeRow(dtype, {stored.data(), bytes}, x + i, size);
  }
}

}  // namespace cairn
