#include "cairn/base/env.h"

#include <doctest/doctest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <set>
#include <string_view>
#include <vector>

#include "cairn/base/temp_folder_for_tests.h"

namespace cairn {
namespace {

std::span<const std::byte> BytesOfText(std::string_view text) {
  return std::as_bytes(std::span(text));
}

std::string_view TextOf(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

size_t FilesIn(const TempFolder& folder) {
  size_t count = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder.path())) {
    count += entry.exists() ? 1 : 0;
  }
  return count;
}

}  // namespace

TEST_CASE("what was written is read back, mapped or whole") {
  const TempFolder folder;
  const std::string path = folder.File("a");
  REQUIRE(WriteFileAtomically(path, BytesOfText("hello")).has_value());
  CHECK_EQ(ReadFile(path, 5).value(), "hello");
  Result<MappedFile> mapped = MappedFile::Open(path);
  REQUIRE(mapped.has_value());
  CHECK_EQ(TextOf(mapped->bytes()), "hello");
  mapped->DropPages();
  CHECK_EQ(TextOf(mapped->bytes()), "hello");
}

TEST_CASE("pages that are announced, brought and dropped hold the same bytes") {
  const TempFolder folder;
  std::string text(100'000, 'x');
  text[50'000] = 'y';
  REQUIRE(WriteFileAtomically(folder.File("a"), BytesOfText(text)).has_value());
  const MappedFile mapped = MappedFile::Open(folder.File("a")).value();
  for (const auto& [first, size] :
       {std::pair{0, 100'000}, {49'000, 9'000}, {50'000, 1}, {99'999, 1}, {7, 0}}) {
    const auto part = mapped.bytes().subspan(static_cast<size_t>(first), static_cast<size_t>(size));
    mapped.WillNeed(part);
    mapped.Populate(part);
    CHECK(TextOf(mapped.bytes()) == text);
    mapped.DropPages(part);
    CHECK(TextOf(mapped.bytes()) == text);
  }
  CHECK_THROWS(mapped.DropPages(std::span(mapped.bytes().data() + 99'999, 2)));
}

TEST_CASE("a moved mapping keeps its bytes where they are") {
  const TempFolder folder;
  REQUIRE(WriteFileAtomically(folder.File("a"), BytesOfText("first")).has_value());
  REQUIRE(WriteFileAtomically(folder.File("b"), BytesOfText("second")).has_value());
  MappedFile first = MappedFile::Open(folder.File("a")).value();
  const std::byte* data = first.bytes().data();
  MappedFile moved(std::move(first));
  CHECK_EQ(moved.bytes().data(), data);
  moved = MappedFile::Open(folder.File("b")).value();
  CHECK_EQ(TextOf(moved.bytes()), "second");
}

TEST_CASE("a file that can't be mapped says why") {
  const TempFolder folder;
  REQUIRE(WriteFileAtomically(folder.File("empty"), BytesOfText("")).has_value());
  REQUIRE_EQ(::mkfifo(folder.File("pipe").c_str(), 0600), 0);
  const auto error = [](const std::string& path) { return MappedFile::Open(path).error(); };
  CHECK_EQ(error(folder.File("missing")).code, ErrorCode::kNotFound);
  CHECK_EQ(error(folder.File("missing")).message,
           folder.File("missing") + ": cannot open: No such file or directory");
  CHECK_EQ(error(folder.path()).message, folder.path() + ": is a directory, expected a file");
  CHECK_EQ(error(folder.File("empty")).message, folder.File("empty") + ": the file is empty");
  CHECK_EQ(error(folder.File("pipe")).message, folder.File("pipe") + ": is not a regular file");
  CHECK_EQ(error("").message, "the path of a file is empty");
}

TEST_CASE("a file without permission is refused") {
  if (::geteuid() == 0) {
    MESSAGE("skipped: root may read everything");
    return;
  }
  const TempFolder folder;
  REQUIRE(WriteFileAtomically(folder.File("secret"), BytesOfText("x")).has_value());
  REQUIRE_EQ(::chmod(folder.File("secret").c_str(), 0), 0);
  CHECK_EQ(MappedFile::Open(folder.File("secret")).error().code, ErrorCode::kIo);
}

TEST_CASE("reading a file stops at the bound") {
  const TempFolder folder;
  const std::string text(300'000, 'x');
  REQUIRE(WriteFileAtomically(folder.File("a"), BytesOfText(text)).has_value());
  CHECK_EQ(ReadFile(folder.File("a"), text.size()).value(), text);
  CHECK_EQ(ReadFile(folder.File("a"), text.size() - 1).error().message,
           folder.File("a") + ": larger than the 299999 bytes that are allowed");
  CHECK_EQ(ReadFile("/dev/zero", 1'000).error().code, ErrorCode::kInvalidArgument);
  CHECK_FALSE(ReadFile(folder.path(), 10).has_value());
}

TEST_CASE("a failed write leaves the old file and no other") {
  const TempFolder folder;
  const std::string path = folder.File("a");
  REQUIRE(WriteFileAtomically(path, BytesOfText("old")).has_value());
  REQUIRE(WriteFileAtomically(path, BytesOfText("new")).has_value());
  CHECK_EQ(ReadFile(path, 10).value(), "new");
  CHECK_FALSE(WriteFileAtomically(folder.path(), BytesOfText("x")).has_value());
  CHECK_FALSE(WriteFileAtomically(path + "/below", BytesOfText("x")).has_value());
  CHECK_FALSE(WriteFileAtomically("/dev/null", BytesOfText("x")).has_value());
  CHECK_EQ(FilesIn(folder), 1);
}

TEST_CASE("pieces are written one behind the other") {
  const TempFolder folder;
  const std::vector<std::span<const std::byte>> pieces = {BytesOfText("ab"), {}, BytesOfText("c")};
  REQUIRE(WriteFileAtomically(folder.File("a"), pieces).has_value());
  CHECK_EQ(ReadFile(folder.File("a"), 10).value(), "abc");
}

TEST_CASE("files and directories are told apart") {
  const TempFolder folder;
  CHECK(IsDirectory(folder.path()));
  CHECK(FileExists(folder.path()));
  CHECK_FALSE(FileExists(folder.File("a")));
  REQUIRE(WriteFileAtomically(folder.File("a"), BytesOfText("x")).has_value());
  CHECK(FileExists(folder.File("a")));
  CHECK_FALSE(IsDirectory(folder.File("a")));
}

TEST_CASE("the clock goes forward, cores are counted, seeds differ") {
  const int64_t start_us = NowMicroseconds();
  ::usleep(2'000);
  CHECK_GE(NowMicroseconds() - start_us, 2'000);
  CHECK_GE(CpuCount(), 1);
  std::set<uint64_t> seeds;
  for (int i = 0; i < 100; ++i) seeds.insert(RandomSeed());
  CHECK_EQ(seeds.size(), 100);
}

}  // namespace cairn
