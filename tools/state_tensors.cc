#include "tools/state_tensors.h"

#include <fmt/core.h>

#include <cstring>
#include <deque>
#include <map>
#include <utility>
#include <variant>
#include <vector>

#include "cairn/kernels/dequantize.h"
#include "cairn/kernels/state_rows.h"
#include "cairn/weights/safetensors.h"

namespace cairn {
namespace {

using Blocks = std::map<std::pair<int32_t, int64_t>, const std::byte*>;

// Collects tensors; keeps their numbers until they are written.
class Collector {
 public:
  Collector(const StateStore& store, SequenceId id)
      : layout_(store.layout()), tokens_(store.Length(id)), fixed_(store.FixedBytes(id)) {
    store.ForEachBlock(
        id, [&](ClassIndex block_class, int64_t block, std::span<const std::byte> bytes) {
          blocks_[{block_class.value(), block}] = bytes.data();
        });
  }

  Status AddRows(ClassIndex block_class, const RowsSlot& slot) {
    const Rows& rows = std::get<Rows>(ComponentOf(slot.layer, slot.component));
    const int64_t end =
        layout_.classes()[static_cast<size_t>(block_class.value())].RowsCompleted(tokens_);
    const int64_t count = layout_.RowsNeeded(block_class, tokens_);
    const std::vector<int64_t> shape = {rows.heads, count, rows.width};
    const int64_t row_elements = rows.heads * rows.width;
    if (rows.codec == DType::kI64) {
      int64_t* to = Integers(slot.layer, rows.name, shape);
      for (int64_t i = 0; i < count; ++i) {
        for (int64_t e = 0; e < row_elements; ++e) {
          const int64_t row = (end - count + i) % kRowsPerBlock;
          const int64_t at = (e / rows.width * kRowsPerBlock + row) * rows.width + e % rows.width;
          std::memcpy(to + e * count + i,
                      Block(block_class, slot, end - count + i) +
                          at * static_cast<int64_t>(sizeof(int64_t)),
                      sizeof(int64_t));
        }
      }
      return {};
    }
    if (rows.transform != RowTransform::kNone) {
      return Fail(ErrorCode::kUnsupported,
                  "state that is kept rotated or standardised can't be written as plain numbers");
    }
    if (InfoOf(rows.codec).block_elements != 1) {
      return Fail(ErrorCode::kUnsupported, "state kept as {} can't be written as plain numbers",
                  InfoOf(rows.codec).name);
    }
    float* to = Floats(slot.layer, rows.name, shape);
    std::vector<float> row(static_cast<size_t>(row_elements));
    const auto load = rows.order == RowOrder::kTransposedTiles ? LoadRowTransposed : LoadRow;
    for (int64_t i = 0; i < count; ++i) {
      const int64_t index = end - count + i;
      load(rows.codec, Block(block_class, slot, index), rows.heads, rows.width,
           index % kRowsPerBlock, row.data());
      for (int64_t h = 0; h < rows.heads; ++h) {
        std::memcpy(to + (h * count + i) * rows.width, row.data() + h * rows.width,
                    static_cast<size_t>(rows.width) * sizeof(float));
      }
    }
    return {};
  }

  void AddFixed(const FixedSlot& slot) {
    const Fixed& fixed = std::get<Fixed>(ComponentOf(slot.layer, slot.component));
    const std::span<const std::byte> bytes =
        fixed_.subspan(static_cast<size_t>(slot.offset.value()),
                       static_cast<size_t>(BytesOf(fixed.dtype, fixed.elements).value()));
    const std::vector<int64_t> shape = {fixed.elements.value()};
    if (fixed.dtype == DType::kI64) {
      std::memcpy(Integers(slot.layer, fixed.name, shape), bytes.data(), bytes.size());
      return;
    }
    DequantizeRow(fixed.dtype, bytes, Floats(slot.layer, fixed.name, shape),
                  fixed.elements.value());
  }

  Status Write(const std::string& path) const { return WriteSafetensors(path, tensors_); }

 private:
  const Component& ComponentOf(LayerIndex layer, int component) const {
    return layout_.spec()
        .layers[static_cast<size_t>(layer.value())]
        .components[static_cast<size_t>(component)];
  }
  const std::byte* Block(ClassIndex block_class, const RowsSlot& slot, int64_t row) const {
    return blocks_.at({block_class.value(), row / kRowsPerBlock}) + slot.offset.value();
  }
  void* Add(LayerIndex layer, const std::string& name, DType dtype, std::vector<int64_t> shape) {
    int64_t elements = 1;
    for (const int64_t size : shape) elements *= size;
    auto& bytes =
        kept_.emplace_back(static_cast<size_t>(BytesOf(dtype, ElementCount(elements)).value()));
    tensors_.push_back(
        {fmt::format("state.{}.{}", layer.value(), name), dtype, std::move(shape), bytes});
    return bytes.data();
  }
  float* Floats(LayerIndex layer, const std::string& name, const std::vector<int64_t>& shape) {
    return static_cast<float*>(Add(layer, name, DType::kF32, shape));
  }
  int64_t* Integers(LayerIndex layer, const std::string& name, const std::vector<int64_t>& shape) {
    return static_cast<int64_t*>(Add(layer, name, DType::kI64, shape));
  }

  const StateLayout& layout_;
  const TokenCount tokens_;
  const std::span<const std::byte> fixed_;
  Blocks blocks_;
  std::deque<std::vector<std::byte>> kept_;
  std::vector<NamedTensor> tensors_;
};

}  // namespace

Status WriteStateTensors(const StateStore& store, SequenceId id, const std::string& path) {
  Collector collector(store, id);
  const StateLayout& layout = store.layout();
  for (size_t i = 0; i < layout.classes().size(); ++i) {
    const ClassIndex block_class(static_cast<int32_t>(i));
    for (const RowsSlot& slot : layout.classes()[i].slots) {
      CAIRN_TRY(collector.AddRows(block_class, slot));
    }
  }
  for (const FixedSlot& slot : layout.fixed()) collector.AddFixed(slot);
  return collector.Write(path);
}

}  // namespace cairn
