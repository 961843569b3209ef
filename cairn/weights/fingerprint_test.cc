#include "cairn/weights/fingerprint.h"

#include <doctest/doctest.h>

#include <filesystem>
#include <set>
#include <string>

#include "cairn/base/env.h"
#include "cairn/base/temp_folder_for_tests.h"

namespace cairn {
namespace {

const std::string kGolden = "tests/golden/llama_mqa";

std::string Fingerprint(const std::string& path, int threads) {
  ThreadPool pool(threads);
  const auto file = OpenWeightFile(path);
  REQUIRE(file.has_value());
  const auto fingerprint = FingerprintOf(**file, path, pool);
  REQUIRE(fingerprint.has_value());
  CHECK(fingerprint->size() == 32);
  return *fingerprint;
}

void ChangeByte(const std::string& path, size_t from_end) {
  std::string content = *ReadFile(path, 1 << 26);
  content[content.size() - from_end] = static_cast<char>(content[content.size() - from_end] ^ 1);
  REQUIRE(WriteFileAtomically(path, std::as_bytes(std::span(content))));
}

}  // namespace

TEST_CASE(
    "a fingerprint is that of the bytes: not of the path or the threads, and one bit changes it") {
  const TempFolder folder;
  std::filesystem::copy(kGolden, folder.path(), std::filesystem::copy_options::recursive);
  std::set<std::string> seen = {Fingerprint(kGolden, 1)};
  CHECK(Fingerprint(folder.path(), 2) == *seen.begin());
  ChangeByte(folder.File("model.safetensors"), 1);
  CHECK(seen.insert(Fingerprint(folder.path(), 2)).second);
  std::string config = *ReadFile(folder.File("config.json"), 1 << 20);
  config += "\n";
  REQUIRE(WriteFileAtomically(folder.File("config.json"), std::as_bytes(std::span(config))));
  CHECK(seen.insert(Fingerprint(folder.path(), 2)).second);
}

}  // namespace cairn
