#include "cairn/spec/gguf_layers.h"

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "cairn/spec/families_for_tests.h"

namespace cairn {
namespace {

// One letter a layer: r, s and i where its flag is set, else a dot.
std::string Letters(const std::vector<bool>& flags, char letter) {
  std::string letters;
  for (const bool flag : flags) letters += flag ? letter : '.';
  return letters;
}

GgufLayers Read(const FakeGguf& file, bool has_index = false) {
  const GgufKeys keys(file.metadata, file.architecture);
  const auto row = FindGgufArchitecture(file.architecture, "m.gguf");
  REQUIRE(row.has_value());
  const GgufTensors tensors = {
      .has = [&](std::string_view name) { return file.tensors.contains(name); },
      .rope_divisors = {}};
  const auto layers = LayersFromGguf(keys, *ReadGgufFrame(keys), tensors, **row, has_index);
  REQUIRE_MESSAGE(layers.has_value(), (layers ? "" : layers.error().message));
  return *layers;
}

}  // namespace

TEST_CASE("recurrent layers: a list beats tensors, tensors beat the interval") {
  FakeGguf file("minimax-01");
  CHECK_EQ(Letters(Read(file).recurrent, 'r'), "rrrr");
  file.Set("full_attention_interval", 2);
  CHECK_EQ(Letters(Read(file).recurrent, 'r'), "r.r.");
  file.tensors.insert("blk.3.attn_norm_2.weight");
  CHECK_EQ(Letters(Read(file).recurrent, 'r'), "...r");
  file.Set("attention.recurrent_layers", std::vector<int64_t>{0, 1, 1, 0});
  CHECK_EQ(Letters(Read(file).recurrent, 'r'), ".rr.");
}

TEST_CASE("layers of multi-token prediction are none of these") {
  FakeGguf file("qwen35");
  file.Set("block_count", 5);
  file.Set("nextn_predict_layers", 1);
  file.Set("attention.recurrent_layers", std::vector<int64_t>{1, 1, 1, 0, 0});
  CHECK_EQ(Letters(Read(file).recurrent, 'r'), "rrr.");
}

TEST_CASE("a window without a pattern is every layer's, or by the architecture's period") {
  FakeGguf always("phi3");
  always.Set("attention.sliding_window", 16);
  CHECK_EQ(Letters(Read(always).slides, 's'), "ssss");
  CHECK_EQ(Read(always).window, 16);
  FakeGguf periodic("plamo3");
  periodic.Set("attention.sliding_window", 16);
  periodic.Set("attention.sliding_window_pattern", 2);
  CHECK_EQ(Letters(Read(periodic).slides, 's'), "s.s.");
}

TEST_CASE("index keys are behind the dense layers where the architecture says so") {
  FakeGguf file("minimax-m3");
  file.Set("leading_dense_block_count", 1);
  CHECK_EQ(Letters(Read(file, true).indexed, 'i'), ".iii");
  CHECK_EQ(Letters(Read(file, false).indexed, 'i'), "....");
}

}  // namespace cairn
