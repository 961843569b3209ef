#include <doctest/doctest.h>

#include "cairn/sizing/profile_models_for_tests.h"

namespace cairn {

// Starts of Qwen3-0.6B, GLM-5 and a 9B hybrid, as their logs print them.
TEST_CASE("buffers hold a page more than the printed tokens") {
  const Section dense =
      MustAsk(DenseModel(28, 8, 128), "sglang@0.4.6", {"tokens=15387", "page_size=1"});
  CHECK_EQ(NumberOf(dense, "k_size_GB"), 15388.0 * 57344 / (1 << 30));
  CHECK(Prints(dense, "KV Cache is allocated. #tokens: 15387, K size: 0.82 GB, V size: 0.82 GB"));
  ModelSpec indexed;
  AddLayers(indexed, 78, Latent(true));
  CHECK(Prints(MustAsk(indexed, "sglang", {"tokens=131072", "kv_dtype=fp8"}), "KV size: 7.51 GB"));
  CHECK(Prints(MustAsk(indexed, "sglang", {"tokens=314304"}), "KV size: 29.32 GB"));
  CHECK_EQ(IntOf(MustAsk(indexed, "sglang", {"kv_dtype=fp8_raw"}), "cell_bytes"), 78 * (576 + 132));
}

TEST_CASE("the state pool holds a slot more than it may use") {
  ModelSpec model;
  AddLayers(model, 24, DeltaRule(16, 32));
  AddLayers(model, 8, Heads(4, 256));
  const Section section = MustAsk(model, "sglang", {"tp=2", "tokens=327310", "mamba_slots=186"});
  CHECK(Prints(section, "conv_state size: 0.10GB, ssm_state size: 4.38GB"));
  CHECK_EQ(IntOf(section, "max_running_requests"), 62);
  const Section halved = MustAsk(model, "sglang", {"ssm_dtype=bf16", "mamba_slots=1"});
  CHECK_EQ(IntOf(halved, "ssm_bytes_per_slot"), 24 * 32 * 128 * 128 * 2);
}

TEST_CASE("both pools fit into what is left, the states first") {
  ModelSpec model;
  AddLayers(model, 24, DeltaRule(16, 32));
  AddLayers(model, 8, Heads(4, 256));
  const Section section = MustAsk(model, "sglang", {"rest_gib=10"});
  const int64_t slot = IntOf(section, "state_bytes_per_slot");
  const int64_t slots = IntOf(section, "mamba_slots");
  const int64_t rest = int64_t{10} << 30;
  const int64_t states = (slots + 1) * slot;
  CHECK_LE(static_cast<double>(states), static_cast<double>(rest) * 0.9 / 1.9);
  CHECK_GT(static_cast<double>(states + slot), static_cast<double>(rest) * 0.9 / 1.9);
  const int64_t cells = IntOf(section, "kv_tokens") * IntOf(section, "cell_bytes");
  CHECK_LE(cells + states, rest);
  CHECK_GT(cells + states + IntOf(section, "cell_bytes"), rest);
}

TEST_CASE("windows have a pool of their own, a share of the full one") {
  ModelSpec model;
  AddLayers(model, 5, Heads(8, 128, 1024));
  AddLayers(model, 1, Heads(8, 128));
  const Section section = MustAsk(model, "sglang", {"tokens=1001", "swa_ratio=0.5"});
  CHECK_EQ(IntOf(section, "swa_tokens"), 500);
  CHECK_EQ(NumberOf(section, "swa_k_size_GB"), 501.0 * 5 * 2048 / (1 << 30));
  ModelSpec windows;
  AddLayers(windows, 5, Heads(8, 128, 1024));
  CHECK_FALSE(HasField(MustAsk(windows, "sglang", {"tokens=1001"}), "swa_tokens"));
}

TEST_CASE("a draft layer has a buffer of its own") {
  const Section section =
      MustAsk(DeltaModel27B(), "sglang", {"tokens=171008", "page_size=64", "mtp_layers=1"});
  CHECK(NumberOf(section, "draft_k_size_GB") == doctest::Approx(0.326).epsilon(2e-3));
  CHECK(NumberOf(section, "k_size_GB") == doctest::Approx(5.221).epsilon(2e-4));
}

TEST_CASE("what isn't known is refused") {
  CHECK_FALSE(AskProfile(CompressedModel(), "sglang", {}).has_value());
  CHECK_FALSE(AskProfile(DenseModel(1, 1, 64), "sglang", {"kv_dtype=q8_0"}).has_value());
}

}  // namespace cairn
