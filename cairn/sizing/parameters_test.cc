#include "cairn/sizing/parameters.h"

#include <doctest/doctest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

#include "cairn/spec/families_for_tests.h"

namespace cairn {

// meta.json lists every tensor that the model's file holds.
TEST_CASE("the shapes of a golden's tensors add up to the parameters counted from its config") {
  for (const char* name : {"llama_mha", "llama_gqa", "llama_mqa", "mistral_swa", "smollm3", "gemma",
                           "gemma2", "gemma3_text"}) {
    CAPTURE(name);
    const std::string folder = std::string("tests/golden/") + name;
    const auto meta = nlohmann::json::parse(ReadFileForTest(folder + "/meta.json"));
    int64_t count = 0;
    for (const auto& tensor : meta.at("tensors")) {
      int64_t elements = 1;
      for (const auto& dimension : tensor.at("shape")) elements *= dimension.get<int64_t>();
      count += elements;
    }
    CHECK_EQ(ParameterCount(GoldenModel(name)), ElementCount(count));
  }
}

}  // namespace cairn
