#include "cairn/base/file_reader.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <limits>
#include <system_error>
#include <utility>

namespace cairn {
namespace {

std::unexpected<Error> Failure(const std::string& path, const char* action, int number) {
  const ErrorCode code =
      number == ENOENT || number == ENOTDIR ? ErrorCode::kNotFound : ErrorCode::kIo;
  return Fail(code, "{}: cannot {}: {}", path, action, std::generic_category().message(number));
}

}  // namespace

Result<FileReader> FileReader::Open(const std::string& path) {
  if (path.empty()) return Fail(ErrorCode::kInvalidArgument, "the path of a file is empty");
  // Without O_NONBLOCK, a named pipe would wait for a writer.
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (descriptor < 0) return Failure(path, "open", errno);
  FileReader reader(descriptor, path, 0);
  struct stat status;
  if (::fstat(descriptor, &status) != 0) return Failure(path, "look at it", errno);
  if (S_ISDIR(status.st_mode)) {
    return Fail(ErrorCode::kInvalidArgument, "{}: is a directory, expected a file", path);
  }
  if (!S_ISREG(status.st_mode)) {
    return Fail(ErrorCode::kInvalidArgument, "{}: is not a regular file", path);
  }
  if (status.st_size == 0) return Fail(ErrorCode::kCorrupt, "{}: the file is empty", path);
  reader.size_ = static_cast<uint64_t>(status.st_size);
  return reader;
}

FileReader::~FileReader() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

FileReader::FileReader(FileReader&& other) noexcept
    : descriptor_(std::exchange(other.descriptor_, -1)),
      path_(std::move(other.path_)),
      size_(other.size_) {}

FileReader& FileReader::operator=(FileReader&& other) noexcept {
  std::swap(descriptor_, other.descriptor_);
  std::swap(path_, other.path_);
  std::swap(size_, other.size_);
  return *this;
}

Result<size_t> FileReader::ReadAt(uint64_t offset, std::span<std::byte> to) const {
  size_t done = 0;
  while (done < to.size()) {
    const uint64_t at = offset + done;
    if (at > static_cast<uint64_t>(std::numeric_limits<off_t>::max())) break;
    const ssize_t got =
        ::pread(descriptor_, to.data() + done, to.size() - done, static_cast<off_t>(at));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return Failure(path_, "read", errno);
    if (got == 0) break;
    done += static_cast<size_t>(got);
  }
  return done;
}

Result<std::vector<std::string>> ListFolder(const std::string& path, size_t most) {
  std::vector<std::string> names;
  std::error_code error;
  std::filesystem::directory_iterator entry(path, error);
  for (; !error && entry != std::filesystem::directory_iterator(); entry.increment(error)) {
    if (names.size() == most) {
      return Fail(ErrorCode::kUnsupported, "{}: the folder has more than {} entries", path, most);
    }
    names.push_back(entry->path().filename().string());
  }
  if (error) return Failure(path, "list the folder", error.value());
  std::ranges::sort(names);
  return names;
}

}  // namespace cairn
