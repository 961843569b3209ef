// Any bytes are a safetensors file whose tensors lie inside them, or a one-line error; and any text
// is an index of shards or a one-line error.
#include "cairn/weights/safetensors.h"

#include "cairn/weights/safetensors_json.h"
#include "cairn/weights/weight_file_for_tests.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::span<const std::byte> bytes(reinterpret_cast<const std::byte*>(data), size);
  cairn::CheckWeightFile(cairn::ParseSafetensors(bytes, "fuzz.safetensors"), bytes);
  const auto index =
      cairn::ParseSafetensorsIndex({reinterpret_cast<const char*>(data), size}, "fuzz.json");
  if (!index) cairn::CheckMessage(index.error().message);
  return 0;
}
