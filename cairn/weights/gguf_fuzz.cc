// Any bytes are a GGUF file whose tensors lie inside them, or a one-line error.
#include "cairn/weights/gguf.h"

#include "cairn/weights/weight_file_for_tests.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::span<const std::byte> bytes(reinterpret_cast<const std::byte*>(data), size);
  cairn::CheckWeightFile(cairn::ParseGguf(bytes, "fuzz.gguf"), bytes);
  return 0;
}
