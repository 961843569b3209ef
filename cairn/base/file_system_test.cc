#include "cairn/base/file_system.h"

#include <doctest/doctest.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "cairn/base/aligned_buffer.h"
#include "cairn/base/env.h"
#include "cairn/base/file_system_for_tests.h"
#include "cairn/base/temp_folder_for_tests.h"

namespace cairn {
namespace {

std::vector<std::byte> Filled(size_t size, int value) {
  return std::vector<std::byte>(size, static_cast<std::byte>(value));
}

std::vector<std::byte> ReadAll(const File& file) {
  std::vector<std::byte> bytes(*file.Size() + 1);  // one more than there is
  const auto got = file.ReadAt(0, bytes);
  REQUIRE(got);
  bytes.resize(*got);
  return bytes;
}

// What both the real one and the simulated one must do.
void CheckFiles(FileSystem& files, const std::string& folder) {
  const std::string path = folder + "/a";
  CHECK(files.OpenDirect(path, FileOpening::kWrite).error().code == ErrorCode::kNotFound);
  auto file = *files.OpenDirect(path, FileOpening::kCreate);
  CHECK_FALSE(files.OpenDirect(path, FileOpening::kCreate));
  REQUIRE(file->WriteAt(3, Filled(5, 7)));
  REQUIRE(file->Sync());
  std::vector<std::byte> expected = Filled(3, 0);
  expected.resize(8, std::byte{7});
  CHECK(ReadAll(*file) == expected);
  std::vector<std::byte> part(4);
  CHECK(*file->ReadAt(6, part) == 2);
  CHECK(*file->ReadAt(8, part) == 0);
  CHECK(*file->ReadAt(1000, part) == 0);

  REQUIRE(file->Reserve(8192));
  expected.resize(8192);
  CHECK(ReadAll(*file) == expected);
  REQUIRE(file->Reserve(100));  // never shorter
  CHECK(*file->Size() == 8192);
  REQUIRE(file->Truncate(5));
  expected.resize(5);
  CHECK(ReadAll(*file) == expected);

  REQUIRE(files.Rename(path, folder + "/b"));
  CHECK(*files.List(folder, 10) == std::vector<std::string>{"b"});
  CHECK_FALSE(files.List(folder, 0));
  CHECK(ReadAll(**files.OpenDirect(folder + "/b", FileOpening::kRead)) == expected);
  REQUIRE(files.Remove(folder + "/b"));
  CHECK(files.Remove(folder + "/b").error().code == ErrorCode::kNotFound);
  CHECK(files.SyncFolder(folder));
  CHECK(files.List(folder, 10)->empty());
  CHECK(ReadAll(*file) == expected);  // an open file outlives its name

  auto lock = files.Lock(folder + "/lock");
  REQUIRE(lock);
  const auto refused = files.Lock(folder + "/lock");
  REQUIRE_FALSE(refused);
  CHECK(refused.error().message.starts_with(folder + "/lock: "));
  lock->reset();
  CHECK(files.Lock(folder + "/lock"));
}

TEST_CASE("files and folders do what the interface says") {
  SUBCASE("on the machine") {
    const TempFolder folder;
    FileSystem& files = FileSystem::Real();
    REQUIRE(files.MakeFolder(folder.File("x/y")));
    REQUIRE(files.MakeFolder(folder.File("x/y")));
    CheckFiles(files, folder.File("x/y"));
  }
  SUBCASE("simulated") {
    SimulatedFileSystem files(1);
    REQUIRE(files.MakeFolder("x/y"));
    CheckFiles(files, "x/y");
  }
}

TEST_CASE("aligned and other writes and reads see each other") {
  const TempFolder folder;
  auto file = *FileSystem::Real().OpenDirect(folder.File("a"), FileOpening::kCreate);
  AlignedBuffer memory(4 * 4096);
  const auto address = reinterpret_cast<uintptr_t>(memory.data());
  std::byte* aligned = memory.data() + (4096 - address % 4096) % 4096;
  std::memset(aligned, 1, 8192);
  REQUIRE(file->WriteAt(0, std::span(aligned, 8192)));
  REQUIRE(file->WriteAt(4000, Filled(200, 2)));
  std::memset(aligned, 0, 8192);
  CHECK(*file->ReadAt(0, std::span(aligned, 8192)) == 8192);
  for (size_t i = 0; i < 8192; ++i) {
    CHECK(aligned[i] == (i >= 4000 && i < 4200 ? std::byte{2} : std::byte{1}));
  }
}

TEST_CASE("a folder made here is for this user alone") {
  const TempFolder folder;
  REQUIRE(FileSystem::Real().MakeFolder(folder.File("x")));
  struct stat status;
  REQUIRE(::stat(folder.File("x").c_str(), &status) == 0);
  CHECK((status.st_mode & 0777) == 0700);
}

TEST_CASE("what is no regular file is refused, without waiting for a pipe's other end") {
  const TempFolder folder;
  FileSystem& files = FileSystem::Real();
  REQUIRE(::mkfifo(folder.File("pipe").c_str(), 0600) == 0);
  CHECK_FALSE(files.OpenDirect(folder.File("pipe"), FileOpening::kRead));
  CHECK_FALSE(files.OpenDirect(folder.path(), FileOpening::kRead));
  CHECK_FALSE(files.OpenDirect(folder.path(), FileOpening::kWrite));
}

TEST_CASE("another process that holds a lock is named, and its death frees the lock") {
  const TempFolder folder;
  int ready[2];
  REQUIRE(::pipe(ready) == 0);
  const pid_t child = ::fork();
  if (child == 0) {
    const auto lock = FileSystem::Real().Lock(folder.File("lock"));
    [[maybe_unused]] const ssize_t told = ::write(ready[1], lock ? "1" : "0", 1);
    while (true) ::pause();
  }
  char answer = 0;
  REQUIRE(::read(ready[0], &answer, 1) == 1);
  CHECK(answer == '1');
  const auto refused = FileSystem::Real().Lock(folder.File("lock"));
  CHECK(refused.error().message.find(std::to_string(child)) != std::string::npos);
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  CHECK(FileSystem::Real().Lock(folder.File("lock")));
  ::close(ready[0]);
  ::close(ready[1]);
}

TEST_CASE("a simulated crash keeps what was synced and may take or tear the rest") {
  int kept = 0;
  int lost = 0;
  int torn = 0;
  for (uint64_t seed = 0; seed < 60; ++seed) {
    SimulatedFileSystem files(seed);
    auto file = *files.OpenDirect("x/a", FileOpening::kCreate);
    REQUIRE(file->WriteAt(0, Filled(4096, 1)));
    REQUIRE(file->Sync());
    REQUIRE(files.SyncFolder("x"));
    REQUIRE(file->WriteAt(4096, Filled(4096, 2)));
    REQUIRE(file->WriteAt(0, Filled(1024, 1)));
    files.Crash();
    std::vector<std::byte> bytes = files.Contents("x/a");
    REQUIRE(bytes.size() >= 4096);
    CHECK(
        std::all_of(bytes.begin(), bytes.begin() + 4096, [](auto b) { return b == std::byte{1}; }));
    bytes.erase(bytes.begin(), bytes.begin() + 4096);
    if (bytes == Filled(4096, 2)) {
      ++kept;
    } else if (std::ranges::all_of(bytes, [](auto b) { return b == std::byte{0}; })) {
      ++lost;
    } else {
      ++torn;
    }
  }
  CHECK(kept > 0);
  CHECK(lost > 0);
  CHECK(torn > 0);
}

TEST_CASE("a simulated crash may forget names that the folder's sync had not made safe") {
  int kept = 0;
  for (uint64_t seed = 0; seed < 40; ++seed) {
    SimulatedFileSystem files(seed);
    (void)*files.OpenDirect("x/a", FileOpening::kCreate);
    REQUIRE(files.SyncFolder("x"));
    (void)*files.OpenDirect("x/b", FileOpening::kCreate);
    REQUIRE(files.Remove("x/a"));
    files.Crash();
    const auto names = *files.List("x", 10);
    // In the order of the journal: b came first.
    CHECK((names == std::vector<std::string>{"a"} || names == std::vector<std::string>{"a", "b"} ||
           names == std::vector<std::string>{"b"}));
    kept += names.size() == 2;
  }
  CHECK(kept > 0);
}

TEST_CASE("simulated faults come when asked for") {
  SimulatedFileSystem files(1);
  auto file = *files.OpenDirect("x/a", FileOpening::kCreate);
  files.FailNth(1);
  CHECK(file->WriteAt(0, Filled(10, 1)));
  CHECK(file->WriteAt(0, Filled(10, 1)).error().code == ErrorCode::kIo);
  CHECK(file->WriteAt(0, Filled(10, 1)));
  files.SetCapacity(20);
  CHECK(file->WriteAt(10, Filled(11, 1)).error().code == ErrorCode::kExhausted);
  CHECK(file->WriteAt(10, Filled(10, 1)));
  files.StopAfter(1);
  CHECK(file->Sync());
  CHECK_FALSE(files.stopped());
  CHECK_FALSE(file->Sync());
  CHECK(files.stopped());
  std::vector<std::byte> some(4);
  CHECK_FALSE(file->ReadAt(0, some));
  files.Crash();
  CHECK_FALSE(files.stopped());
}

}  // namespace
}  // namespace cairn
