#include <doctest/doctest.h>

#include <string>

#include "cairn/spec/families_for_tests.h"

namespace cairn {

namespace {

constexpr const char* kMamba = R"("mamba_n_heads": 6, "mamba_d_head": 8, "mamba_d_state": 16,
    "mamba_n_groups": 1, "mamba_d_conv": 4)";
constexpr int64_t kMambaBytes = 48 * 16 * 4 + 3 * (48 + 2 * 16) * 2;

}  // namespace

TEST_CASE("Falcon-H1 keeps both kinds of state in every layer") {
  const ModelSpec model = ModelFromJson(
      SmallConfig("falcon_h1", std::string(kMamba) + R"(, "attn_layer_indices": null)"));
  CHECK_EQ(KindsOf(model), "mamba2+full mamba2+full mamba2+full mamba2+full");
  CHECK_EQ(FixedBytes(model), 4 * kMambaBytes);
  CHECK_EQ(BytesPerToken(model), 4 * 2 * 2 * 16 * 2);
  CHECK_EQ(ConfigError(SmallConfig("falcon_h1", std::string(kMamba) + R"(, "mamba_d_ssm": 64)")),
           "config.json: mamba_d_ssm is 64, expected mamba_n_heads x mamba_d_head, 48");
}

TEST_CASE("Granite's list decides; Mamba's keys alone make no Mamba layer") {
  const auto kinds = [](const std::string& types) {
    return KindsOf(ModelFromJson(
        SmallConfig("granitemoehybrid", std::string(kMamba) + R"(, "layer_types": )" + types)));
  };
  CHECK_EQ(kinds(R"(["mamba", "attention", "mamba", "mamba"])"), "mamba2 full mamba2 mamba2");
  CHECK_EQ(kinds(R"(["attention", "attention", "attention", "attention"])"), "full full full full");
}

TEST_CASE("Nemotron-H's blocks are letters or words, and only stars keep keys and values") {
  const std::string sizes = R"("mamba_num_heads": 6, "mamba_head_dim": 8, "ssm_state_size": 16,
      "n_groups": 1, "conv_kernel": 4, )";
  const ModelSpec letters =
      ModelFromJson(SmallConfig("nemotron_h", sizes + R"("hybrid_override_pattern": "M-*E")"));
  CHECK_EQ(KindsOf(letters), "mamba2 none full none");
  CHECK_EQ(FixedBytes(letters), kMambaBytes);
  CHECK_EQ(BytesPerToken(letters), 2 * 2 * 16 * 2);
  const ModelSpec words = ModelFromJson(SmallConfig(
      "nemotron_h", sizes + R"("num_hidden_layers": null, "layers_block_type": ["mamba", "moe"],
          "mamba_ssm_cache_dtype": "bfloat16")"));
  CHECK_EQ(KindsOf(words), "mamba2 none");
  CHECK_EQ(FixedBytes(words), kMambaBytes - 48 * 16 * 2);
  CHECK_EQ(ConfigError(SmallConfig("nemotron_h", sizes + R"("hybrid_override_pattern": "M")")),
           "config.json: num_hidden_layers is 4, expected 1, as many as blocks");
  CHECK_EQ(ConfigError(SmallConfig("nemotron_h", sizes + R"("hybrid_override_pattern": "MMMX")")),
           "config.json: hybrid_override_pattern is \"MMMX\", expected letters M, *, - and E");
}

}  // namespace cairn
