// Any sequence of operations on a StateStore, taken from the input, against the naive model.
#include <cstddef>
#include <cstdint>

#include "cairn/state/state_model_for_tests.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  constexpr int kMaxOperations = 200;
  cairn::InputChoice choose(data, size);
  cairn::StateModel model = cairn::RandomStateModel(choose);
  for (int i = 0; i < kMaxOperations && !choose.empty(); ++i) model.Operate(choose);
  return 0;
}
