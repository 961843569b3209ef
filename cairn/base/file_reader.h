// FileReader: a regular file that is read at any offset and never mapped; and what a folder holds.
//
// For files of which only a small part is looked at, and which somebody else may still be writing.
// Const use is thread-safe. Errors name the path.
#ifndef CAIRN_BASE_FILE_READER_H_
#define CAIRN_BASE_FILE_READER_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "cairn/base/status.h"

namespace cairn {

class FileReader {
 public:
  // Errors: missing, a directory or another special file, empty, not permitted.
  static Result<FileReader> Open(const std::string& path);

  ~FileReader();
  FileReader(FileReader&& other) noexcept;
  FileReader& operator=(FileReader&& other) noexcept;
  FileReader(const FileReader&) = delete;
  FileReader& operator=(const FileReader&) = delete;

  // When it was opened.
  uint64_t size() const { return size_; }
  // How many bytes were read; fewer than `to` holds only where the file ends.
  Result<size_t> ReadAt(uint64_t offset, std::span<std::byte> to) const;

 private:
  FileReader(int descriptor, std::string path, uint64_t size)
      : descriptor_(descriptor), path_(std::move(path)), size_(size) {}

  int descriptor_ = -1;
  std::string path_;
  uint64_t size_ = 0;
};

// Names of the files and folders in it, sorted. Errors also where there are more than `most`.
Result<std::vector<std::string>> ListFolder(const std::string& path, size_t most);

}  // namespace cairn

#endif  // CAIRN_BASE_FILE_READER_H_
