#include "cairn/spec/family_latent.h"

#include <doctest/doctest.h>

#include <string>
#include <utility>

namespace cairn {
namespace {

HfConfig Parsed(const std::string& entries) {
  auto config = HfConfig::Parse("{" + entries + "}", "config.json");
  REQUIRE(config.has_value());
  return *std::move(config);
}

constexpr const char* kLatent = R"("kv_lora_rank": 32, "qk_rope_head_dim": 8,
    "num_attention_heads": 4, "qk_nope_head_dim": 16, "v_head_dim": 12, "q_lora_rank": 24)";

}  // namespace

TEST_CASE("attention_bias puts biases on the down projections and the output") {
  const auto plain = LatentFromConfig(Parsed(kLatent));
  REQUIRE(plain.has_value());
  CHECK_EQ(plain->other_parameters, 0);
  CHECK_FALSE(plain->output_bias);
  const auto biased =
      LatentFromConfig(Parsed(kLatent + std::string(R"(, "attention_bias": true)")));
  REQUIRE(biased.has_value());
  CHECK_EQ(biased->other_parameters, 24 + 32 + 8);
  CHECK(biased->output_bias);
}

TEST_CASE("which layers have index keys: a list, letters, or a frequency") {
  const auto layers = [](const std::string& entries) {
    const auto indexed = IndexedLayers(Parsed(entries), 4);
    REQUIRE(indexed.has_value());
    return *indexed;
  };
  CHECK_EQ(layers(""), std::vector<bool>{true, true, true, true});
  CHECK_EQ(layers(R"("index_topk_pattern": "FSSF")"), std::vector<bool>{true, false, false, true});
  CHECK_EQ(layers(R"("index_topk_freq": 2)"), std::vector<bool>{false, true, false, true});
  const auto wrong =
      IndexedLayers(Parsed(R"("indexer_types": ["full", "shared", "none", "full"])"), 4);
  REQUIRE_FALSE(wrong.has_value());
  CHECK_EQ(wrong.error().message,
           "config.json: indexer_types is a list of 4, expected full or shared for each layer");
}

TEST_CASE("hyper-connections weigh every stream with every stream") {
  // Of three streams of 64 channels: 15 weights, each from all channels and with an offset.
  CHECK_EQ(HyperConnectionParameters(3, 64), 15 * 192 + 15 + 3);
}

TEST_CASE("widths that no row holds are still needed to count weights") {
  LatentAttentionSpec latent;
  CHECK_EQ(MissingForCount(Parsed(kLatent), latent), "");
  CHECK_EQ(MissingForCount(Parsed(R"("v_head_dim": 8)"), latent), "qk_nope_head_dim");
  latent.index = SparseIndexSpec{.width = 8};
  CHECK_EQ(MissingForCount(Parsed(kLatent), latent), "index_n_heads");
}

}  // namespace cairn
