#include "cairn/weights/weight_file.h"

#include <doctest/doctest.h>

#include <filesystem>
#include <initializer_list>

#include "cairn/base/temp_folder_for_tests.h"
#include "cairn/weights/gguf.h"
#include "cairn/weights/gguf_builder_for_tests.h"
#include "cairn/weights/safetensors.h"
#include "cairn/weights/weight_file_for_tests.h"

namespace cairn {
namespace {

void Write(const std::string& path, const std::string& bytes) {
  REQUIRE(WriteFileAtomically(path, std::as_bytes(std::span(bytes))).has_value());
}

std::string ErrorOf(const std::string& path) {
  const auto file = OpenWeightFile(path);
  return file ? "" : file.error().message;
}

// The bytes that the tensors' types and shapes need, summed without the reader's own arithmetic.
int64_t BytesOfAll(const WeightFile& file) {
  int64_t bytes = 0;
  for (const TensorInfo& tensor : file.tensors()) {
    int64_t elements = 1;
    for (const int64_t size : tensor.shape) elements *= size;
    const int64_t needed =
        BytesOf(tensor.dtype.value_or(DType::kU8), ElementCount(elements)).value();
    CHECK_EQ(static_cast<int64_t>(tensor.bytes.size()), needed);
    bytes += needed;
  }
  return bytes;
}

// Null and a message where the model has not been fetched.
std::unique_ptr<WeightFile> OpenModel(const std::string& path) {
  if (!FileExists(path)) {
    MESSAGE("skipped: " << path << " is not there, make models brings it");
    return nullptr;
  }
  auto file = OpenWeightFile(path);
  REQUIRE_MESSAGE(file.has_value(), ErrorOf(path));
  return std::move(*file);
}

template <class Parse>
void Replay(const std::string& folder, const Parse& parse) {
  size_t files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    CAPTURE(entry.path().string());
    const std::string bytes = ReadFile(entry.path().string(), 1 << 20).value();
    const std::span<const std::byte> span = std::as_bytes(std::span(bytes));
    CHECK_NOTHROW(CheckWeightFile(parse(span, "corpus"), span));
    ++files;
  }
  CHECK_GT(files, 0);
}

}  // namespace

TEST_CASE("every kept fuzzer input is a sound file or a one-line error") {
  Replay("tests/corpora/gguf_fuzz", ParseGguf);
  Replay("tests/corpora/safetensors_fuzz", ParseSafetensors);
}

TEST_CASE("a file is opened by its content, whatever its name") {
  const TempFolder folder;
  Write(folder.File("gguf.bin"), GgufBuilder().Tensor("t", {4}, 0, std::string(16, 'x')).Build());
  Write(folder.File("st.bin"), Raw<uint64_t>(2) + "{}");
  for (const char* name : {"gguf.bin", "st.bin"}) CHECK_EQ(ErrorOf(folder.File(name)), "");
  const auto file = OpenWeightFile(folder.File("gguf.bin"));
  REQUIRE(file.has_value());
  const std::span<const std::byte> bytes = (*file)->Require("t").value()->bytes;
  REQUIRE((*file)->FileOf(bytes) != nullptr);
  CHECK((*file)->FileOf(bytes)->bytes().data() < bytes.data());
  const std::byte own[1] = {};
  CHECK((*file)->FileOf(own) == nullptr);
  (*file)->DropPages();
  CHECK_EQ((*file)->Require("t").value()->bytes[15], std::byte{'x'});
}

TEST_CASE("what is no weight file says what it is") {
  const TempFolder folder;
  Write(folder.File("lfs"), "version https://git-lfs.github.com/spec/v1\noid sha256:0\n");
  Write(folder.File("zip"), "PK\3\4 and so on, not a model");
  Write(folder.File("cut.safetensors"), "abc");
  const auto part_of_error = [&](const std::string& name, std::string_view part) {
    return ErrorOf(folder.File(name)).find(part) != std::string::npos;
  };
  CHECK(part_of_error("lfs", "is a Git LFS pointer"));
  CHECK(part_of_error("zip",
                      R"(neither a GGUF file nor a safetensors file (it starts with "PK\x03)"));
  CHECK(part_of_error("cut.safetensors", "is truncated or not a safetensors file"));
  CHECK(part_of_error("missing", "No such file"));
  CHECK(part_of_error("", "neither model.safetensors nor model.safetensors.index.json"));
}

TEST_CASE("SmolLM2 opens with the metadata of its maker") {
  const auto file = OpenModel("models/SmolLM2-135M-Instruct.Q4_1.gguf");
  if (file == nullptr) return;
  const Metadata& metadata = file->metadata();
  CHECK_EQ(metadata.String("general.architecture").value(), "llama");
  CHECK_EQ(metadata.Int("llama.block_count").value(), 30);
  CHECK_EQ(metadata.Int("llama.attention.head_count").value(), 9);
  CHECK_EQ(metadata.Int("llama.attention.head_count_kv").value(), 3);
  CHECK_EQ(metadata.Float("llama.rope.freq_base").value(), 100000);
  CHECK_EQ(metadata.Strings("tokenizer.ggml.tokens").value().size(), 49152);
  CHECK_EQ(file->tensors().size(), 272);
  const TensorInfo* embedding = file->Require("token_embd.weight").value();
  CHECK_EQ(embedding->shape, std::vector<int64_t>{49152, 576});
  CHECK_GT(BytesOfAll(*file), 80'000'000);
}

TEST_CASE("Gemma 3 opens with the metadata of its maker") {
  const auto file = OpenModel("models/gemma-3-270m-q4_k_m.gguf");
  if (file == nullptr) return;
  const Metadata& metadata = file->metadata();
  CHECK_EQ(metadata.String("general.architecture").value(), "gemma3");
  CHECK_EQ(metadata.Int("gemma3.block_count").value(), 18);
  CHECK_EQ(metadata.Int("gemma3.attention.sliding_window").value(), 512);
  CHECK_EQ(metadata.Strings("tokenizer.ggml.tokens").value().size(), 262144);
  CHECK_EQ(metadata.Floats("tokenizer.ggml.scores").value().size(), 262144);
  CHECK_EQ(file->Require("token_embd.weight").value()->shape, std::vector<int64_t>{262144, 640});
  CHECK_GT(BytesOfAll(*file), 200'000'000);
}

TEST_CASE("the golden models and what they must compute open") {
  for (const std::string name : {"llama_mha", "llama_gqa", "llama_mqa", "mistral_swa", "smollm3",
                                 "gemma", "gemma2", "gemma3_text"}) {
    const std::string folder = "tests/golden/" + name;
    const auto model = OpenWeightFile(folder);
    REQUIRE_MESSAGE(model.has_value(), ErrorOf(folder));
    CHECK_NE((*model)->Find("model.embed_tokens.weight"), nullptr);
    CHECK_GT(BytesOfAll(**model), 100'000);
    const auto expected = OpenWeightFile(folder + "/expected.safetensors");
    REQUIRE(expected.has_value());
    CHECK_EQ((*expected)->Require("prompt_ids").value()->dtype, DType::kI64);
  }
}

}  // namespace cairn
