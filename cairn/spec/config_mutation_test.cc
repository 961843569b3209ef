// Every key of every config that is at hand, damaged: whatever decides a size must be checked.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "cairn/spec/families_for_tests.h"

namespace cairn {
namespace {

using Json = nlohmann::json;
using Pointer = Json::json_pointer;

// What sizes of a model say; empty: an error of one line.
std::string Outcome(const Json& config) {
  const auto model = ModelSpecFromConfig(config.dump(), "config.json");
  if (!model) {
    CHECK(model.error().IsBadInput());
    CHECK_EQ(model.error().message.find('\n'), std::string::npos);
    return "";
  }
  const auto layout = StateLayout::Make(StateSpecOf(*model, {}));
  if (!layout) {
    CHECK(layout.error().IsBadInput());
    return "";
  }
  std::string outcome = fmt::format("{} {}", layout->MarginalBytesPerToken().value(),
                                    layout->fixed_content_bytes().value());
  for (const int64_t tokens : {1, 100, 5000, 200'000}) {
    outcome += fmt::format(" {}", layout->SeenRowBytes(TokenCount(tokens)).value());
  }
  return outcome;
}

void CollectKeys(const Json& value, const Pointer& at, std::vector<Pointer>& keys) {
  if (!value.is_object()) return;
  for (const auto& [key, child] : value.items()) {
    keys.push_back(at / key);
    CollectKeys(child, at / key, keys);
  }
}

std::string With(Json config, const Pointer& key, const Json& value) {
  config[key] = value;
  return Outcome(config);
}

std::string Without(Json config, const Pointer& key) {
  config[key.parent_pointer()].erase(key.back());
  return Outcome(config);
}

// Whether another value that is as good as the written one would change a size; of a text, list or
// object, whether leaving it out would.
bool Decides(const Json& config, const Pointer& key, const std::string& written) {
  const Json& value = config[key];
  if (value.is_string() || value.is_structured()) return Without(config, key) != written;
  std::vector<Json> others;
  if (value.is_boolean()) others = {!value.get<bool>()};
  if (value.is_number_integer()) {
    const auto number = value.get<int64_t>();
    others = {number + 1, 2 * number, number / 2};
  }
  return std::ranges::any_of(others, [&](const Json& other) {
    const std::string changed = With(config, key, other);
    return !changed.empty() && changed != written;
  });
}

// A list with a wrong entry, or, where it has one for each layer, with one too few or too many.
std::vector<Json> DamageOfList(const Json& list, size_t layers) {
  std::vector<Json> damage = {-1, 7, "x", true, Json::object()};
  if (list.empty()) return damage;
  for (const Json& entry : {Json(-7), Json(1.5), Json("x"), Json::object(), Json(INT64_MAX)}) {
    damage.push_back(list);
    damage.back().back() = entry;
  }
  if (list.size() != layers) return damage;
  damage.push_back(list);
  damage.back().push_back(list.back());
  damage.push_back(list);
  damage.back().erase(list.size() - 1);
  return damage;
}

std::vector<Json> DamageOf(const std::string& key, const Json& value, size_t layers) {
  // Multiples of a width may be fractions.
  constexpr std::array kFractions = {"expand", "mamba_expand"};
  if (value.is_array()) return DamageOfList(value, layers);
  if (value.is_object()) return {-1, 7, 1.5, "x", true, Json::array()};
  if (value.is_string()) return {-1, 7, 1.5, "\n?", "", true, Json::array(), Json::object()};
  if (value.is_boolean()) return {-1, 7, 0.5, "x", Json::array(), Json::object()};
  std::vector<Json> damage = {-1,    INT64_MIN, INT64_MAX, 1e300,         "x",
                              "NaN", "1",       true,      Json::array(), Json::object()};
  if (std::ranges::find(kFractions, key) == kFractions.end()) damage.emplace_back(1.5);
  return damage;
}

// What may be anything, or nothing: the wrapper's type around a text part that has its own; the
// length of a list that is itself what tells the number of layers; a factor that needn't be whole.
bool MayDiffer(const Json& config, const Pointer& key, const Json& damage) {
  const std::string name = key.to_string();
  if (name == "/model_type") {
    return damage.is_string() &&
           (config.contains("text_config") || config.contains("language_config"));
  }
  if (name == "/expand_k" || name == "/expand_v") return damage.is_number_float();
  return name == "/layers_block_type" && !config.contains("num_hidden_layers") &&
         damage.is_array() && damage.size() != config[key].size();
}

// "n_heads = "x" in llama_mha" for all damage that went unnoticed.
std::vector<std::string> Unnoticed(const std::string& name, const Json& config) {
  std::vector<std::string> unnoticed;
  const std::string written = Outcome(config);
  if (written.empty()) return unnoticed;
  const size_t layers = ModelFromJson(config.dump()).layers.size();
  std::vector<Pointer> keys;
  CollectKeys(config, Pointer(), keys);
  for (const Pointer& key : keys) {
    const Json& value = config[key];
    if (value.is_null() || value.is_number_float()) continue;
    if (!Decides(config, key, written)) continue;
    for (const Json& damage : DamageOf(key.back(), value, layers)) {
      if (MayDiffer(config, key, damage) || With(config, key, damage).empty()) continue;
      unnoticed.push_back(fmt::format("{} = {} in {}", key.to_string(), damage.dump(), name));
    }
  }
  return unnoticed;
}

std::vector<std::filesystem::path> ConfigsAtHand() {
  std::vector<std::filesystem::path> paths;
  for (const auto& entry : std::filesystem::directory_iterator("tests/golden")) {
    if (exists(entry.path() / "config.json")) paths.push_back(entry.path() / "config.json");
  }
  const std::filesystem::path real = "../shared/data/configs";
  if (!is_directory(real)) {
    MESSAGE("no folder of real configs: goldens only");
    return paths;
  }
  for (const auto& entry : std::filesystem::directory_iterator(real)) paths.push_back(entry.path());
  return paths;
}

}  // namespace

TEST_CASE("damage to a key that decides a size is always noticed, in every config at hand") {
  for (const auto& path : ConfigsAtHand()) {
    const Json config = Json::parse(ReadFileForTest(path), nullptr, /*allow_exceptions=*/false);
    if (config.is_discarded()) continue;  // bare Infinity and NaN, which this reader doesn't take
    for (const std::string& unnoticed : Unnoticed(path.string(), config)) {
      FAIL_CHECK(unnoticed);
    }
  }
}

}  // namespace cairn
