// The catalogue against the configs that its facts were taken from. They lie outside the project
// and the test says so when they are absent.
#include <doctest/doctest.h>

#include <array>
#include <filesystem>
#include <optional>
#include <string>

#include "cairn/sizing/parameters.h"
#include "cairn/spec/catalog.h"
#include "cairn/spec/families_for_tests.h"

namespace cairn {
namespace {

const std::filesystem::path kConfigs = "../shared/data/configs";

// Copies that stand under another publisher's name.
struct Copy {
  std::string_view name;
  std::string_view file;
};
constexpr auto kCopies = std::to_array<Copy>({
    {"CohereLabs/aya-23-8B", "CohereForAI__aya-23-8B"},
    {"CohereLabs/c4ai-command-r-08-2024", "unsloth__c4ai-command-r-08-2024"},
    {"CohereLabs/c4ai-command-r-v01", "CohereForAI__c4ai-command-r-v01"},
    {"CohereLabs/c4ai-command-r7b-12-2024", "huihui-ai__c4ai-command-r7b-12-2024-abliterated"},
    {"EleutherAI/gpt-neox-20b", "ybelkada__gpt-neo-x-20b-sharded-bf16"},
    {"LiquidAI/LFM2-1.2B", "FastFlowLM__LFM2-1.2B-NPU2"},
    {"Qwen/Qwen3.6-27B", "nvidia__Qwen3.6-27B-NVFP4"},
    {"Qwen/Qwen3.6-35B-A3B", "nvidia__Qwen3.6-35B-A3B-NVFP4"},
    {"allenai/Olmo-3-1025-7B", "allenai__Olmo-3-7B__no-layer-types"},
    {"bigcode/starcoder", "sambanovasystems__starcoder-toolbench"},
    {"bigscience/bloom", "sambanovasystems__BLOOMChat-176B-v1"},
    {"deepseek-ai/DeepSeek-V3.1", "nvidia__DeepSeek-V3.1-NVFP4"},
    {"facebook/opt-13b", "inverse-scaling__opt-13b_eval"},
    {"google/gemma-3-4b-it", "mlx-community__gemma-3-4b-it-bf16"},
    {"google/gemma-4-31B-it", "nvidia__Gemma-4-31B-IT-NVFP4"},
    {"google/recurrentgemma-2b-it", "ataeff__recurrentgemma-2b-it"},
    {"google/recurrentgemma-9b", "alpindale__recurrentgemma-9b"},
    {"huggyllama/llama-7b", "learnanything__llama-7b-huggingface"},
    {"meta-llama/Llama-3.1-405B", "meta-llama__Meta-Llama-3.1-405B"},
    {"meta-llama/Llama-3.1-70B", "meta-llama__Meta-Llama-3.1-70B"},
    {"meta-llama/Llama-3.1-8B", "meta-llama__Meta-Llama-3.1-8B"},
    {"meta-llama/Llama-4-Maverick-17B-128E-Instruct",
     "meta-llama__Llama-4-Maverick-17B-128E-Instruct-FP8"},
    {"microsoft/phi-1_5", "microsoft__phi-1_5__phi-msft"},
    {"moonshotai/Kimi-K2.6", "nvidia__Kimi-K2.6-NVFP4"},
    {"nvidia/NVIDIA-Nemotron-3-Super-120B-A12B-BF16",
     "nvidia__NVIDIA-Nemotron-3-Super-120B-A12B-NVFP4"},
    {"nvidia/NVIDIA-Nemotron-3.5-Lightning-30B-A3B-BF16",
     "nvidia__NVIDIA-Nemotron-3.5-Lightning-30B-A3B-NVFP4"},
    {"state-spaces/mamba2-130m", "rebuilt__AntonV__mamba2-130m-hf"},
    {"zai-org/GLM-4.7", "zai-org__GLM-4.7-FP8"},
    {"zai-org/chatglm3-6b", "THUDM__chatglm3-6b"},
    {"zai-org/glm-4-9b", "THUDM__glm-4-9b"},
});

std::optional<std::filesystem::path> ConfigOf(const CatalogEntry& entry) {
  for (const Copy& copy : kCopies) {
    if (copy.name == entry.name) return kConfigs / (std::string(copy.file) + ".json");
  }
  std::string file(entry.name);
  file.replace(file.find('/'), 1, "__");
  for (const std::string& name : {file, "rebuilt__" + file}) {
    const std::filesystem::path path = kConfigs / (name + ".json");
    if (std::filesystem::exists(path)) return path;
  }
  return std::nullopt;
}

}  // namespace

TEST_CASE("a catalogued model keeps and counts what its config says") {
  if (!std::filesystem::exists(kConfigs)) {
    MESSAGE("skipped: no ", kConfigs.string());
    return;
  }
  int compared = 0;
  for (const CatalogEntry& entry : Catalog()) {
    CAPTURE(entry.name);
    const auto path = ConfigOf(entry);
    CHECK_EQ(path.has_value(), entry.source != CatalogSource::kCard);
    if (!path) continue;
    const auto real = ModelSpecFromConfig(ReadFileForTest(*path), path->string());
    const auto model = SpecOf(entry);
    REQUIRE_MESSAGE(real.has_value(), real.error().message);
    REQUIRE_MESSAGE(model.has_value(), model.error().message);
    CHECK(StateSpecOf(*model, {}) == StateSpecOf(*real, {}));
    CHECK_EQ(ParameterCount(*model), ParameterCount(*real));
    CHECK_EQ(model->context_length, real->context_length);
    CHECK_EQ(model->hidden, real->hidden);
    CHECK_EQ(model->vocabulary, real->vocabulary);
    ++compared;
  }
  MESSAGE(compared, " of ", Catalog().size(), " models compared with their configs");
  CHECK_GE(compared, 200);
}

}  // namespace cairn
