// Any sequence of operations on a StateStore, taken from the input, against the naive model.
#include <cstddef>
#include <cstdint>

#include "cairn/state/state_model_for_tests.h"

namespace {

// Choices read from the input, zeros after its end.
class InputChoice {
 public:
  InputChoice(const uint8_t* data, size_t size) : data_(data), size_(size) {}
  bool empty() const { return at_ >= size_; }
  int64_t operator()(int64_t n) {
    int64_t value = Next();
    if (n > 256) value = value * 256 + Next();
    return value % n;
  }

 private:
  int64_t Next() { return empty() ? 0 : data_[at_++]; }

  const uint8_t* data_;
  size_t size_;
  size_t at_ = 0;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  constexpr int kMaxOperations = 200;
  InputChoice choose(data, size);
  cairn::StateModel model = cairn::RandomStateModel(choose);
  for (int i = 0; i < kMaxOperations && !choose.empty(); ++i) model.Operate(choose);
  return 0;
}
