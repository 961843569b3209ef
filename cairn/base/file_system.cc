#include "cairn/base/file_system.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <limits>
#include <system_error>
#include <utility>

#include "cairn/base/env.h"
#include "cairn/base/file_reader.h"

namespace cairn {
namespace {

std::unexpected<Error> Failure(const std::string& path, const char* action, int number) {
  ErrorCode code = ErrorCode::kIo;
  if (number == ENOENT || number == ENOTDIR) code = ErrorCode::kNotFound;
  if (number == ENOSPC || number == EDQUOT) code = ErrorCode::kExhausted;
  return Fail(code, "{}: cannot {}: {}", path, action, std::generic_category().message(number));
}

class Descriptor {
 public:
  explicit Descriptor(int number) : number_(number) {}
  ~Descriptor() {
    if (number_ >= 0) ::close(number_);
  }
  Descriptor(Descriptor&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
  Descriptor& operator=(Descriptor&&) = delete;
  int number() const { return number_; }

 private:
  int number_;
};

// Whether `offset` and what follows can be an off_t.
bool IsOffset(uint64_t offset, uint64_t length) {
  constexpr auto kMost = static_cast<uint64_t>(std::numeric_limits<off_t>::max());
  return offset <= kMost && length <= kMost - offset;
}

class RealFile final : public File {
 public:
  // `direct` refuses what is not aligned, which then goes through `cached`; -1 where the file
  // system has no such thing.
  RealFile(std::string path, Descriptor cached, Descriptor direct)
      : path_(std::move(path)), cached_(std::move(cached)), direct_(std::move(direct)) {}

  Result<size_t> ReadAt(uint64_t offset, std::span<std::byte> to) const override {
    if (!IsOffset(offset, to.size())) return Failure(path_, "read", EINVAL);
    size_t done = 0;
    while (done < to.size()) {
      const std::span<std::byte> rest = to.subspan(done);
      const ssize_t got = ::pread(DescriptorFor(offset + done, rest), rest.data(), rest.size(),
                                  static_cast<off_t>(offset + done));
      if (got < 0 && errno == EINTR) continue;
      if (got < 0) return Failure(path_, "read", errno);
      if (got == 0) break;
      done += static_cast<size_t>(got);
    }
    return done;
  }

  Status WriteAt(uint64_t offset, std::span<const std::byte> bytes) override {
    if (!IsOffset(offset, bytes.size())) return Failure(path_, "write", EINVAL);
    for (size_t done = 0; done < bytes.size();) {
      const std::span<const std::byte> rest = bytes.subspan(done);
      const ssize_t put = ::pwrite(DescriptorFor(offset + done, rest), rest.data(), rest.size(),
                                   static_cast<off_t>(offset + done));
      if (put < 0 && errno == EINTR) continue;
      if (put < 0) return Failure(path_, "write", errno);
      if (put == 0) return Failure(path_, "write", ENOSPC);
      done += static_cast<size_t>(put);
    }
    return {};
  }

  Result<uint64_t> Size() const override {
    struct stat status;
    if (::fstat(cached_.number(), &status) != 0) return Failure(path_, "look at it", errno);
    return static_cast<uint64_t>(status.st_size);
  }

  Status Truncate(uint64_t size) override {
    if (!IsOffset(size, 0)) return Failure(path_, "change its length", EINVAL);
    if (::ftruncate(cached_.number(), static_cast<off_t>(size)) != 0) {
      return Failure(path_, "change its length", errno);
    }
    return {};
  }

  Status Reserve(uint64_t size) override {
    if (size == 0) return {};
    if (!IsOffset(0, size)) return Failure(path_, "reserve space", EINVAL);
    if (::fallocate(cached_.number(), 0, 0, static_cast<off_t>(size)) == 0) return {};
    if (errno != EOPNOTSUPP && errno != ENOSYS) return Failure(path_, "reserve space", errno);
    // Only the length then; a full disk is found later, by a write.
    CAIRN_ASSIGN(const uint64_t now, Size());
    return now >= size ? Status() : Truncate(size);
  }

  Status Sync() override {
    if (::fdatasync(cached_.number()) != 0) return Failure(path_, "sync", errno);
    return {};
  }

 private:
  int DescriptorFor(uint64_t offset, std::span<const std::byte> bytes) const {
    const uint64_t all = offset | bytes.size() | reinterpret_cast<uintptr_t>(bytes.data());
    const bool aligned = all % FileSystem::kDirectAlignment == 0;
    return aligned && direct_.number() >= 0 ? direct_.number() : cached_.number();
  }

  std::string path_;
  Descriptor cached_;
  Descriptor direct_;
};

class RealLock final : public FileLock {
 public:
  explicit RealLock(Descriptor held) : held_(std::move(held)) {}

 private:
  Descriptor held_;
};

class RealFileSystem final : public FileSystem {
 public:
  Result<std::unique_ptr<File>> OpenDirect(const std::string& path, FileOpening opening) override {
    int flags = O_CLOEXEC | O_NONBLOCK;  // a named pipe would wait for its other end
    flags |= opening == FileOpening::kRead ? O_RDONLY : O_RDWR;
    if (opening == FileOpening::kCreate) flags |= O_CREAT | O_EXCL;
    Descriptor cached(::open(path.c_str(), flags, S_IRUSR | S_IWUSR));
    if (cached.number() < 0) return Failure(path, "open", errno);
    struct stat status;
    if (::fstat(cached.number(), &status) != 0) return Failure(path, "look at it", errno);
    if (!S_ISREG(status.st_mode)) {
      return Fail(ErrorCode::kInvalidArgument, "{}: is not a regular file", path);
    }
    const int again = (flags & ~(O_CREAT | O_EXCL)) | O_DIRECT;
    Descriptor direct(::open(path.c_str(), again));  // EINVAL on tmpfs and others
    return std::make_unique<RealFile>(path, std::move(cached), std::move(direct));
  }

  Result<std::vector<std::string>> List(const std::string& folder, size_t most) override {
    return ListFolder(folder, most);
  }

  Status MakeFolder(const std::string& folder) override {
    std::error_code error;
    const bool made = std::filesystem::create_directories(folder, error);
    if (!error && made && ::chmod(folder.c_str(), S_IRWXU) != 0) {
      return Failure(folder, "set its permissions", errno);
    }
    if (error) return Failure(folder, "make the folder", error.value());
    return {};
  }

  Status Rename(const std::string& from, const std::string& to) override {
    if (::rename(from.c_str(), to.c_str()) != 0) return Failure(from, "rename", errno);
    return {};
  }

  Status Remove(const std::string& path) override {
    if (::unlink(path.c_str()) != 0) return Failure(path, "remove", errno);
    return {};
  }

  Status SyncFolder(const std::string& folder) override {
    const Descriptor open(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (open.number() < 0) return Failure(folder, "open", errno);
    if (::fsync(open.number()) != 0) return Failure(folder, "sync", errno);
    return {};
  }

  Result<std::unique_ptr<FileLock>> Lock(const std::string& path) override {
    constexpr int kFlags = O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK;
    Descriptor file(::open(path.c_str(), kFlags, S_IRUSR | S_IWUSR));
    if (file.number() < 0) return Failure(path, "open", errno);
    char holder[32] = {};
    if (::flock(file.number(), LOCK_EX | LOCK_NB) != 0) {
      if (errno != EWOULDBLOCK) return Failure(path, "lock", errno);
      if (::pread(file.number(), holder, sizeof(holder) - 1, 0) < 0) holder[0] = 0;
      return Fail(ErrorCode::kInvalidArgument,
                  "{}: process {} holds this folder; give each process its own", path,
                  std::strtol(holder, nullptr, 10));
    }
    // Only for the message above: a lock without a name is still a lock.
    const std::string name = fmt::format("{}\n", ::getpid());
    if (::ftruncate(file.number(), 0) == 0) {
      [[maybe_unused]] const ssize_t put = ::pwrite(file.number(), name.data(), name.size(), 0);
    }
    return std::make_unique<RealLock>(std::move(file));
  }

  int64_t NowUs() const override { return NowMicroseconds(); }
};

}  // namespace

FileSystem& FileSystem::Real() {
  static RealFileSystem real;
  return real;
}

}  // namespace cairn
