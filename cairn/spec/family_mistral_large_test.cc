#include <doctest/doctest.h>

#include <string>

#include "cairn/spec/families_for_tests.h"

namespace cairn {

namespace {

std::string Shared(const std::string& more) {
  return SmallConfig("mistral_large4_text", R"("kv_lora_rank": 32, "qk_rope_head_dim": 8,
      "qk_nope_head_dim": 16, "v_head_dim": 16, "index_head_dim": 8, "index_n_heads": 4)" +
                                                more);
}

}  // namespace

TEST_CASE("a layer that reads another's latent rows keeps at most its own index keys") {
  const ModelSpec model =
      ModelFromJson(Shared(R"(, "kv_source_layers": [0, 1, 1, 0], "index_topk_pattern": "FFSF")"));
  CHECK_EQ(KindsOf(model), "mla+index mla+index reuse reuse+index");
  CHECK_EQ(BytesPerToken(model), 2 * (2 * (40 + 8) + 8));
  const StateSpec state = StateSpecOf(model, {});
  CHECK_EQ(std::get<Alias>(state.layers[2].components.front()).layer, LayerIndex(1));
}

TEST_CASE("a layer without rotation keeps no row for the rotated part") {
  CHECK_EQ(BytesPerToken(ModelFromJson(Shared(R"(, "no_rope_layers": [1, 0, 0, 1])"))),
           2 * (4 * 8 + 2 * 40 + 2 * 32));
}

TEST_CASE("rows are read of earlier layers that keep some, and turn alike") {
  const std::string sources =
      "expected for each layer itself or an earlier layer that keeps its own rows";
  for (const char* list : {"[1, 1, 2, 3]", "[0, 0, 1, 3]"}) {
    CHECK_EQ(ConfigError(Shared(std::string(R"(, "kv_source_layers": )") + list)),
             "config.json: kv_source_layers is a list of 4, " + sources);
  }
  CHECK_EQ(
      ConfigError(Shared(R"(, "kv_source_layers": [0, 0, 2, 3], "no_rope_layers": [1, 0, 1, 1])")),
      "config.json: no_rope_layers is a list of 4, expected alike for layers that share their "
      "rows");
}

}  // namespace cairn
