// Models as their config.json describes them and as the converter of llama.cpp writes their GGUF
// keys: tests/data/gguf_metadata.jsonl has a model a line.
#include <doctest/doctest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "cairn/spec/families.h"
#include "cairn/spec/model_spec.h"
#include "cairn/spec/state_layout.h"
#include "cairn/weights/gguf_builder_for_tests.h"
#include "cairn/weights/gguf_header.h"
#include "cairn/weights/weight_file_for_tests.h"

namespace cairn {
namespace {

using Json = nlohmann::json;

void AddScalar(const std::string& key, const Json& value, GgufBuilder& file) {
  if (value.is_boolean()) {
    file.Pair(key, GgufBuilder::kBool, Raw(static_cast<uint8_t>(value.get<bool>() ? 1 : 0)));
  } else if (value.is_number_integer()) {
    file.Pair(key, GgufBuilder::kU32, Raw(static_cast<uint32_t>(value.get<int64_t>())));
  } else if (value.is_number()) {
    file.Pair(key, GgufBuilder::kF32, Raw(value.get<float>()));
  } else {
    file.Pair(key, GgufBuilder::kString, RawText(value.get<std::string>()));
  }
}

void AddArray(const std::string& key, const Json& values, GgufBuilder& file) {
  std::string raw;
  uint32_t type = GgufBuilder::kI32;
  for (const Json& value : values) {
    if (value.is_boolean()) {
      type = GgufBuilder::kBool;
      raw += Raw(static_cast<uint8_t>(value.get<bool>() ? 1 : 0));
    } else if (value.is_number_integer()) {
      raw += Raw(value.get<int32_t>());
    } else if (value.is_number()) {
      type = GgufBuilder::kF32;
      raw += Raw(value.get<float>());
    } else {
      type = GgufBuilder::kString;
      raw += RawText(value.get<std::string>());
    }
  }
  file.Array(key, type, values.size(), raw);
}

// A header whose table is cut, as far as its metadata goes.
std::string FileOf(const Json& pairs) {
  GgufBuilder file;
  file.claimed_tensors = 1000;
  for (const auto& [key, value] : pairs.items()) {
    if (value.is_array()) {
      AddArray(key, value, file);
    } else {
      AddScalar(key, value, file);
    }
  }
  std::string tokens;
  for (int i = 0; i < 100; ++i) tokens += RawText("token");
  file.Array("tokenizer.ggml.tokens", GgufBuilder::kString, 100, tokens);
  return file.Build();
}

Result<ModelSpec> ModelOfFile(const std::string& bytes) {
  CAIRN_ASSIGN(const GgufHeader header,
               ParseGgufHeader(std::as_bytes(std::span(bytes)), bytes.size(), "m.gguf"));
  return ModelSpecFromGguf(
      header.metadata,
      {.has = [](std::string_view) { return false; }, .rope_divisors = {}, .complete = false});
}

// In which order rows lie, and which form a rotation's keys are stored in, says nothing about their
// size; only models that can be run say it.
StateSpec SizesOf(const ModelSpec& model) {
  StateSpec spec = StateSpecOf(model, {});
  for (LayerState& layer : spec.layers) {
    for (Component& component : layer.components) {
      auto* rows = std::get_if<Rows>(&component);
      if (rows == nullptr) continue;
      rows->position = PositionApplied::kNone;
      rows->order = RowOrder::kRowMajor;
    }
  }
  return spec;
}

// One line for people, or a model whose state can be laid out or is refused with one line too.
void CheckAnswer(const Result<ModelSpec>& model) {
  if (!model) return CheckMessage(model.error().message);
  const auto layout = StateLayout::Make(StateSpecOf(*model, {}));
  if (!layout) CheckMessage(layout.error().message);
}

std::string KindsOf(const ModelSpec& model) {
  std::string kinds;
  for (const LayerSpec& layer : model.layers) kinds += KindOf(layer.mixer) + " ";
  return kinds;
}

// What a file's keys leave out, so that a GGUF file of the model is sized otherwise.
const std::set<std::string>& NotInKeys() {
  static const std::set<std::string> names = {
      "Holmeister__falcon-emotion-en",  // its KV heads, which the tensors tell
      "zai-org__GLM-5.2-FP8",           // the config leaves out which layers have an index
      "bigcode__starcoder2-7b",         // its window
      "golden qwen2",                   // the same
      "golden llama4_text",             // which layers are full, if not every fourth is
      "golden minimax",                 // which layers are full, if not every eighth is
      "golden minimax_linear_first",    // the same
  };
  return names;
}

}  // namespace

TEST_CASE("a GGUF file keeps what the same model's config.json says") {
  std::ifstream lines("tests/data/gguf_metadata.jsonl");
  REQUIRE(lines.good());
  std::set<std::string> architectures;
  int models = 0;
  for (std::string line; std::getline(lines, line);) {
    const Json entry = Json::parse(line);
    const auto name = entry["name"].get<std::string>();
    CAPTURE(name);
    const auto config = ModelSpecFromConfig(entry["config"].dump(), name);
    CHECK_MESSAGE(config.has_value(), (config ? "" : config.error().message));
    const auto file = ModelOfFile(FileOf(entry["gguf"]));
    CHECK_MESSAGE(file.has_value(), (file ? "" : file.error().message));
    if (!config || !file) continue;
    const bool equal = SizesOf(*config) == SizesOf(*file);
    const bool known = NotInKeys().contains(name);
    CHECK_MESSAGE(equal != known, (KindsOf(*config) + "\n" + KindsOf(*file)));
    CHECK_EQ(config->hidden, file->hidden);
    architectures.insert(entry["gguf"]["general.architecture"].get<std::string>());
    ++models;
  }
  CHECK_GE(models, 180);
  CHECK_GE(architectures.size(), 73);
}

TEST_CASE("a hostile value under any key of any architecture ends in one line or in a layout") {
  std::ifstream lines("tests/data/gguf_metadata.jsonl");
  REQUIRE(lines.good());
  const std::vector<Json> hostile = {0, 1, 3, 7, 4294967295U, "text", Json::array(), 1.5, true};
  std::set<std::string> architectures;
  for (std::string line; std::getline(lines, line);) {
    const Json pairs = Json::parse(line)["gguf"];
    const auto architecture = pairs["general.architecture"].get<std::string>();
    if (!architectures.insert(architecture).second) continue;
    for (const auto& [key, value] : pairs.items()) {
      for (const Json& changed : hostile) {
        Json other = pairs;
        other[key] = changed;
        CheckAnswer(ModelOfFile(FileOf(other)));
      }
      Json without = pairs;
      without.erase(key);
      CheckAnswer(ModelOfFile(FileOf(without)));
      if (!value.is_array()) continue;
      Json shorter = pairs;
      shorter[key].erase(0);
      CheckAnswer(ModelOfFile(FileOf(shorter)));
    }
  }
}

}  // namespace cairn
