// Weights of published checkpoints, from their config.json alone, against the size of their files.
#include <doctest/doctest.h>

#include <array>
#include <fstream>
#include <sstream>
#include <string>

#include "cairn/sizing/weight_bytes.h"
#include "cairn/spec/families.h"

namespace cairn {
namespace {

struct Checkpoint {
  const char* config;
  double gigabytes;  // of its tensors; of the text model where there is more
  double billions;   // active for a token, as its makers say; 0: they don't
};

// total_size of model.safetensors.index.json, and the makers' model cards.
constexpr std::array kCheckpoints = {
    Checkpoint{"Qwen__Qwen3-8B.json", 16.38147072, 8.19},
    Checkpoint{"Qwen__Qwen3-30B-A3B.json", 61.06, 3.3},
    Checkpoint{"meta-llama__Meta-Llama-3.1-8B.json", 16.060522496, 8.03},
    Checkpoint{"meta-llama__Meta-Llama-3.1-70B.json", 141.1, 70.6},
    Checkpoint{"openai__gpt-oss-20b.json", 13.76, 0},
    Checkpoint{"openai__gpt-oss-120b.json", 65.25, 0},
    Checkpoint{"moonshotai__Kimi-K2.5.json", 594.5, 32},
    Checkpoint{"deepseek-ai__DeepSeek-V3.json", 673.2, 37},
    Checkpoint{"Qwen__Qwen3-235B-A22B.json", 470.2, 22},
};

constexpr const char* kFolder = "../shared/data/configs/";

}  // namespace

TEST_CASE("published checkpoints weigh what their files do, within half a percent") {
  int read = 0;
  for (const Checkpoint& checkpoint : kCheckpoints) {
    const std::ifstream file(std::string(kFolder) + checkpoint.config);
    if (!file) continue;
    ++read;
    CAPTURE(checkpoint.config);
    std::ostringstream text;
    text << file.rdbuf();
    const auto model = ModelSpecFromConfig(text.str(), checkpoint.config);
    REQUIRE(model.has_value());
    const auto storage = StorageOfCheckpoint(*model, text.str(), checkpoint.config);
    REQUIRE_MESSAGE(storage.has_value(), storage.error().message);
    const auto weights = WeighModel(*model, {}, *storage, std::nullopt);
    REQUIRE_MESSAGE(weights.has_value(), weights.error().message);
    CHECK_EQ(static_cast<double>(weights->total.value()) / 1e9,
             doctest::Approx(checkpoint.gigabytes).epsilon(0.005));
    if (checkpoint.billions == 0) continue;
    CHECK_EQ(static_cast<double>(*weights->active) / 1e9,
             doctest::Approx(checkpoint.billions).epsilon(0.03));
  }
  MESSAGE(read << " of " << kCheckpoints.size() << " configs are there");
}

}  // namespace cairn
