// Any sequence of operations on a PrefixTree, taken from the input: bytes are what the tokens say.
#include <cstddef>
#include <cstdint>
#include <iterator>

#include "cairn/spec/state_spec_for_tests.h"
#include "cairn/state/prefix_tree_model_for_tests.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  constexpr int kMaxOperations = 200;
  cairn::InputChoice choose(data, size);
  const auto names = cairn::EvictionPolicyNames();
  const auto model =
      cairn::RandomPrefixTreeModel(choose, names[static_cast<size_t>(choose(std::ssize(names)))]);
  for (int i = 0; i < kMaxOperations && !choose.empty(); ++i) model->Operate(choose);
  model->Audit();
  return 0;
}
