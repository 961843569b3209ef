#include "cairn/sizing/profile_vllm.h"

#include <doctest/doctest.h>

#include <string>

#include "cairn/sizing/profile_models_for_tests.h"

namespace cairn {
namespace {

int64_t RowBytes(const LayerCache& cache, const std::string& dtype) {
  ProfileQuestion question;
  question.kv_dtype = dtype;
  const auto bytes = VllmRowBytes(cache, question);
  REQUIRE_MESSAGE(bytes.has_value(), bytes.error().message);
  return *bytes;
}

LayerCache RowsOf(int64_t heads, int64_t keys, int64_t values) {
  LayerCache cache;
  cache.heads = heads;
  cache.key_width = keys;
  cache.value_width = values;
  return cache;
}

}  // namespace

TEST_CASE("rows take the bytes of their type, scales with them") {
  const LayerCache heads = RowsOf(8, 128, 128);
  CHECK_EQ(RowBytes(heads, "auto"), 4096);
  CHECK_EQ(RowBytes(heads, "fp8"), 2048);
  CHECK_EQ(RowBytes(heads, "nvfp4"), 8 * 2 * (64 + 8));
  CHECK_EQ(RowBytes(heads, "int8_per_token_head"), 8 * (256 + 8));
  CHECK_EQ(RowBytes(heads, "int4_per_token_head"), 8 * (128 + 8));
  CHECK_EQ(RowBytes(heads, "turboquant_k8v4"), 8 * (128 + 64 + 4));
  LayerCache latent = RowsOf(1, 512, 64);
  latent.kind = LayerCache::Kind::kLatent;
  CHECK_EQ(RowBytes(latent, "auto"), 1152);
  CHECK_EQ(RowBytes(latent, "fp8_ds_mla"), 656);
  CHECK_EQ(RowBytes(latent, "nvfp4_ds_mla"), 352);
  LayerCache index = RowsOf(1, 128, 0);
  index.kind = LayerCache::Kind::kIndex;
  CHECK_EQ(RowBytes(index, "fp8"), 132);
  ProfileQuestion question;
  question.kv_dtype = "fp7";
  CHECK_FALSE(VllmRowBytes(heads, question).has_value());
}

TEST_CASE("a uniform model prints blocks times their size, whatever the version") {
  for (const char* profile : {"vllm@0.6", "vllm@0.8", "vllm@0.11", "vllm@0.24", "vllm@0.33"}) {
    CAPTURE(profile);
    const Section section = MustAsk(DenseModel(32, 8, 128), profile,
                                    {"available_kv_bytes=59212694937", "max_model_len=4096"});
    CHECK_EQ(IntOf(section, "bytes_per_block"), 2097152);
    CHECK_EQ(IntOf(section, "num_blocks"), 28234);
    CHECK_EQ(IntOf(section, "kv_tokens"), 451744);
    CHECK(NumberOf(section, "max_concurrency") == doctest::Approx(110.2891).epsilon(1e-6));
    CHECK_EQ(IntOf(section, "fixed_bytes_per_request"), 0);
    CHECK_EQ(NumberOf(section, "marginal_bytes_per_token"), 131072.0);
  }
}

TEST_CASE("a hybrid's block is stretched until its page holds the state") {
  const Section section = MustAsk(DeltaModel27B(), "vllm@0.33", {"kv_dtype=fp8"});
  CHECK_EQ(IntOf(section, "attention_block_size"), 1568);
  CHECK_EQ(IntOf(section, "page_bytes"), 3211264);
  CHECK(NumberOf(section, "mamba_pad_pct") == doctest::Approx(0.1277).epsilon(1e-3));
  CHECK_EQ(IntOf(section, "num_groups"), 4);
  CHECK_EQ(IntOf(section, "bytes_per_block"), 51380224);
  CHECK(Prints(section, "Setting attention block size to 1568 tokens to ensure"));
  CHECK(Prints(section, "Padding mamba page size by 0.13% to ensure"));
  CHECK_EQ(IntOf(MustAsk(DeltaModel27B(), "vllm@0.33", {}), "attention_block_size"), 784);
}

TEST_CASE("halving the keys' type doesn't halve a page that a state pins") {
  ModelSpec model;
  AddLayers(model, 30, DeltaRule(16, 32));
  AddLayers(model, 10, Heads(2, 256));
  for (const char* dtype : {"kv_dtype=fp8", "kv_dtype=nvfp4"}) {
    const Section section = MustAsk(
        model, "vllm@0.25.1", {dtype, "available_kv_bytes=2147483648", "max_model_len=65536"});
    CHECK_EQ(IntOf(section, "num_blocks"), 100);
  }
}

TEST_CASE("printed tokens of a hybrid changed with the versions, its blocks didn't") {
  const auto ask = [](const char* profile, const char* gib) {
    return MustAsk(DeltaModel27B(), profile,
                   {"kv_dtype=fp8", "tp=2", "max_model_len=131072", "mamba_cache_mode=align", gib});
  };
  const Section now = ask("vllm@0.27.1", "available_kv_gib=4.99");
  CHECK_EQ(IntOf(now, "num_blocks"), 208);
  CHECK_EQ(IntOf(now, "blocks_per_request"), 90);
  CHECK_EQ(IntOf(now, "kv_tokens"), 302921);
  CHECK(Prints(now, "GPU KV cache size: 302,921 tokens"));
  CHECK(Prints(now, "Maximum concurrency for 131,072 tokens per request: 2.31x"));
  const Section old = ask("vllm@0.20", "available_kv_gib=4.99");
  CHECK_EQ(IntOf(old, "num_blocks"), 208);
  CHECK_EQ(IntOf(old, "kv_tokens"), 208 / 4 * 1568);
  CHECK_EQ(IntOf(now, "fixed_bytes_per_request"), 3 * 2 * 25690112);
  CHECK_EQ(NumberOf(now, "marginal_bytes_per_token"), 16384.0);
  CHECK_FALSE(now.warnings.empty());
}

TEST_CASE("a prediction layer makes groups longer, and drafted tokens states larger") {
  const Section section = MustAsk(DeltaModel27B(), "vllm@0.24",
                                  {"kv_dtype=fp8", "num_speculative_tokens=2", "mtp_layers=1",
                                   "max_model_len=262144", "available_kv_gib=48.6"});
  CHECK_EQ(IntOf(section, "attention_block_size"), 1600);
  CHECK_EQ(IntOf(section, "group_layers"), 17);
  CHECK_EQ(IntOf(section, "padding_layers"), 3);
  CHECK_EQ(IntOf(section, "blocks_per_request"), 176);
  CHECK_EQ(IntOf(section, "kv_tokens"), 1394129);
  CHECK(Prints(section, "Add 3 padding layers, may waste at most 6.25%"));
}

TEST_CASE("a drafter's own layers shorten the groups and pad the rest") {
  ModelSpec model;
  AddLayers(model, 30, DeltaRule(16, 32));
  AddLayers(model, 10, Heads(2, 256));
  const Section section =
      MustAsk(model, "vllm@0.24", {"draft_layers=8", "draft_kv_heads=4", "draft_head_dim=128"});
  CHECK(Prints(section, "Add 6 padding layers, may waste at most 60.00%"));
  CHECK(Prints(section, "Add 2 padding layers, may waste at most 6.67%"));
}

TEST_CASE("latent attention beside KDA aligns to the kernel's block") {
  DeltaRuleSpec kda = DeltaRule(32, 32);
  kda.decay = DeltaRuleSpec::Decay::kChannel;
  ModelSpec model;
  AddLayers(model, 20, kda);
  AddLayers(model, 7, Latent(false));
  const Section old = MustAsk(model, "vllm@0.11", {"tp=2", "available_kv_gib=2.30"});
  CHECK_EQ(IntOf(old, "attention_block_size"), 960);
  CHECK_EQ(IntOf(old, "kv_tokens"), 75840);
  CHECK_EQ(IntOf(old, "padding_layers"), 1);
  CHECK_EQ(IntOf(MustAsk(model, "vllm@0.26", {}), "attention_block_size"), 1920);
}

TEST_CASE("pages of two sizes are unified by a longer block") {
  const Section section =
      MustAsk(WindowModel31B(), "vllm@0.25.1",
              {"tp=4", "max_model_len=262144", "max_num_batched_tokens=4096", "num_blocks=24302"});
  CHECK_EQ(IntOf(section, "num_groups"), 6);
  CHECK_EQ(IntOf(section, "bytes_per_block"), 655360);
  CHECK_EQ(IntOf(section, "blocks_per_request"), 9797);
  CHECK_EQ(IntOf(section, "kv_tokens"), 650262);
}

TEST_CASE("windows are charged for the tokens in flight: one step to 0.25, two since 0.26") {
  ProfileQuestion question = *ParseProfile("vllm@0.25.1");
  question.max_num_batched_tokens = 4096;
  CHECK_EQ(InFlightTokens(question), 4096);
  question.version = ParseProfile("vllm@0.27.1")->version;
  CHECK_EQ(InFlightTokens(question), 8192);
  question.async_scheduling = false;
  CHECK_EQ(InFlightTokens(question), 4096);
  question.pp = 4;
  CHECK_EQ(InFlightTokens(question), 16384);
  question.concurrent_batches = 3;
  CHECK_EQ(InFlightTokens(question), 12288);
}

TEST_CASE("before groups, and without their manager, windows are charged in full") {
  const auto needed = [](const char* profile, const char* setting) {
    ModelSpec model;
    AddLayers(model, 5, Heads(8, 128, 1024));
    AddLayers(model, 1, Heads(8, 128));
    return IntOf(
        MustAsk(model, profile, {"max_model_len=131072", "max_num_batched_tokens=2048", setting}),
        "needed_bytes");
  };
  CHECK_EQ(needed("vllm@0.8", "tp=1"), int64_t{6} * 131072 * 4096);
  CHECK_EQ(needed("vllm@0.20", "hybrid_manager=off"), int64_t{6} * 131072 * 4096);
  CHECK_EQ(needed("vllm@0.20", "tp=1"), (8192 + 5 * (192 + 1)) * int64_t{65536});
}

TEST_CASE("layers of one kind with pages of several sizes share a block") {
  ModelSpec model;
  AddLayers(model, 61, Latent(true));
  const Section section = MustAsk(model, "vllm@0.11", {"kv_dtype=fp8_ds_mla", "tp=8"});
  CHECK_EQ(IntOf(section, "num_groups"), 1);
  CHECK_EQ(IntOf(section, "bytes_per_block"), 61 * 64 * (656 + 132));
  const Section packed = MustAsk(DenseModel(32, 8, 128), "vllm@0.24", {"kv_dtype=turboquant_k8v4"});
  CHECK_EQ(IntOf(packed, "bytes_per_block"), 16 * (28 * 8 * 196 + 4 * 4096));
}

TEST_CASE("decode context parallelism multiplies the printed tokens") {
  ModelSpec model;
  AddLayers(model, 61, Latent(false));
  const auto tokens = [&](const char* dcp) {
    return IntOf(MustAsk(model, "vllm@0.11.2", {"tp=8", "num_blocks=11173", dcp}), "kv_tokens");
  };
  CHECK_EQ(tokens("dcp=1"), 715072);
  CHECK_EQ(tokens("dcp=8"), 5720576);
}

TEST_CASE("to 0.15 the check counted all layers on every pipeline stage") {
  const auto ask = [](const char* profile) {
    return MustAsk(DenseModel(48, 4, 128), profile,
                   {"pp=2", "stage_layers=16,32", "max_model_len=262144", "available_kv_gib=3.18"});
  };
  const Section old = ask("vllm@0.15.2rc1");
  CHECK_EQ(NumberOf(old, "needed_gib"), 24.0);
  CHECK(IntOf(old, "estimated_max_model_len") >= 34672);
  CHECK(IntOf(old, "estimated_max_model_len") <= 34784);
  const Section now = ask("vllm@0.16");
  CHECK_EQ(NumberOf(now, "needed_gib"), 16.0);
  CHECK_FALSE(AskProfile(DenseModel(4, 4, 128), "vllm", {"pp=2", "stage_layers=1,2"}).has_value());
  CHECK_FALSE(AskProfile(DenseModel(4, 4, 128), "vllm", {"pp=5"}).has_value());
  // 10 layers on 4 stages: 2, 3, 3, 2.
  const Section even = MustAsk(DenseModel(10, 1, 64), "vllm", {"pp=4"});
  CHECK_EQ(IntOf(even, "bytes_per_block"), 3 * 16 * 256);
}

TEST_CASE("compressed attention makes five groups, whose block three versions count differently") {
  const auto ask = [](const char* profile) {
    return MustAsk(
        CompressedModel(), profile,
        {"max_model_len=30000", "max_num_batched_tokens=16384", "available_kv_gib=5.44"});
  };
  const Section first = ask("vllm@0.22");
  CHECK_EQ(IntOf(first, "num_groups"), 5);
  CHECK_EQ(IntOf(first, "bytes_per_block"), 1051776);
  CHECK(NumberOf(first, "needed_gib") == doctest::Approx(6.6609).epsilon(1e-4));
  CHECK(IntOf(first, "estimated_max_model_len") >= 13512);
  CHECK(IntOf(first, "estimated_max_model_len") <= 13536);
  CHECK(Prints(first,
               "6.66 GiB KV cache is needed, which is larger than the available KV cache "
               "memory (5.44 GiB)"));
  CHECK_EQ(IntOf(ask("vllm@0.24"), "bytes_per_block"), 1039680);
  CHECK_EQ(IntOf(ask("vllm@0.33"), "bytes_per_block"), 1002240);
  const Section weighted =
      MustAsk(CompressedModel(), "vllm@0.24",
              {"max_model_len=262144", "max_num_batched_tokens=8192", "num_blocks=33134"});
  CHECK_EQ(IntOf(weighted, "blocks_per_request"), 3993);
  CHECK_EQ(IntOf(weighted, "kv_tokens"), 2175276);
}

TEST_CASE("the longest request fits, and one more token doesn't") {
  for (const char* profile : {"vllm@0.11", "vllm@0.24", "vllm@0.33"}) {
    for (const ModelSpec& model : {DenseModel(32, 8, 128), DeltaModel27B(), WindowModel31B()}) {
      ProfileQuestion question = *ParseProfile(profile);
      question.available_kv_bytes = int64_t{7} << 30;
      question.max_num_batched_tokens = 2048;
      question.max_model_len = 1 << 20;
      const int64_t longest = IntOf(*ProfileSection(model, question), "estimated_max_model_len");
      REQUIRE_GT(longest, 0);
      question.max_model_len = longest;
      CHECK(std::get<bool>(ValueOf(*ProfileSection(model, question), "fits")));
      question.max_model_len = longest + 1;
      CHECK_FALSE(std::get<bool>(ValueOf(*ProfileSection(model, question), "fits")));
    }
  }
}

TEST_CASE("a request of Mamba 2 holds one block more since 0.30") {
  MambaSpec mamba = {.version = 2, .inner = 4096, .state = 128, .conv_kernel = 4};
  mamba.heads = 64;
  mamba.groups = 8;
  ModelSpec model;
  AddLayers(model, 2, mamba);
  AddLayers(model, 2, Heads(2, 128));
  const auto fixed = [&](const char* profile, const char* mode) {
    const Section section = MustAsk(model, profile, {mode});
    return IntOf(section, "fixed_bytes_per_request") / IntOf(section, "bytes_per_block");
  };
  CHECK_EQ(fixed("vllm@0.11", "mamba_cache_mode=align"), 1);
  CHECK_EQ(fixed("vllm@0.28", "mamba_cache_mode=align"), 2);
  CHECK_EQ(fixed("vllm@0.33", "mamba_cache_mode=align"), 3);
  CHECK_EQ(fixed("vllm@0.33", "mamba_cache_mode=none"), 1);
  CHECK_FALSE(AskProfile(model, "vllm", {"mamba_cache_mode=some"}).has_value());
}

TEST_CASE("no memory, or less than a block, is no block") {
  const Section none = MustAsk(DenseModel(32, 8, 128), "vllm@0.24",
                               {"total_gib=10", "weights_gib=20", "max_model_len=100"});
  CHECK_EQ(IntOf(none, "num_blocks"), 0);
  CHECK_EQ(IntOf(none, "estimated_max_model_len"), 0);
  CHECK_EQ(IntOf(none, "kv_tokens"), 0);
}

}  // namespace cairn
