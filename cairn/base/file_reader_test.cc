#include "cairn/base/file_reader.h"

#include <doctest/doctest.h>

#include <array>
#include <filesystem>
#include <fstream>
#include <string>

#include "cairn/base/temp_folder_for_tests.h"

namespace cairn {
namespace {

std::string ReadText(const FileReader& file, uint64_t offset, size_t bytes) {
  std::string text(bytes, '?');
  const auto got = file.ReadAt(offset, std::as_writable_bytes(std::span(text)));
  REQUIRE_MESSAGE(got.has_value(), got.error().message);
  text.resize(*got);
  return text;
}

}  // namespace

TEST_CASE("a file is read at any offset, up to its end") {
  const TempFolder folder;
  const std::string path = folder.File("file");
  std::ofstream(path, std::ios::binary) << "0123456789";
  const auto file = FileReader::Open(path);
  REQUIRE_MESSAGE(file.has_value(), file.error().message);
  CHECK_EQ(file->size(), 10);
  CHECK_EQ(ReadText(*file, 0, 4), "0123");
  CHECK_EQ(ReadText(*file, 7, 100), "789");
  CHECK_EQ(ReadText(*file, 10, 1), "");
  CHECK_EQ(ReadText(*file, UINT64_MAX, 1), "");
}

TEST_CASE("what isn't a file with bytes is refused by name") {
  const TempFolder folder;
  const std::string empty = folder.File("empty");
  std::ofstream(empty).flush();
  for (const std::string& path : {empty, folder.path(), folder.File("none"), std::string()}) {
    const auto file = FileReader::Open(path);
    REQUIRE_FALSE(file.has_value());
    CHECK(file.error().IsBadInput());
    CHECK_NE(file.error().message.find(path), std::string::npos);
  }
}

TEST_CASE("a folder's names come sorted and bounded") {
  const TempFolder folder;
  for (const char* name : {"b", "a", "c"}) std::ofstream(folder.File(name)) << name;
  const auto names = ListFolder(folder.path(), 3);
  REQUIRE_MESSAGE(names.has_value(), names.error().message);
  CHECK_EQ(*names, std::vector<std::string>{"a", "b", "c"});
  CHECK_FALSE(ListFolder(folder.path(), 2).has_value());
  CHECK_FALSE(ListFolder(folder.File("a"), 2).has_value());
  CHECK_FALSE(ListFolder(folder.File("none"), 2).has_value());
}

}  // namespace cairn
