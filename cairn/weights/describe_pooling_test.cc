#include "cairn/weights/describe_pooling.h"

#include <doctest/doctest.h>

#include <filesystem>
#include <span>
#include <string_view>

#include "cairn/base/env.h"
#include "cairn/base/temp_folder_for_tests.h"

namespace cairn {
namespace {

std::unique_ptr<WeightFile> FileOf(Metadata metadata) {
  return *WeightFile::Make({.metadata = std::move(metadata), .tensors = {}, .files = {}});
}

void Write(const std::filesystem::path& path, std::string_view text) {
  REQUIRE(WriteFileAtomically(path.string(), std::as_bytes(std::span(text))));
}

}  // namespace

TEST_CASE("a GGUF file is asked itself, safetensors the configs beside them") {
  Metadata gguf("m.gguf");
  gguf.Set("general.architecture", std::string("qwen3"));
  gguf.Set("qwen3.pooling_type", int64_t{3});
  CHECK(DescribePooling(*FileOf(std::move(gguf)), "m.gguf").value() == Pooling::kLast);

  const TempFolder folder;
  const std::filesystem::path path(folder.path());
  const auto file = FileOf(Metadata("model.safetensors"));
  CHECK(DescribePooling(*file, path.string()).value() == std::nullopt);
  Write(path / "modules.json", R"([{"type": "sentence_transformers.models.Transformer"},
                                   {"type": "sentence_transformers.models.Pooling"}])");
  CHECK(DescribePooling(*file, path.string()).error().code == ErrorCode::kNotFound);
  std::filesystem::create_directory(path / "1_Pooling");
  Write(path / "1_Pooling" / "config.json", R"({"pooling_mode_mean_tokens": true})");
  CHECK(DescribePooling(*file, path.string()).value() == Pooling::kMean);
  CHECK(DescribePooling(*file, (path / "model.safetensors").string()).value() == Pooling::kMean);
}

}  // namespace cairn
