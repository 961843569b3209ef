#include "cairn/spec/pooling.h"

#include <doctest/doctest.h>

#include <string>

namespace cairn {
namespace {

Result<std::optional<Pooling>> OfGguf(std::optional<int64_t> type, bool causal = true) {
  Metadata metadata("m.gguf");
  metadata.Set("general.architecture", std::string("qwen3"));
  if (type) metadata.Set("qwen3.pooling_type", *type);
  if (!causal) metadata.Set("qwen3.attention.causal", false);
  return PoolingFromGguf(metadata);
}

constexpr const char* kModules = R"([
  {"idx": 0, "path": "", "type": "sentence_transformers.models.Transformer"},
  {"idx": 1, "path": "1_Pooling", "type": "sentence_transformers.models.Pooling"},
  {"idx": 2, "path": "2_Normalize", "type": "sentence_transformers.models.Normalize"}])";

Result<Pooling> OfModules(const std::string& pooling, const std::string& modules = kModules) {
  return PoolingFromModules(modules, pooling, "m");
}

}  // namespace

TEST_CASE("a GGUF file says mean or last, or nothing; the rest a decoder can't give") {
  CHECK(OfGguf(std::nullopt).value() == std::nullopt);
  CHECK(OfGguf(0).value() == std::nullopt);
  CHECK(OfGguf(1).value() == Pooling::kMean);
  CHECK(OfGguf(3).value() == Pooling::kLast);
  for (const int64_t type : {2, 4, -1}) {
    CHECK(OfGguf(type).error().code == ErrorCode::kUnsupported);
  }
  CHECK(OfGguf(1, false).error().message.contains("both directions"));
}

TEST_CASE("sentence-transformers' configs say the same, and what is beyond them is refused") {
  CHECK(
      OfModules(R"({"pooling_mode_mean_tokens": true, "pooling_mode_cls_token": false})").value() ==
      Pooling::kMean);
  CHECK(OfModules(R"({"pooling_mode_lasttoken": true, "include_prompt": true})").value() ==
        Pooling::kLast);
  for (const char* pooling :
       {R"({"pooling_mode_cls_token": true})", R"({"pooling_mode_max_tokens": true})",
        R"({"pooling_mode_mean_tokens": true, "pooling_mode_lasttoken": true})", "{}"}) {
    CAPTURE(pooling);
    CHECK(OfModules(pooling).error().code == ErrorCode::kUnsupported);
  }
  const auto dense = OfModules(R"({"pooling_mode_mean_tokens": true})",
                               R"([{"type": "sentence_transformers.models.Dense"}])");
  CHECK(dense.error().message.contains("Dense"));
  for (const char* bad : {"", "[", "7", R"({"a": 1})"}) {
    CHECK(OfModules(R"({"pooling_mode_mean_tokens": true})", bad).error().code ==
          ErrorCode::kCorrupt);
  }
  CHECK(OfModules("7").error().code == ErrorCode::kCorrupt);
}

TEST_CASE("poolings are known by name") {
  for (const Pooling pooling : {Pooling::kLast, Pooling::kMean}) {
    CHECK(ParsePooling(NameOf(pooling)).value() == pooling);
  }
  CHECK(ParsePooling("cls").error().message.contains("last and mean"));
}

}  // namespace cairn
