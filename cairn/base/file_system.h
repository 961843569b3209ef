// FileSystem: folders and files that are written, as an interface, so that tests can put faults,
// crashes and slow disks in its place.
//
// What it promises is what POSIX does, no more: bytes written may be lost or torn in a crash until
// Sync returned, and so may the names of files until SyncFolder did, in any order. Paths are the
// system's; errors name them. Thread-safe; two writes to the same bytes at once leave either.
#ifndef CAIRN_BASE_FILE_SYSTEM_H_
#define CAIRN_BASE_FILE_SYSTEM_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "cairn/base/status.h"

namespace cairn {

// A regular file, open for reading and writing at offsets. Closed when destroyed.
class File {
 public:
  virtual ~File() = default;
  // How many bytes were read; fewer than `to` holds only where the file ends.
  virtual Result<size_t> ReadAt(uint64_t offset, std::span<std::byte> to) const = 0;
  // All of the bytes; after an error any part of them.
  virtual Status WriteAt(uint64_t offset, std::span<const std::byte> bytes) = 0;
  virtual Result<uint64_t> Size() const = 0;
  virtual Status Truncate(uint64_t size) = 0;
  // Takes the space up to `size` from the disk now, so that writing there later does not find it
  // full. The file is as long afterwards, and what was not written reads as zeros.
  virtual Status Reserve(uint64_t size) = 0;
  // Afterwards all that was written, and the length, outlives a crash.
  virtual Status Sync() = 0;
};

// Held until destroyed, or until the process ends however it ends.
class FileLock {
 public:
  virtual ~FileLock() = default;
};

enum class FileOpening {
  kRead,    // must exist; opened for reading only
  kWrite,   // must exist
  kCreate,  // must not exist
};

class FileSystem {
 public:
  virtual ~FileSystem() = default;

  // Regular files only. Files opened here bypass the system's cache where the disk allows it:
  // offsets, lengths and addresses of reads and writes are then best multiples of kDirectAlignment;
  // others work as well, slower.
  static constexpr size_t kDirectAlignment = 4096;
  virtual Result<std::unique_ptr<File>> OpenDirect(const std::string& path,
                                                   FileOpening opening) = 0;

  // Names of what the folder holds, sorted. Errors also where there are more than `most`.
  virtual Result<std::vector<std::string>> List(const std::string& folder, size_t most) = 0;
  // With its parents, for this user alone; one that exists is fine.
  virtual Status MakeFolder(const std::string& folder) = 0;
  virtual Status Rename(const std::string& from, const std::string& to) = 0;
  virtual Status Remove(const std::string& path) = 0;
  // Afterwards what was created, renamed and removed in it outlives a crash.
  virtual Status SyncFolder(const std::string& folder) = 0;
  // Errors: somebody holds it, said with the process's number where that is known.
  virtual Result<std::unique_ptr<FileLock>> Lock(const std::string& path) = 0;

  // The clock by which its operations take time. It never goes back; only differences mean
  // something.
  virtual int64_t NowUs() const = 0;

  // The machine's own.
  static FileSystem& Real();
};

}  // namespace cairn

#endif  // CAIRN_BASE_FILE_SYSTEM_H_
