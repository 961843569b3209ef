#include "tests/model_for_tests.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "cairn/spec/families.h"
#include "cairn/weights/weight_file.h"

namespace cairn {
namespace {

// The references' rotations were made for their prompts and what follows.
constexpr TokenCount kContext(112);

nlohmann::json ReadJson(const std::string& path) {
  std::ifstream file(path);
  REQUIRE_MESSAGE(file.good(), path);
  return nlohmann::json::parse(file);
}

template <class Element>
std::vector<Element> Values(const WeightFile& file, const std::string& name) {
  const auto tensor = file.Require(name);
  REQUIRE_MESSAGE(tensor.has_value(), name);
  const std::span<const std::byte> bytes = (*tensor)->bytes;
  std::vector<Element> values(bytes.size() / sizeof(Element));
  std::memcpy(values.data(), bytes.data(), values.size() * sizeof(Element));
  return values;
}

std::vector<TokenId> Tokens(const WeightFile& file, const std::string& name) {
  std::vector<TokenId> ids;
  if ((*file.Require(name))->dtype == DType::kI64) {
    for (const int64_t id : Values<int64_t>(file, name)) ids.emplace_back(static_cast<int32_t>(id));
  } else {
    for (const int32_t id : Values<int32_t>(file, name)) ids.emplace_back(id);
  }
  return ids;
}

// "the last 3 columns suffice; ..": bytes of the others; 0 if the reference says nothing like it.
int64_t SpareColumns(const nlohmann::json& tensor) {
  const auto note = tensor.find("needed");
  if (note == tensor.end() || !note->is_string()) return 0;
  long needed = 0;
  if (std::sscanf(note->get<std::string>().c_str(), "the last %ld columns suffice", &needed) != 1) {
    return 0;
  }
  const auto columns = tensor.at("shape").back().get<int64_t>();
  return tensor.at("bytes_f32_model").get<int64_t>() / columns * (columns - needed);
}

}  // namespace

std::vector<std::string> GoldenNames() {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator("tests/golden")) {
    if (!std::filesystem::exists(entry.path() / "expected.safetensors")) continue;
    names.push_back(entry.path().filename().string());
  }
  std::ranges::sort(names);
  REQUIRE(names.size() >= 8);
  return names;
}

std::string GoldenFolder(const std::string& name) { return "tests/golden/" + name; }

ModelSpec GoldenSpec(const std::string& name) {
  const std::string path = GoldenFolder(name) + "/config.json";
  auto spec = ModelSpecFromConfig(ReadJson(path).dump(), path);
  REQUIRE_MESSAGE(spec.has_value(), (spec ? "" : spec.error().message));
  return *std::move(spec);
}

Golden ReadGolden(const std::string& name) {
  Golden golden;
  golden.name = name;
  golden.logit_tolerance = ReadJson(GoldenFolder(name) + "/meta.json").at("suggested_atol");
  const auto file = OpenWeightFile(GoldenFolder(name) + "/expected.safetensors");
  REQUIRE(file.has_value());
  golden.prompt = Tokens(**file, "prompt_ids");
  golden.logits = Values<float>(**file, "logits");
  golden.greedy = Tokens(**file, "greedy_ids");
  golden.greedy_logits = Values<float>(**file, "greedy_logits");
  const nlohmann::json state = ReadJson(GoldenFolder(name) + "/state.json");
  bool values_are_keys = false;
  int64_t value_bytes = 0;
  for (const nlohmann::json& layer : state.at("layers")) {
    auto bytes = layer.at("bytes_by_tokens_f32_model").get<std::vector<int64_t>>();
    golden.state_bytes.resize(bytes.size());
    for (size_t i = 0; i < bytes.size(); ++i) golden.state_bytes[i] += bytes[i];
    golden.layer_state_bytes.push_back(bytes);
    for (const nlohmann::json& tensor : layer.at("tensors")) {
      golden.spare_bytes += SpareColumns(tensor);
      // Where some layers keep one tensor as both, all could.
      values_are_keys = values_are_keys || tensor.contains("same_storage_as");
      if (tensor.at("name") == "values") value_bytes += tensor.at("bytes_f32_model").get<int64_t>();
    }
  }
  if (values_are_keys) golden.spare_bytes += value_bytes;
  return golden;
}

LoadedModel::LoadedModel(const std::string& path, StateCodecs codecs, int threads,
                         const KeyStandards& standards)
    : pool_(std::make_unique<ThreadPool>(threads)) {
  Keep(LoadModel(path, {.codecs = codecs, .standards = standards, .context = kContext}, *pool_));
}

LoadedModel::LoadedModel(const std::string& path, ModelSpec spec, StateCodecs codecs, int threads)
    : pool_(std::make_unique<ThreadPool>(threads)) {
  auto file = OpenWeightFile(path);
  REQUIRE(file.has_value());
  Keep(LoadModel(std::move(*file), std::move(spec), {.codecs = codecs, .context = kContext},
                 *pool_));
}

void LoadedModel::Keep(Result<std::unique_ptr<Model>> model) {
  REQUIRE_MESSAGE(model.has_value(), (model ? "" : model.error().message));
  model_ = std::move(*model);
  auto store = StateStore::Make(model_->layout(), {.budget = Bytes(int64_t{1} << 32),
                                                   .max_sequences = 64,
                                                   .reserved_tokens = TokenCount(2048)});
  REQUIRE_MESSAGE(store.has_value(), (store ? "" : store.error().message));
  store_ = std::move(*store);
}

std::vector<float> LoadedModel::Feed(SequenceId id, std::span<const TokenId> tokens,
                                     int64_t chunk) {
  std::vector<float> logits;
  for (size_t first = 0; first < tokens.size(); first += static_cast<size_t>(chunk)) {
    const auto part =
        tokens.subspan(first, std::min(static_cast<size_t>(chunk), tokens.size() - first));
    const TokenCount count(static_cast<int64_t>(part.size()));
    REQUIRE(store_->Prepare(id, count).has_value());
    const BatchSpan span = {.state = store_->View(id), .tokens = part, .logits = count.value()};
    model_->Forward({&span, 1});
    store_->Commit(id, count);
    const size_t before = logits.size();
    logits.resize(before + part.size() * static_cast<size_t>(vocabulary()));
    model_->Logits(0, count.value(), logits.data() + before);
  }
  return logits;
}

StateBytes LoadedModel::StateOf(SequenceId id) const {
  StateBytes state;
  store_->ForEachBlock(id, [&](ClassIndex c, int64_t block, std::span<const std::byte> bytes) {
    state[{c.value(), block}] = {bytes.begin(), bytes.end()};
  });
  return state;
}

bool SameBits(std::span<const float> a, std::span<const float> b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size_bytes()) == 0;
}

}  // namespace cairn
