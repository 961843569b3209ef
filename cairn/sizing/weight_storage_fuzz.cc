// Any bytes as a config.json's quantization, and as the names of devices, links and forms: an error
// of one line, or an answer that can be weighed.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "cairn/base/check.h"
#include "cairn/sizing/hardware.h"
#include "cairn/sizing/weight_bytes.h"
#include "cairn/sizing/weight_storage.h"

namespace {

// Two layers, the second with experts.
cairn::ModelSpec Model() {
  cairn::ModelSpec model;
  model.family = "fuzzed";
  model.vocabulary = 256;
  model.hidden = 64;
  cairn::AttentionSpec attention;
  attention.heads = attention.kv_heads = 4;
  attention.key_width = attention.value_width = 16;
  model.layers.push_back({.mixer = attention, .feed_forward = cairn::GatedMlpSpec{96}});
  cairn::MixtureSpec mixture;
  mixture.experts = 8;
  mixture.experts_per_token = 2;
  mixture.intermediate = 32;
  model.layers.push_back({.mixer = attention, .feed_forward = mixture});
  return model;
}

template <class T>
void CheckError(const cairn::Result<T>& result) {
  if (result) return;
  CAIRN_CHECK(result.error().IsBadInput());
  CAIRN_CHECK(result.error().message.find('\n') == std::string::npos);
  CAIRN_CHECK(result.error().message.size() < 1000);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  CheckError(cairn::ParseGpu(text));
  CheckError(cairn::ParseLink(text));
  CheckError(cairn::WeightFormatFromName(text));
  const cairn::ModelSpec model = Model();
  const auto storage = cairn::StorageOfCheckpoint(model, text, "config.json");
  CheckError(storage);
  if (!storage) return 0;
  const auto weights = cairn::WeighModel(model, {}, *storage, std::nullopt);
  CAIRN_CHECK(weights.has_value());
  CAIRN_CHECK(weights->total > cairn::Bytes(0));
  return 0;
}
