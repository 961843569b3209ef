#include <doctest/doctest.h>

#include <string>

#include "cairn/spec/families_for_tests.h"

namespace cairn {

TEST_CASE("compressed attention keeps a window, and an entry for every few tokens") {
  const std::string rest = R"("head_dim": 32, "index_head_dim": 8, "index_n_heads": 4,
      "sliding_window": 16, "num_nextn_predict_layers": 1, "compress_ratios": )";
  const ModelSpec model = ModelFromJson(SmallConfig("deepseek_v4", rest + "[0, 4, 128, 4, 128]"));
  CHECK_EQ(KindsOf(model), "sliding v4_csa v4_hca v4_csa");
  const StateLayout layout = LayoutOf(model);
  CHECK_EQ(layout.SeenRowBytes(TokenCount(1024)),
           Bytes(2 * (4 * 16 * 32 + 2 * 256 * (32 + 8) + 8 * 32)));
  CHECK_EQ(layout.MarginalBytesPerToken(), Bytes(2 * 2 * 40 / 4 + 1));
  CHECK_EQ(ConfigError(SmallConfig("deepseek_v4", rest + "[0, 4]")),
           "config.json: compress_ratios is a list of 2, expected a list of 4 to 5 integers");
}

TEST_CASE("what a compressor has no entry of yet is kept, but is no row that a query reads") {
  const ModelSpec model = ModelFromJson(ReadFileForTest("tests/golden/deepseek_v4/config.json"));
  CHECK_EQ(KindsOf(model), "sliding v4_hca v4_csa v4_hca v4_csa sliding");
  const StateLayout layout = LayoutOf(model);
  const TokenCount tokens(27);  // 3 after 2 entries of 12, 3 after 6 of 4
  const int64_t pairs = 2 * 2;  // value and gate, of two bytes
  const int64_t heavy = 2 * pairs * 3 * 32;
  const int64_t sparse = 2 * pairs * (3 + (3 + 4)) * (32 + 16);
  const int64_t entries = 2 * (2 * 2 * 32 + 2 * 6 * (32 + 16));
  const int64_t window = 2 * 6 * 7 * 32;
  CHECK_EQ(layout.ContentBytes(tokens), Bytes(heavy + sparse + entries + window));
  CHECK_EQ(layout.SeenRowBytes(tokens), Bytes(entries + 2 * 6 * 8 * 32));
  CHECK_EQ(layout.OpenWindowBytes(tokens),
           Bytes(2 * pairs * 12 * 32 + 2 * pairs * (4 + 8) * (32 + 16)));
}

TEST_CASE("kinds of compression come from their names, and each has a rate") {
  const std::string types = R"("sliding_window": 16, "index_head_dim": 8, "index_n_heads": 4,
      "layer_types": ["sliding_attention", "heavily_compressed_attention",
                      "compressed_sparse_attention", )";
  const std::string rates = R"(, "compress_rates": {"heavily_compressed_attention": 8,
      "compressed_sparse_attention": 2})";
  const std::string last = R"("sliding_attention"])";
  CHECK_EQ(KindsOf(ModelFromJson(SmallConfig("deepseek_v4", types + last + rates))),
           "sliding v4_hca v4_csa sliding");
  CHECK_EQ(ConfigError(SmallConfig("deepseek_v4", types + last)),
           "config.json: compress_rates is missing");
  CHECK_EQ(ConfigError(SmallConfig("deepseek_v4", types + R"("full_attention"])" + rates)),
           "config.json: layer_types is a list of 4, expected sliding_attention, "
           "compressed_sparse_attention or heavily_compressed_attention for each layer");
}

}  // namespace cairn
