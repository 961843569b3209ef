#include "cairn/sizing/profile.h"

#include <doctest/doctest.h>

#include <set>
#include <string>

#include "cairn/sizing/profile_models_for_tests.h"

namespace cairn {
namespace {

std::string ParseError(const std::string& name) {
  const auto question = ParseProfile(name);
  REQUIRE_FALSE(question.has_value());
  CHECK(question.error().IsBadInput());
  CHECK_EQ(question.error().message.find('\n'), std::string::npos);
  return question.error().message;
}

std::string SetError(const std::string& assignment) {
  ProfileQuestion question;
  const Status status = SetProfile(question, assignment);
  REQUIRE_FALSE(status.has_value());
  CHECK(status.error().IsBadInput());
  CHECK_EQ(status.error().message.find('\n'), std::string::npos);
  return status.error().message;
}

bool Contains(const std::string& text, const char* word) {
  return text.find(word) != std::string::npos;
}

}  // namespace

TEST_CASE("a profile is a framework and a version, or the newest version known") {
  CHECK_EQ(ParseProfile("vllm@0.11.0")->version.minor, 11);
  CHECK_EQ(ParseProfile("vllm@0.9.x")->version.minor, 9);
  CHECK_EQ(ParseProfile("vllm@v0.15.2rc1")->version.patch, 2);
  CHECK_EQ(ParseProfile("vllm")->version.text, "0.33.0");
  CHECK_EQ(ParseProfile("sglang@0.5.23")->framework, Framework::kSglang);
  CHECK_EQ(ParseProfile("llama.cpp@b8247")->version.major, 8247);
  CHECK_EQ(ParseProfile("openvino-genai")->framework, Framework::kOpenVino);
}

TEST_CASE("what isn't a profile is refused in a line that says what is") {
  CHECK(Contains(ParseError(""), "vllm@0.33.0"));
  CHECK(Contains(ParseError("triton@1"), "no such framework"));
  for (const char* name : {"vllm@", "vllm@new", "vllm@0.", "vllm@-1.2", "vllm@99999999999"}) {
    CAPTURE(name);
    CHECK(Contains(ParseError(name), "the version isn't one"));
  }
  CHECK(Contains(ParseError("vllm@" + std::string(100, '1')), "the version isn't one"));
}

TEST_CASE("a build before a release has the rules of the version before it") {
  const auto at_least = [](const char* name, int64_t minor) {
    return ParseProfile(name)->version.AtLeast(0, minor);
  };
  CHECK(at_least("vllm@0.21", 21));
  CHECK_FALSE(at_least("vllm@0.21-dev", 21));
  CHECK(at_least("vllm@0.21-dev", 20));
  CHECK_FALSE(at_least("vllm@0.21.0rc1", 21));
  CHECK(at_least("vllm@0.21.1rc1", 21));
  CHECK(ParseProfile("vllm@0.9.2")->version.AtLeast(0, 9, 2));
  CHECK_FALSE(ParseProfile("vllm@0.9.1")->version.AtLeast(0, 9, 2));
  CHECK(ParseProfile("vllm@1.0")->version.AtLeast(0, 99));
}

TEST_CASE("every setting has a key of its own, a help text, and takes a value") {
  std::set<std::string_view> keys;
  for (const ProfileSetting& setting : ProfileSettings()) {
    CAPTURE(setting.key);
    CHECK(keys.insert(setting.key).second);
    CHECK_FALSE(setting.help.empty());
    ProfileQuestion question;
    const std::string key(setting.key);
    CHECK(SetProfile(question, key + "=1").has_value());
    CHECK_FALSE(SetProfile(question, key + "=").has_value());
  }
}

TEST_CASE("settings are read with their bounds") {
  ProfileQuestion question;
  REQUIRE(SetProfile(question, "max_model_len=131072").has_value());
  REQUIRE(SetProfile(question, "available_kv_gib=4.99").has_value());
  REQUIRE(SetProfile(question, "stage_layers=16,32").has_value());
  REQUIRE(SetProfile(question, "async_scheduling=off").has_value());
  REQUIRE(SetProfile(question, "cuda_graph_gib=-0.45").has_value());
  CHECK_EQ(question.max_model_len, 131072);
  CHECK_EQ(question.stage_layers, std::vector<int64_t>{16, 32});
  CHECK_EQ(question.async_scheduling, false);
  CHECK_EQ(AvailableBytes(question), 5357971701);
  CHECK(Contains(SetError("max_model_len"), "KEY=VALUE"));
  CHECK(Contains(SetError("max_model_len=0"), "from 1 to"));
  CHECK(Contains(SetError("max_model_len=1k"), "from 1 to"));
  CHECK(Contains(SetError("tp=4294967296"), "from 1 to"));
  CHECK(Contains(SetError("available_kv_gib=nan"), "from 0 to"));
  CHECK(Contains(SetError("async_scheduling=perhaps"), "on or off"));
  CHECK(Contains(SetError("stage_layers=1,,2"), "a number"));
  CHECK(Contains(SetError("max_len=1"), "max_model_len"));
  CHECK(Contains(SetError("kv_dtype=" + std::string(99, 'x')), "a word"));
}

// Eight H100 starts of 0.11.0: total x share - weights - activations - the rest.
TEST_CASE("what is left of a card goes to the cache, without the graphs since 0.21") {
  const auto left = [](const char* profile) {
    return NumberOf(MustAsk(DenseModel(1, 1, 64), profile,
                            {"total_gib=79.18", "gpu_memory_utilization=0.9", "weights_gib=13.47",
                             "activation_gib=7.38", "non_torch_gib=0.13", "cuda_graph_gib=0.39"}),
                    "available_kv_gib");
  };
  CHECK(left("vllm@0.11.0") == doctest::Approx(50.282).epsilon(1e-6));
  CHECK(left("vllm@0.21") == doctest::Approx(49.892).epsilon(1e-6));
}

TEST_CASE("lmcache charges layers that keep a state for rows") {
  ModelSpec hybrid;
  AddLayers(hybrid, 3, DeltaRule(16, 32));
  AddLayers(hybrid, 1, Latent(false));
  CHECK_EQ(IntOf(MustAsk(hybrid, "lmcache", {}), "cache_size_per_token_bytes"), 4 * 576 * 2);
  CHECK_EQ(IntOf(MustAsk(DenseModel(80, 8, 128), "lmcache", {}), "cache_size_per_token_bytes"),
           327680);
}

// Qwen3.5-9B: 24 states of 51 MiB together, 421 checkpoints of a prompt of 54,000 tokens.
TEST_CASE("openvino keeps states in float with a convolution as wide as its kernel") {
  ModelSpec model;
  AddLayers(model, 24, DeltaRule(16, 32));
  AddLayers(model, 8, Heads(4, 256));
  const Section section = MustAsk(model, "openvino-genai", {"max_model_len=54000"});
  CHECK_EQ(NumberOf(section, "state_MiB_per_checkpoint"), 51.0);
  CHECK_EQ(IntOf(section, "checkpoints"), 421);
}

TEST_CASE("no framework answers for a model without layers as if it had some") {
  const ModelSpec none;
  CHECK_FALSE(AskProfile(none, "vllm", {"available_kv_gib=1"}).has_value());
  for (const char* profile : {"sglang", "llama.cpp", "lmcache", "openvino-genai"}) {
    CAPTURE(profile);
    CHECK(AskProfile(none, profile, {}).has_value());
  }
}

}  // namespace cairn
