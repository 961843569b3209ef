#include "cairn/spec/gguf_keys.h"

#include <doctest/doctest.h>

#include <string>
#include <vector>

namespace cairn {
namespace {

Metadata SomeKeys() {
  Metadata metadata("m.gguf");
  metadata.Set("a.block_count", int64_t{4});
  metadata.Set("a.nextn_predict_layers", int64_t{1});
  metadata.Set("a.one", int64_t{7});
  metadata.Set("a.four", std::vector<int64_t>{1, 2, 3, 4});
  metadata.Set("a.three", std::vector<int64_t>{1, 2, 3});
  metadata.Set("a.two", std::vector<int64_t>{1, 2});
  return metadata;
}

}  // namespace

TEST_CASE("layers that predict further tokens are blocks and no decoder layers") {
  const Metadata metadata = SomeKeys();
  const auto blocks = GgufKeys(metadata, "a").Blocks();
  REQUIRE(blocks.has_value());
  CHECK_EQ(blocks->all, 4);
  CHECK_EQ(blocks->layers, 3);
}

TEST_CASE("a number counts for each layer, a list with or without those that predict") {
  const Metadata metadata = SomeKeys();
  const GgufKeys keys(metadata, "a");
  const GgufBlocks blocks = {.all = 4, .layers = 3};
  CHECK_EQ(*keys.PerLayer("one", blocks, {0, 9}), std::vector<int64_t>{7, 7, 7});
  CHECK_EQ(*keys.PerLayer("four", blocks, {0, 9}), std::vector<int64_t>{1, 2, 3});
  CHECK_EQ(*keys.PerLayer("three", blocks, {0, 9}), std::vector<int64_t>{1, 2, 3});
  CHECK_EQ(*keys.PerLayerOr("none", blocks, {0, 9}, 5), std::vector<int64_t>{5, 5, 5});
  CHECK_FALSE(keys.PerLayer("none", blocks, {0, 9}).has_value());
  const auto shorter = keys.PerLayer("two", blocks, {0, 9});
  REQUIRE_FALSE(shorter.has_value());
  CHECK_EQ(shorter.error().message,
           "m.gguf: key a.two is an array of 2 integers, expected an integer or an array of 4 "
           "integers, one per layer");
}

TEST_CASE("a number out of its range is an error with the key's whole name") {
  const Metadata metadata = SomeKeys();
  const auto value = GgufKeys(metadata, "a").Int("one", {1, 5});
  REQUIRE_FALSE(value.has_value());
  CHECK_EQ(value.error().message, "m.gguf: key a.one is 7, expected an integer from 1 to 5");
}

TEST_CASE("the vocabulary is as large as the list of tokens, also when that was passed over") {
  Metadata metadata("m.gguf");
  CHECK_FALSE(GgufVocabulary(GgufKeys(metadata, "a"))->has_value());
  metadata.Set("a.vocab_size", int64_t{50});
  CHECK_EQ(*GgufVocabulary(GgufKeys(metadata, "a")), 50);
  metadata.SetSkippedArray("tokenizer.ggml.tokens", 60);
  CHECK_EQ(*GgufVocabulary(GgufKeys(metadata, "a")), 60);
  metadata.SetSkippedArray("tokenizer.ggml.tokens", uint64_t{1} << 40);
  CHECK_FALSE(GgufVocabulary(GgufKeys(metadata, "a")).has_value());
}

}  // namespace cairn
