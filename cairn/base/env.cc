#include "cairn/base/env.h"

#include <fcntl.h>
#include <fmt/ranges.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <numeric>
#include <optional>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "cairn/base/check.h"
#include "cairn/base/cpu_count.h"

namespace cairn {
namespace {

// An open file descriptor.
class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  ~Descriptor() { Close(); }
  Descriptor(Descriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  Descriptor& operator=(Descriptor&&) = delete;
  int get() const { return fd_; }
  // False if the system reports a late write error.
  bool Close() { return fd_ < 0 || ::close(std::exchange(fd_, -1)) == 0; }

 private:
  int fd_;
};

std::unexpected<Error> SystemFailure(const std::string& path, const char* action) {
  const int number = errno;
  const ErrorCode code =
      number == ENOENT || number == ENOTDIR ? ErrorCode::kNotFound : ErrorCode::kIo;
  return Fail(code, "{}: cannot {}: {}", path, action, std::generic_category().message(number));
}

Result<Descriptor> OpenForReading(const std::string& path, int flags) {
  if (path.empty()) return Fail(ErrorCode::kInvalidArgument, "the path of a file is empty");
  Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | flags));
  if (file.get() < 0) return SystemFailure(path, "open");
  return file;
}

Result<struct stat> StatusOf(const Descriptor& file, const std::string& path) {
  struct stat status;
  if (::fstat(file.get(), &status) != 0) return SystemFailure(path, "look at it");
  if (S_ISDIR(status.st_mode)) {
    return Fail(ErrorCode::kInvalidArgument, "{}: is a directory, expected a file", path);
  }
  return status;
}

// Reads once; 0 bytes mean the end.
Result<size_t> ReadSome(const Descriptor& file, std::span<char> to, const std::string& path) {
  while (true) {
    const ssize_t got = ::read(file.get(), to.data(), to.size());
    if (got >= 0) return static_cast<size_t>(got);
    if (errno != EINTR) return SystemFailure(path, "read");
  }
}

Status WriteAll(const Descriptor& file, std::span<const std::byte> bytes, const std::string& path) {
  while (!bytes.empty()) {
    const ssize_t wrote = ::write(file.get(), bytes.data(), bytes.size());
    if (wrote >= 0) {
      bytes = bytes.subspan(static_cast<size_t>(wrote));
    } else if (errno != EINTR) {
      return SystemFailure(path, "write");
    }
  }
  return {};
}

std::string FolderOf(const std::string& path) {
  const size_t slash = path.find_last_of('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

Status WriteAndSync(const std::string& path, std::span<const std::span<const std::byte>> pieces) {
  Descriptor file(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666));
  if (file.get() < 0) return SystemFailure(path, "create");
  for (const std::span<const std::byte> piece : pieces) CAIRN_TRY(WriteAll(file, piece, path));
  if (::fsync(file.get()) != 0) return SystemFailure(path, "write to the disk");
  if (!file.Close()) return SystemFailure(path, "close");
  return {};
}

// Addresses of pages.
struct PageRange {
  uintptr_t first;
  uintptr_t end;
};

uintptr_t PageBytes() {
  static const auto bytes = static_cast<uintptr_t>(::sysconf(_SC_PAGESIZE));
  return bytes;
}

void CheckInside(std::span<const std::byte> part, std::span<const std::byte> whole) {
  CAIRN_CHECK(part.empty() || (part.data() >= whole.data() &&
                               part.data() + part.size() <= whole.data() + whole.size()));
}

// All pages that hold something of `part`.
PageRange OuterPages(std::span<const std::byte> part, std::span<const std::byte> whole) {
  CheckInside(part, whole);
  const auto begin = reinterpret_cast<uintptr_t>(part.data());
  return {begin / PageBytes() * PageBytes(), begin + part.size()};
}

// The pages that hold nothing else of the file; its last page counts as full.
PageRange InnerPages(std::span<const std::byte> part, std::span<const std::byte> whole) {
  CheckInside(part, whole);
  const auto begin = reinterpret_cast<uintptr_t>(part.data());
  const uintptr_t end = begin + part.size();
  const bool last = part.data() + part.size() == whole.data() + whole.size();
  return {(begin + PageBytes() - 1) / PageBytes() * PageBytes(),
          last ? end : end / PageBytes() * PageBytes()};
}

// Systems that don't know an advice lose nothing but time.
void AdvisePages(PageRange pages, int advice) {
  if (pages.first >= pages.end) return;
  ::madvise(reinterpret_cast<void*>(pages.first), pages.end - pages.first, advice);
}

std::optional<mode_t> ModeOf(const std::string& path) {
  struct stat status;
  if (::stat(path.c_str(), &status) != 0) return std::nullopt;
  return status.st_mode;
}

}  // namespace

Result<MappedFile> MappedFile::Open(const std::string& path) {
  // Without O_NONBLOCK, a named pipe would wait for a writer.
  CAIRN_ASSIGN(Descriptor file, OpenForReading(path, O_NONBLOCK));
  CAIRN_ASSIGN(const struct stat status, StatusOf(file, path));
  if (!S_ISREG(status.st_mode)) {
    return Fail(ErrorCode::kInvalidArgument, "{}: is not a regular file", path);
  }
  if (status.st_size == 0) return Fail(ErrorCode::kCorrupt, "{}: the file is empty", path);
  const auto size = static_cast<size_t>(status.st_size);
  void* data = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file.get(), 0);
  if (data == MAP_FAILED) return SystemFailure(path, "map it into memory");
  MappedFile mapped;
  mapped.bytes_ = {static_cast<const std::byte*>(data), size};
  return mapped;
}

MappedFile::~MappedFile() {
  if (!bytes_.empty()) ::munmap(const_cast<std::byte*>(bytes_.data()), bytes_.size());
}

MappedFile::MappedFile(MappedFile&& other) noexcept : bytes_(std::exchange(other.bytes_, {})) {}

MappedFile& MappedFile::operator=(MappedFile&& other) noexcept {
  std::swap(bytes_, other.bytes_);
  return *this;
}

void MappedFile::WillNeed(std::span<const std::byte> part) const {
  AdvisePages(OuterPages(part, bytes_), MADV_WILLNEED);
}

void MappedFile::Populate(std::span<const std::byte> part) const {
  AdvisePages(OuterPages(part, bytes_), MADV_POPULATE_READ);
}

void MappedFile::DropPages(std::span<const std::byte> part) const {
  AdvisePages(InnerPages(part, bytes_), MADV_DONTNEED);
}

Result<std::string> ReadFile(const std::string& path, size_t bytes_max) {
  CAIRN_ASSIGN(const Descriptor file, OpenForReading(path, 0));
  CAIRN_TRY(StatusOf(file, path));
  // One byte more than allowed shows that there is more.
  const size_t room_max = std::max(bytes_max, bytes_max + 1);
  std::string text;
  size_t used = 0;
  while (true) {
    constexpr size_t kFirstRead = 64 << 10;
    if (used == text.size()) text.resize(std::min(std::max(2 * used, kFirstRead), room_max));
    CAIRN_ASSIGN(const size_t got, ReadSome(file, {text.data() + used, text.size() - used}, path));
    if (got == 0) break;
    used += got;
    if (used > bytes_max) {
      return Fail(ErrorCode::kInvalidArgument, "{}: larger than the {} bytes that are allowed",
                  path, bytes_max);
    }
  }
  text.resize(used);
  return text;
}

Status WriteFileAtomically(const std::string& path, std::span<const std::byte> bytes) {
  return WriteFileAtomically(path, std::span(&bytes, 1));
}

Status WriteFileAtomically(const std::string& path,
                           std::span<const std::span<const std::byte>> pieces) {
  if (path.empty()) return Fail(ErrorCode::kInvalidArgument, "the path of a file is empty");
  const std::optional<mode_t> existing = ModeOf(path);
  if (existing && !S_ISREG(*existing)) {
    return Fail(ErrorCode::kInvalidArgument, "{}: exists and is not a regular file", path);
  }
  const std::string temporary = fmt::format("{}.{:016x}.tmp", path, RandomSeed());
  Status written = WriteAndSync(temporary, pieces);
  if (written && ::rename(temporary.c_str(), path.c_str()) != 0) {
    written = SystemFailure(path, "replace");
  }
  if (!written) {
    ::unlink(temporary.c_str());
    return written;
  }
  // The rename itself reaches the disk with its folder.
  CAIRN_ASSIGN(const Descriptor folder, OpenForReading(FolderOf(path), O_DIRECTORY));
  if (::fsync(folder.get()) != 0 && errno != EINVAL) return SystemFailure(path, "sync its folder");
  return {};
}

bool FileExists(const std::string& path) { return ModeOf(path).has_value(); }

bool IsDirectory(const std::string& path) {
  const std::optional<mode_t> mode = ModeOf(path);
  return mode && S_ISDIR(*mode);
}

int64_t NowMicroseconds() {
  return std::chrono::duration_cast<std::chrono::microseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

int64_t NowUnixSeconds() {
  using std::chrono::system_clock;
  return system_clock::to_time_t(system_clock::now());
}

int CpuCount() {
  cpu_set_t allowed;
  std::vector<int> cpus;
  // Fails on machines with more processors than the set has bits.
  if (::sched_getaffinity(0, sizeof(allowed), &allowed) == 0) {
    for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
      if (CPU_ISSET(cpu, &allowed)) cpus.push_back(cpu);
    }
  } else {
    cpus.resize(std::max(std::thread::hardware_concurrency(), 1u));
    std::iota(cpus.begin(), cpus.end(), 0);
  }
  return CoresToUse("", cpus);
}

Status RunOnCpus(std::span<const int> cpus) {
  cpu_set_t wanted;
  CPU_ZERO(&wanted);
  for (const int cpu : cpus) {
    if (cpu >= 0 && cpu < CPU_SETSIZE) CPU_SET(cpu, &wanted);
  }
  if (::sched_setaffinity(0, sizeof(wanted), &wanted) == 0) return {};
  return Fail(ErrorCode::kInvalidArgument,
              "can't run on processors {}: {}; some of those that the machine has and allows would "
              "be right",
              fmt::join(cpus, ","), std::generic_category().message(errno));
}

uint64_t RandomSeed() {
  uint64_t seed = 0;
  if (::getrandom(&seed, sizeof(seed), 0) == sizeof(seed)) return seed;
  // A system without getrandom: the clock differs between calls.
  return static_cast<uint64_t>(std::chrono::steady_clock::now().time_since_epoch().count());
}

}  // namespace cairn
