#include "cairn/sizing/parallel.h"

#include <doctest/doctest.h>

#include "cairn/sizing/sizing.h"
#include "cairn/spec/families_for_tests.h"

namespace cairn {
namespace {

std::vector<RankModel> MustDivide(const ModelSpec& model, const Parallelism& parallel) {
  auto ranks = RankModels(model, parallel);
  REQUIRE_MESSAGE(ranks.has_value(), ranks.error().message);
  return *ranks;
}

StateAmount StateOf(const ModelSpec& model, int64_t tokens) {
  const auto sizing = SizeModel(model, {.tokens = {TokenCount(tokens)}}, std::nullopt);
  REQUIRE_MESSAGE(sizing.has_value(), sizing.error().message);
  return sizing->answers.front().total;
}

std::vector<int> LayersOfStages(int layers, int stages) {
  ModelSpec model = GoldenModel("llama_gqa");
  const LayerSpec layer = model.layers.front();
  model.layers.assign(static_cast<size_t>(layers), layer);
  std::vector<int> counts;
  for (const RankModel& rank : MustDivide(model, {.pp = stages})) {
    counts.push_back(rank.end_layer.value() - rank.first_layer.value());
  }
  return counts;
}

// Four layers of one mixer.
ModelSpec ModelOf(const MixerSpec& mixer) {
  ModelSpec model = GoldenModel("llama_gqa");
  model.layers.resize(4);
  for (LayerSpec& layer : model.layers) layer.mixer = mixer;
  return model;
}

const DeltaRuleSpec kDelta = {
    .key_heads = 4, .value_heads = 8, .key_width = 16, .value_width = 16, .conv_kernel = 4};
const MambaSpec kMamba2 = {
    .version = 2, .inner = 128, .state = 16, .conv_kernel = 4, .heads = 8, .groups = 2};
const LatentAttentionSpec kLatent = {
    .heads = 8, .latent_width = 64, .rope_width = 16, .key_width = 16, .value_width = 16};

}  // namespace

TEST_CASE("heads are divided, and repeated where there are fewer than cards") {
  CHECK_EQ(HeadsOfRank(8, 1), 8);
  CHECK_EQ(HeadsOfRank(8, 4), 2);
  CHECK_EQ(HeadsOfRank(10, 4), 3);
  CHECK_EQ(HeadsOfRank(2, 8), 1);
}

TEST_CASE("stages are as even as can be, spare layers away from both ends") {
  CHECK(LayersOfStages(32, 4) == std::vector<int>{8, 8, 8, 8});
  CHECK(LayersOfStages(61, 4) == std::vector<int>{15, 15, 16, 15});
  CHECK(LayersOfStages(62, 4) == std::vector<int>{15, 16, 16, 15});
  CHECK(LayersOfStages(5, 2) == std::vector<int>{3, 2});
}

TEST_CASE("the cards of all stages together keep at least what one card would") {
  for (const char* name : {"llama_gqa", "llama_mqa", "gemma3_text"}) {
    const ModelSpec model = GoldenModel(name);
    for (const int tp : {1, 2, 3, 8}) {
      for (const int pp : {1, 2, 3}) {
        Bytes all;
        for (const RankModel& rank : MustDivide(model, {.tp = tp, .pp = pp})) {
          all += StateOf(rank.spec, 100).TotalBytes() * tp;
        }
        const Bytes whole = StateOf(model, 100).TotalBytes();
        CHECK_GE(all, whole);
        if (tp == 1) CHECK_EQ(all, whole);
      }
    }
  }
}

TEST_CASE("one card of one stage is the model itself") {
  for (const MixerSpec& mixer : {MixerSpec(kDelta), MixerSpec(kMamba2), MixerSpec(kLatent)}) {
    const ModelSpec model = ModelOf(mixer);
    CHECK(StateSpecOf(MustDivide(model, {}).front().spec, {}) == StateSpecOf(model, {}));
  }
}

TEST_CASE("a latent row is kept whole by every card, recurrent heads are divided") {
  const ModelSpec latent = ModelOf(kLatent);
  CHECK(StateOf(MustDivide(latent, {.tp = 4}).front().spec, 100) == StateOf(latent, 100));
  CHECK_EQ(ParallelWarnings(latent, {.tp = 4}).size(), 1);
  for (const MixerSpec& mixer : {MixerSpec(kDelta), MixerSpec(kMamba2)}) {
    const ModelSpec recurrent = ModelOf(mixer);
    const StateAmount whole = StateOf(recurrent, 100);
    const StateAmount half = StateOf(MustDivide(recurrent, {.tp = 2}).front().spec, 100);
    CHECK_EQ(half.state_bytes * 2, whole.state_bytes);
    // Groups of B and C that run out are repeated, heads go on being divided.
    const StateAmount eighth = StateOf(MustDivide(recurrent, {.tp = 8}).front().spec, 100);
    CHECK_GT(eighth.state_bytes * 8, whole.state_bytes);
  }
}

TEST_CASE("a stage that reads an earlier stage's rows keeps a copy, once") {
  const ModelSpec model =
      ModelFromJson(SmallConfig("hunyuan", R"("use_cla": true, "cla_share_factor": 4)"));
  const auto ranks = MustDivide(model, {.pp = 2});
  CHECK_EQ(StateOf(ranks[0].spec, 64), StateOf(model, 64));
  CHECK_EQ(StateOf(ranks[1].spec, 64), StateOf(model, 64));
  const auto warnings = ParallelWarnings(model, {.pp = 2});
  REQUIRE_EQ(warnings.size(), 1);
  CHECK(warnings.front().find("stage 1") != std::string::npos);
}

TEST_CASE("what can't be divided evenly is named") {
  const ModelSpec model = GoldenModel("llama_mqa");
  const auto warnings = ParallelWarnings(model, {.tp = 4});
  REQUIRE_EQ(warnings.size(), 1);
  CHECK(warnings.front().find("1 KV heads for 4") != std::string::npos);
  CHECK(ParallelWarnings(model, {}).empty());
}

TEST_CASE("impossible divisions are refused with the flag's name") {
  const ModelSpec model = GoldenModel("llama_gqa");
  const auto refused = [&](const Parallelism& parallel, const char* word) {
    const auto ranks = RankModels(model, parallel);
    REQUIRE_FALSE(ranks.has_value());
    CHECK(ranks.error().IsBadInput());
    CHECK_MESSAGE(ranks.error().message.find(word) != std::string::npos, ranks.error().message);
  };
  refused({.tp = 0}, "--tp 0");
  refused({.pp = 100}, "--pp 100");
  refused({.dp = 1 << 20}, "--dp");
  refused({.tp = 4, .dcp = 3}, "--dcp 3");
  refused({.tp = 4, .dcp = 4}, "2 keep the same rows");  // 2 KV heads, each on 2 cards
  refused({.tp = 2, .ep = 3}, "--ep 3");
  refused({.pp = 2, .stage_layers = {1, 1}}, "--pp-layers 1,1");
  refused({.pp = 2, .stage_layers = {0, 5}}, "--pp-layers");
}

TEST_CASE(
    "a stage keeps latent rows of an earlier stage's layer once, and index keys stay with theirs") {
  const ModelSpec model = ModelFromJson(SmallConfig("mistral_large4_text", R"("kv_lora_rank": 32,
      "qk_rope_head_dim": 8, "qk_nope_head_dim": 16, "v_head_dim": 16, "index_head_dim": 8,
      "index_n_heads": 4, "kv_source_layers": [0, 1, 1, 1], "index_topk_pattern": "FFSF")"));
  const auto ranks = RankModels(model, Parallelism{.pp = 2});
  REQUIRE_MESSAGE(ranks.has_value(), ranks.error().message);
  REQUIRE_EQ(ranks->size(), 2);
  const auto bytes = [&](size_t stage) { return BytesPerToken((*ranks)[stage].spec); };
  CHECK_EQ(bytes(0), 2 * 2 * (40 + 8));
  CHECK_EQ(bytes(1), 2 * (40 + 8));
}

}  // namespace cairn
