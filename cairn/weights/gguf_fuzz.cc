// Any bytes are a GGUF file whose tensors lie inside them, or a one-line error; and so are the
// first bytes of a longer file, whose header describes a model or not.
#include "cairn/weights/gguf.h"

#include "cairn/spec/families.h"
#include "cairn/weights/gguf_header.h"
#include "cairn/weights/weight_file_for_tests.h"

namespace {

void ReadAsHeader(std::span<const std::byte> bytes, uint64_t file_bytes) {
  const auto header = cairn::ParseGgufHeader(bytes, file_bytes, "fuzz.gguf");
  if (!header) return cairn::CheckMessage(header.error().message);
  const auto model =
      cairn::ModelSpecFromGguf(header->metadata, {.has = [](std::string_view) { return false; },
                                                  .rope_divisors = {},
                                                  .complete = header->complete()});
  if (!model) cairn::CheckMessage(model.error().message);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::span<const std::byte> bytes(reinterpret_cast<const std::byte*>(data), size);
  cairn::CheckWeightFile(cairn::ParseGguf(bytes, "fuzz.gguf"), bytes);
  ReadAsHeader(bytes, size);
  ReadAsHeader(bytes, 2 * uint64_t{size});
  return 0;
}
