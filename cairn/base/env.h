// The door to the outside: files, the clock, the machine's cores, random seeds.
//
// Code above base/ asks here and never the system itself, so that all of it can be put under a
// virtual clock and injected faults. Errors name the path. Thread-safe, except where noted.
#ifndef CAIRN_BASE_ENV_H_
#define CAIRN_BASE_ENV_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "cairn/base/status.h"

namespace cairn {

// A whole regular file, read-only in memory. Movable, not copyable; const use is thread-safe.
// Somebody else who truncates the file while it is mapped kills the process (SIGBUS), as with any
// mapped file: replace files by rename, never in place.
class MappedFile {
 public:
  // Errors: missing, a directory or another special file, empty, not permitted.
  static Result<MappedFile> Open(const std::string& path);

  MappedFile() = default;
  ~MappedFile();
  MappedFile(MappedFile&& other) noexcept;
  MappedFile& operator=(MappedFile&& other) noexcept;
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  // Moves do not change where the bytes lie.
  std::span<const std::byte> bytes() const { return bytes_; }

  // What is read soon: the disk may begin. A hint.
  void WillNeed(std::span<const std::byte> part) const;
  // What is read next: brings all its pages at once, which is cheaper than one fault after another.
  // A hint.
  void Populate(std::span<const std::byte> part) const;

  // Gives the pages' memory back; reading them again reads the file again.
  void DropPages() const { DropPages(bytes_); }
  // Of whole pages inside `part`, which must lie in bytes().
  void DropPages(std::span<const std::byte> part) const;

 private:
  std::span<const std::byte> bytes_;
};

// Everything up to the end of a file or pipe. Errors as MappedFile's, and more than `bytes_max`.
Result<std::string> ReadFile(const std::string& path, size_t bytes_max);

// Afterwards the path holds all of the bytes, on stable storage, or, after an error or a crash,
// what it held before. Refuses to replace anything but a regular file.
Status WriteFileAtomically(const std::string& path, std::span<const std::byte> bytes);
// The pieces one behind the other.
Status WriteFileAtomically(const std::string& path,
                           std::span<const std::span<const std::byte>> pieces);

bool FileExists(const std::string& path);  // a file of any kind, or a directory
bool IsDirectory(const std::string& path);

// Of a clock that never goes back; only differences mean something.
int64_t NowMicroseconds();

// The calendar's clock, in seconds since 1970; it may jump.
int64_t NowUnixSeconds();

// Cores that this process may compute on, at least 1: hyper-threads aside and within the limits of
// its control groups (cpu_count.h).
int CpuCount();

// This thread and those it starts run on these processors only. Errors: none of them is there or
// allowed.
Status RunOnCpus(std::span<const int> cpus);

// Different at every call.
uint64_t RandomSeed();

}  // namespace cairn

#endif  // CAIRN_BASE_ENV_H_
