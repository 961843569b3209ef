// Reencode: a state that llama.cpp saved with keys and values in f16, for a cache of other types.
//
// Filling a deep quantized cache takes llama.cpp many minutes; measuring needs its bytes, not its
// exact values. What differs from a state that was computed in these types is only that errors of
// earlier tokens' rows are missing in later ones.
//
// The format is that of llama_kv_cache::state_write for one sequence: cells, then each layer's key
// rows, then its value rows (not transposed, as with flash attention); a model with windows has two
// such caches, one behind the other.
#ifndef CAIRN_BENCH_LLAMACPP_STATE_H_
#define CAIRN_BENCH_LLAMACPP_STATE_H_

#include <ggml.h>

#include <cstdint>
#include <cstring>
#include <vector>

class StateRecoder {
 public:
  StateRecoder(const std::vector<uint8_t>& from, ggml_type keys, ggml_type values)
      : from_(from), keys_(keys), values_(values) {}

  // Empty if `from` isn't such a state.
  std::vector<uint8_t> Run() {
    Copy(2 * sizeof(uint32_t));  // magic, sequence
    while (ok_ && at_ < from_.size()) Cache();
    return ok_ ? std::move(to_) : std::vector<uint8_t>();
  }

 private:
  template <class T>
  T Read() {
    T value{};
    if (!ok_ || from_.size() - at_ < sizeof(T)) return ok_ = false, value;
    std::memcpy(&value, from_.data() + at_, sizeof(T));
    at_ += sizeof(T);
    return value;
  }
  template <class T>
  void Write(T value) {
    const auto* bytes = reinterpret_cast<const uint8_t*>(&value);
    to_.insert(to_.end(), bytes, bytes + sizeof(T));
  }
  template <class T>
  T Copied() {
    const T value = Read<T>();
    Write(value);
    return value;
  }
  void Copy(size_t bytes) {
    if (!ok_ || from_.size() - at_ < bytes) {
      ok_ = false;
      return;
    }
    to_.insert(to_.end(), from_.begin() + static_cast<std::ptrdiff_t>(at_),
               from_.begin() + static_cast<std::ptrdiff_t>(at_ + bytes));
    at_ += bytes;
  }

  void Cache() {
    ok_ = ok_ && Copied<uint32_t>() == 1;  // streams
    const auto cells = Copied<uint32_t>();
    if (cells == 0) return;
    for (uint32_t cell = 0; ok_ && cell < cells; ++cell) {
      Copied<int32_t>();  // position
      const auto sequences = Copied<uint32_t>();
      Copy(sequences * sizeof(int32_t));
    }
    ok_ = ok_ && Copied<uint32_t>() == 0;  // not transposed
    const auto layers = Copied<uint32_t>();
    for (const ggml_type type : {keys_, values_}) {
      for (uint32_t layer = 0; ok_ && layer < layers; ++layer) Rows(cells, type);
    }
  }

  void Rows(int64_t cells, ggml_type type) {
    ok_ = ok_ && Read<int32_t>() == GGML_TYPE_F16;
    const auto elements = static_cast<int64_t>(Read<uint64_t>() / sizeof(ggml_fp16_t));
    const auto count = static_cast<size_t>(cells * elements);
    if (!ok_ || elements % ggml_blck_size(type) != 0 ||
        from_.size() - at_ < count * sizeof(ggml_fp16_t)) {
      ok_ = false;
      return;
    }
    std::vector<ggml_fp16_t> halves(count);
    std::memcpy(halves.data(), from_.data() + at_, count * sizeof(ggml_fp16_t));
    at_ += count * sizeof(ggml_fp16_t);
    std::vector<float> floats(count);
    ggml_fp16_to_fp32_row(halves.data(), floats.data(), cells * elements);
    Write(static_cast<int32_t>(type));
    const size_t row = ggml_row_size(type, elements);
    Write(static_cast<uint64_t>(row));
    const size_t start = to_.size();
    to_.resize(start + static_cast<size_t>(cells) * row);
    ggml_quantize_chunk(type, floats.data(), to_.data() + start, 0, cells, elements, nullptr);
  }

  const std::vector<uint8_t>& from_;
  const ggml_type keys_;
  const ggml_type values_;
  std::vector<uint8_t> to_;
  size_t at_ = 0;
  bool ok_ = true;
};

#endif  // CAIRN_BENCH_LLAMACPP_STATE_H_
