#include "cairn/spec/gguf_mixers.h"

#include <doctest/doctest.h>

#include <string>

#include "cairn/spec/families_for_tests.h"

namespace cairn {
namespace {

Result<MixerSpec> Read(const FakeGguf& file, GgufRecurrent kind) {
  const GgufKeys keys(file.metadata, file.architecture);
  CAIRN_ASSIGN(const GgufFrame frame, ReadGgufFrame(keys));
  return RecurrentFromGguf(keys, frame, kind, 4);
}

FakeGguf WithMamba(const std::string& architecture) {
  FakeGguf file(architecture);
  file.Set("ssm.inner_size", 128);
  file.Set("ssm.state_size", 8);
  file.Set("ssm.conv_kernel", 4);
  file.Set("ssm.time_step_rank", 4);
  file.Set("ssm.group_count", 2);
  return file;
}

}  // namespace

TEST_CASE("ssm keys are a Mamba layer's or a delta rule's widths") {
  const FakeGguf file = WithMamba("x");
  const auto first = std::get<MambaSpec>(*Read(file, GgufRecurrent::kMamba1));
  CHECK_EQ(first.step_rank, 4);
  CHECK_EQ(first.ConvChannels(), 128);
  const auto second = std::get<MambaSpec>(*Read(file, GgufRecurrent::kMamba2));
  CHECK_EQ(second.heads, 4);
  CHECK_EQ(second.ConvChannels(), 128 + 2 * 2 * 8);
  const auto delta = std::get<DeltaRuleSpec>(*Read(file, GgufRecurrent::kGatedDelta));
  CHECK_EQ(delta.key_heads, 2);
  CHECK_EQ(delta.value_heads, 4);
  CHECK_EQ(delta.value_width, 32);
}

TEST_CASE("KDA, lightning, RWKV and short convolutions have keys of their own") {
  FakeGguf file = WithMamba("rwkv6");
  file.Set("kda.head_dim", 8);
  file.Set("wkv.head_size", 16);
  file.Set("shortconv.l_cache", 3);
  const auto delta = std::get<DeltaRuleSpec>(*Read(file, GgufRecurrent::kChannelDelta));
  CHECK_EQ(delta.decay, DeltaRuleSpec::Decay::kChannel);
  CHECK_EQ(delta.value_heads * delta.value_width, 32);
  CHECK_EQ(std::get<LinearAttentionSpec>(*Read(file, GgufRecurrent::kLightning)).key_width, 16);
  const auto rwkv = std::get<RwkvSpec>(*Read(file, GgufRecurrent::kRwkv));
  CHECK_EQ(rwkv.version, 6);
  CHECK_EQ(rwkv.heads, 4);
  CHECK_EQ(rwkv.token_shifts, 2);
  file.Set("token_shift_count", 1);
  CHECK_EQ(std::get<RwkvSpec>(*Read(file, GgufRecurrent::kRwkv)).token_shifts, 1);
  CHECK_EQ(std::get<ShortConvSpec>(*Read(file, GgufRecurrent::kShortConv)).kernel, 3);
}

TEST_CASE("widths that don't fit each other are errors with the key") {
  FakeGguf file = WithMamba("x");
  file.Set("ssm.time_step_rank", 3);
  CHECK_EQ(Read(file, GgufRecurrent::kGatedDelta).error().message,
           "m.gguf: key x.ssm.time_step_rank is 3, expected a divisor of ssm.inner_size (128)");
  file.Set("wkv.head_size", 7);
  CHECK_EQ(Read(file, GgufRecurrent::kRwkv).error().message,
           "m.gguf: key x.wkv.head_size is 7, expected a divisor of embedding_length (64)");
  file.Set("kda.head_dim", 0);
  CHECK_FALSE(Read(file, GgufRecurrent::kChannelDelta).has_value());
  CHECK_FALSE(Read(FakeGguf("x"), GgufRecurrent::kMamba2).has_value());
}

TEST_CASE("older latent files say with key_length how wide a head is") {
  FakeGguf file("minicpm3");
  file.Set("attention.kv_lora_rank", 32);
  file.Set("attention.key_length", 24);
  file.Set("attention.value_length", 16);
  file.Set("rope.dimension_count", 8);
  const GgufKeys keys(file.metadata, "minicpm3");
  const auto latent = LatentFromGguf(keys, *ReadGgufFrame(keys));
  REQUIRE(latent.has_value());
  CHECK_EQ((*latent)->key_width, 16);
  CHECK_EQ((*latent)->value_width, 16);
  file.Set("rope.dimension_count", 25);
  CHECK_FALSE(LatentFromGguf(keys, *ReadGgufFrame(keys)).has_value());
}

}  // namespace cairn
