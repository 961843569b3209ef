#include "cairn/spec/gguf_architectures.h"

#include <doctest/doctest.h>

#include <string>

namespace cairn {
namespace {

std::string MessageFor(const std::string& name) {
  const auto row = FindGgufArchitecture(name, "m.gguf");
  REQUIRE_FALSE(row.has_value());
  CHECK(row.error().IsBadInput());
  CHECK_EQ(row.error().message.find('\n'), std::string::npos);
  return row.error().message;
}

bool Says(const std::string& message, const std::string& part) {
  return message.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("a known architecture has a row of its own name") {
  for (const char* name : {"llama", "qwen35moe", "glm-dsa", "nemotron_h_moe", "rwkv7", "gpt-oss"}) {
    const auto row = FindGgufArchitecture(name, "m.gguf");
    REQUIRE_MESSAGE(row.has_value(), name);
    CHECK_EQ((*row)->name, name);
    CHECK_FALSE((*row)->family.empty());
  }
}

TEST_CASE("an unknown architecture is told the nearest known one") {
  CHECK(Says(MessageFor("qwen3_moe"), "names is qwen3moe,"));
  CHECK(Says(MessageFor("gemma33"), "names is gemma3,"));
  CHECK(Says(MessageFor("mamba-2"), "names is mamba2,"));
  CHECK(Says(MessageFor(""), "is not supported"));
  CHECK_LT(MessageFor(std::string(100'000, 'x')).size(), 1000);
}

TEST_CASE("what keeps no state of its own from token to token is refused with the reason") {
  CHECK(Says(MessageFor("bert"), "is an encoder,"));
  CHECK(Says(MessageFor("t5"), "is an encoder-decoder,"));
  CHECK(Says(MessageFor("llada"), "is a diffusion model,"));
  CHECK(Says(MessageFor("eagle3"), "drafts for another model"));
}

}  // namespace cairn
