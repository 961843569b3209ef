// Real configs against sizes that were derived by hand. Both lie outside the project and the tests
// say so when they are absent.
#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>

#include "cairn/sizing/parameters.h"
#include "cairn/sizing/sizing.h"
#include "cairn/spec/families_for_tests.h"

namespace cairn {
namespace {

using Json = nlohmann::json;

const std::filesystem::path kConfigs = "../shared/data/configs";
const std::filesystem::path kExpected = "../shared/data/sizing_expected.json";
constexpr StateCodecs kBFloat16 = {.keys = DType::kBF16, .values = DType::kBF16};

void CheckAgainst(const Json& expected, const ModelSpec& model) {
  const auto layout = StateLayout::Make(StateSpecOf(model, kBFloat16));
  REQUIRE_MESSAGE(layout.has_value(), layout.error().message);
  CHECK_EQ(model.layers.size(), expected.at("layer_count").get<size_t>());
  CHECK_EQ(layout->MarginalBytesPerToken(),
           Bytes(expected.at("bytes_per_token_long_context_bf16").get<int64_t>()));
  for (const auto& [tokens, bytes] : expected.at("kv_bytes_bf16").items()) {
    CAPTURE(tokens);
    CHECK_EQ(layout->SeenRowBytes(TokenCount(std::stoll(tokens))), Bytes(bytes.get<int64_t>()));
  }
  if (!expected.at("parameters_derived").is_null()) {
    CHECK_EQ(ParameterCount(model), ElementCount(expected.at("parameters_derived").get<int64_t>()));
  }
}

}  // namespace

TEST_CASE("every real config of a supported family is sized as derived by hand") {
  if (!std::filesystem::exists(kConfigs)) {
    MESSAGE("skipped: no ", kConfigs.string());
    return;
  }
  const Json expected = std::filesystem::exists(kExpected)
                            ? Json::parse(ReadFileForTest(kExpected)).at("models")
                            : Json::object();
  int read = 0;
  int refused = 0;
  int compared = 0;
  for (const auto& entry : std::filesystem::directory_iterator(kConfigs)) {
    if (entry.path().extension() != ".json") continue;
    const std::string name = entry.path().stem();
    CAPTURE(name);
    const auto model = ModelSpecFromConfig(ReadFileForTest(entry.path()), name);
    if (!model) {
      CHECK_MESSAGE(model.error().code == ErrorCode::kUnsupported, model.error().message);
      ++refused;
      continue;
    }
    ++read;
    const std::string file = "configs/" + name + ".json";
    const auto known = std::ranges::find_if(
        expected, [&](const Json& candidate) { return candidate.at("file") == file; });
    if (known == expected.end()) continue;
    CheckAgainst(*known, *model);
    ++compared;
  }
  MESSAGE(read, " configs read, ", compared, " of them compared; ", refused, " not supported");
  CHECK_GE(read, 220);
}

}  // namespace cairn
