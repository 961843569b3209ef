// SimulatedFileSystem: files in memory that can crash, fail, tear writes and take time, all decided
// by a seed.
//
// It keeps for every file what is on the disk for sure and what was only written: Crash() lets each
// unsynced write survive, vanish or be torn at a sector's border, each on its own, so in any order;
// the names of files that SyncFolder has not made safe survive up to a random point of their order,
// as with a journal. Thread-safe; deterministic when used by one thread.
#ifndef CAIRN_BASE_FILE_SYSTEM_FOR_TESTS_H_
#define CAIRN_BASE_FILE_SYSTEM_FOR_TESTS_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <mutex>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "cairn/base/file_system.h"

namespace cairn {

class SimulatedFileSystem final : public FileSystem {
 public:
  static constexpr size_t kSectorBytes = 512;

  explicit SimulatedFileSystem(uint64_t seed) : random_(seed) {}

  // --- What a test does to it ---

  // After `operations` more of them that change something, all fail, as if the machine had stopped.
  // The last one may have been done in part. Crash() brings it back.
  void StopAfter(int64_t operations) {
    const auto guard = Guard();
    stop_after_ = operations;
  }
  bool stopped() const {
    const auto guard = Guard();
    return stop_after_ < 0;
  }
  // One in `one_in` of the operations that change something fails, some after half their work.
  // 0: none.
  void FailOneIn(int64_t one_in) {
    const auto guard = Guard();
    fail_one_in_ = one_in;
  }
  // The n-th operation that changes something from now on fails, counted from 0.
  void FailNth(int64_t n) {
    const auto guard = Guard();
    fail_nth_ = n;
  }
  // What the disk can hold; writing more fails as a full disk does.
  void SetCapacity(uint64_t bytes) {
    const auto guard = Guard();
    capacity_ = bytes;
  }
  // Loses what was not safe, and all locks. Files that are open go on as if their names were gone.
  void Crash();
  // Flips one bit of a file. False where the file is empty or not there.
  bool FlipBit(const std::string& path);
  // Writes anything to a path, as some other program might.
  void Replace(const std::string& path, std::vector<std::byte> bytes);
  std::vector<std::byte> Contents(const std::string& path) const;
  uint64_t used_bytes() const {
    const auto guard = Guard();
    return UsedBytes();
  }
  int64_t changes() const {
    const auto guard = Guard();
    return changes_;
  }
  // How long an operation takes on the clock of this file system.
  void SetSpeed(int64_t operation_us, int64_t bytes_per_us) {
    const auto guard = Guard();
    operation_us_ = operation_us, bytes_per_us_ = bytes_per_us;
  }

  // --- FileSystem ---

  Result<std::unique_ptr<File>> OpenDirect(const std::string& path, FileOpening opening) override;
  Result<std::vector<std::string>> List(const std::string& folder, size_t most) override;
  Status MakeFolder(const std::string&) override { return {}; }
  Status Rename(const std::string& from, const std::string& to) override;
  Status Remove(const std::string& path) override;
  Status SyncFolder(const std::string& folder) override;
  Result<std::unique_ptr<FileLock>> Lock(const std::string& path) override;
  int64_t NowUs() const override {
    const auto guard = Guard();
    return now_us_;
  }

 private:
  struct Write {
    uint64_t offset;
    std::vector<std::byte> bytes;
  };
  // A file without regard to its names.
  struct Inode {
    std::vector<std::byte> now;
    std::vector<std::byte> safe;
    std::vector<Write> unsynced;  // writes since the last Sync; a change of length is a Sync
  };
  using Names = std::map<std::string, uint64_t>;
  class OpenFile;
  class Held;

  std::lock_guard<std::recursive_mutex> Guard() const {
    return std::lock_guard<std::recursive_mutex>(mutex_);
  }
  uint64_t UsedBytes() const {
    uint64_t used = 0;
    for (const auto& [path, inode] : names_) used += inodes_.at(inode).now.size();
    return used;
  }
  std::unexpected<Error> Fault(const std::string& path) const {
    return Fail(ErrorCode::kIo, "{}: injected fault", path);
  }
  // Counts a change and says whether it may happen.
  bool MayChange() {
    ++changes_;
    now_us_ += operation_us_;
    if (stop_after_ < 0 || stop_after_-- == 0) {
      stop_after_ = kStopped;
      return false;
    }
    if (fail_nth_ >= 0 && fail_nth_-- == 0) return false;
    return fail_one_in_ == 0 || random_() % static_cast<uint64_t>(fail_one_in_) != 0;
  }
  void Remember() { unsynced_names_.push_back(names_); }
  static void Apply(std::vector<std::byte>& to, const Write& write) {
    if (to.size() < write.offset + write.bytes.size()) to.resize(write.offset + write.bytes.size());
    std::ranges::copy(write.bytes, to.begin() + static_cast<int64_t>(write.offset));
  }
  void ApplyTorn(std::vector<std::byte>& to, const Write& write);

  static constexpr int64_t kStopped = -1;
  static constexpr int64_t kNever = std::numeric_limits<int64_t>::max();

  mutable std::recursive_mutex mutex_;
  std::mt19937_64 random_;
  std::map<uint64_t, Inode> inodes_;
  uint64_t next_inode_ = 0;
  Names names_;
  Names safe_names_;
  std::vector<Names> unsynced_names_;  // after each change since the last SyncFolder
  std::set<std::string> locks_;
  uint64_t crashes_ = 0;
  int64_t changes_ = 0;
  int64_t stop_after_ = kNever;
  int64_t fail_one_in_ = 0;
  int64_t fail_nth_ = -1;
  uint64_t capacity_ = std::numeric_limits<uint64_t>::max();
  int64_t now_us_ = 0;
  int64_t operation_us_ = 1;
  int64_t bytes_per_us_ = 1000;
};

class SimulatedFileSystem::OpenFile final : public File {
 public:
  OpenFile(SimulatedFileSystem& system, std::string path, uint64_t inode)
      : system_(system), path_(std::move(path)), inode_(inode) {}

  Result<size_t> ReadAt(uint64_t offset, std::span<std::byte> to) const override {
    const auto guard = system_.Guard();
    if (system_.stop_after_ < 0) return system_.Fault(path_);
    const std::vector<std::byte>& now = system_.inodes_.at(inode_).now;
    if (offset >= now.size()) return 0;
    const size_t size = std::min<size_t>(to.size(), now.size() - offset);
    std::copy_n(now.begin() + static_cast<int64_t>(offset), size, to.begin());
    system_.now_us_ += system_.operation_us_ + static_cast<int64_t>(size) / system_.bytes_per_us_;
    return size;
  }

  Status WriteAt(uint64_t offset, std::span<const std::byte> bytes) override {
    const auto guard = system_.Guard();
    Inode& inode = system_.inodes_.at(inode_);
    const bool allowed = system_.MayChange();
    const uint64_t grown = std::max<uint64_t>(inode.now.size(), offset + bytes.size());
    if (allowed && system_.UsedBytes() - inode.now.size() + grown > system_.capacity_) {
      return Fail(ErrorCode::kExhausted, "{}: cannot write: the simulated disk is full", path_);
    }
    if (!allowed) {  // it may still have done a part
      bytes = bytes.first(bytes.empty() ? 0 : system_.random_() % bytes.size());
    }
    Write write{offset, std::vector<std::byte>(bytes.begin(), bytes.end())};
    if (!bytes.empty()) {
      Apply(inode.now, write);
      inode.unsynced.push_back(std::move(write));
    }
    system_.now_us_ += static_cast<int64_t>(bytes.size()) / system_.bytes_per_us_;
    if (!allowed) return system_.Fault(path_);
    return {};
  }

  Result<uint64_t> Size() const override {
    const auto guard = system_.Guard();
    return static_cast<uint64_t>(system_.inodes_.at(inode_).now.size());
  }

  Status Truncate(uint64_t size) override { return Resize(size); }

  Status Reserve(uint64_t size) override {
    const auto guard = system_.Guard();
    return Resize(std::max<uint64_t>(size, system_.inodes_.at(inode_).now.size()));
  }

  Status Sync() override {
    const auto guard = system_.Guard();
    Inode& inode = system_.inodes_.at(inode_);
    if (!system_.MayChange()) return system_.Fault(path_);
    inode.safe = inode.now;
    inode.unsynced.clear();
    return {};
  }

 private:
  // Lengths change in the journal, at once for what is there and for what is safe.
  Status Resize(uint64_t size) {
    const auto guard = system_.Guard();
    Inode& inode = system_.inodes_.at(inode_);
    if (!system_.MayChange()) return system_.Fault(path_);
    if (system_.UsedBytes() - inode.now.size() + size > system_.capacity_) {
      return Fail(ErrorCode::kExhausted, "{}: cannot grow: the simulated disk is full", path_);
    }
    inode.now.resize(size);
    inode.safe.resize(size);
    std::erase_if(inode.unsynced,
                  [&](const Write& write) { return write.offset + write.bytes.size() > size; });
    return {};
  }

  SimulatedFileSystem& system_;
  std::string path_;
  uint64_t inode_;
};

class SimulatedFileSystem::Held final : public FileLock {
 public:
  Held(SimulatedFileSystem& system, std::string path)
      : system_(system), path_(std::move(path)), crashes_(system.crashes_) {}
  ~Held() override {
    const auto guard = system_.Guard();
    if (crashes_ == system_.crashes_) system_.locks_.erase(path_);
  }

 private:
  SimulatedFileSystem& system_;
  std::string path_;
  uint64_t crashes_;
};

inline Result<std::unique_ptr<File>> SimulatedFileSystem::OpenDirect(const std::string& path,
                                                                     FileOpening opening) {
  const auto guard = Guard();
  if (stop_after_ < 0) return Fault(path);
  const auto found = names_.find(path);
  if (opening != FileOpening::kCreate) {
    if (found == names_.end()) return Fail(ErrorCode::kNotFound, "{}: is not there", path);
    return std::make_unique<OpenFile>(*this, path, found->second);
  }
  if (found != names_.end()) return Fail(ErrorCode::kIo, "{}: is there already", path);
  if (!MayChange()) return Fault(path);
  const uint64_t inode = next_inode_++;
  inodes_[inode];
  names_[path] = inode;
  Remember();
  return std::make_unique<OpenFile>(*this, path, inode);
}

inline Result<std::vector<std::string>> SimulatedFileSystem::List(const std::string& folder,
                                                                  size_t most) {
  const auto guard = Guard();
  if (stop_after_ < 0) return Fault(folder);
  std::vector<std::string> listed;
  for (const auto& [path, inode] : names_) {
    if (path.starts_with(folder + "/")) listed.push_back(path.substr(folder.size() + 1));
  }
  if (listed.size() > most) return Fail(ErrorCode::kUnsupported, "{}: too many entries", folder);
  return listed;
}

inline Status SimulatedFileSystem::Rename(const std::string& from, const std::string& to) {
  const auto guard = Guard();
  if (!MayChange()) return Fault(from);
  const auto found = names_.find(from);
  if (found == names_.end()) return Fail(ErrorCode::kNotFound, "{}: is not there", from);
  const uint64_t inode = found->second;
  names_.erase(found);
  names_[to] = inode;
  Remember();
  return {};
}

inline Status SimulatedFileSystem::Remove(const std::string& path) {
  const auto guard = Guard();
  if (!MayChange()) return Fault(path);
  if (names_.erase(path) == 0) return Fail(ErrorCode::kNotFound, "{}: is not there", path);
  Remember();
  return {};
}

inline Status SimulatedFileSystem::SyncFolder(const std::string& folder) {
  const auto guard = Guard();
  if (!MayChange()) return Fault(folder);
  safe_names_ = names_;
  unsynced_names_.clear();
  return {};
}

inline Result<std::unique_ptr<FileLock>> SimulatedFileSystem::Lock(const std::string& path) {
  const auto guard = Guard();
  if (stop_after_ < 0) return Fault(path);
  if (!locks_.insert(path).second) {
    return Fail(ErrorCode::kInvalidArgument, "{}: somebody holds this folder", path);
  }
  return std::make_unique<Held>(*this, path);
}

inline void SimulatedFileSystem::ApplyTorn(std::vector<std::byte>& to, const Write& write) {
  for (size_t at = 0; at < write.bytes.size();) {
    const size_t border = (write.offset + at) / kSectorBytes * kSectorBytes + kSectorBytes;
    const size_t size = std::min<size_t>(write.bytes.size() - at, border - (write.offset + at));
    if (random_() % 2 == 0) {
      const auto begin = write.bytes.begin() + static_cast<int64_t>(at);
      Apply(to, {write.offset + at, {begin, begin + static_cast<int64_t>(size)}});
    }
    at += size;
  }
}

inline void SimulatedFileSystem::Crash() {
  const auto guard = Guard();
  ++crashes_;
  locks_.clear();
  stop_after_ = kNever;
  fail_nth_ = -1;
  const size_t kept_names = random_() % (unsynced_names_.size() + 1);
  if (kept_names > 0) safe_names_ = unsynced_names_[kept_names - 1];
  names_ = safe_names_;
  unsynced_names_.clear();
  std::set<uint64_t> named;
  for (const auto& [path, inode] : names_) named.insert(inode);
  for (auto& [number, inode] : inodes_) {
    std::ranges::shuffle(inode.unsynced, random_);
    for (const Write& write : inode.unsynced) {
      const uint64_t fate = random_() % 3;
      if (fate == 0) Apply(inode.safe, write);
      if (fate == 1) ApplyTorn(inode.safe, write);
    }
    inode.unsynced.clear();
    inode.now = inode.safe;
    if (!named.contains(number)) inode = Inode();
  }
}

inline bool SimulatedFileSystem::FlipBit(const std::string& path) {
  const auto guard = Guard();
  const auto found = names_.find(path);
  if (found == names_.end()) return false;
  Inode& inode = inodes_.at(found->second);
  if (inode.now.empty()) return false;
  const size_t at = random_() % inode.now.size();
  const std::byte flip = std::byte{1} << (random_() % 8);
  inode.now[at] ^= flip;
  if (at < inode.safe.size()) inode.safe[at] ^= flip;
  return true;
}

inline void SimulatedFileSystem::Replace(const std::string& path, std::vector<std::byte> bytes) {
  const auto guard = Guard();
  const uint64_t inode = next_inode_++;
  inodes_[inode] = {.now = bytes, .safe = bytes, .unsynced = {}};
  names_[path] = inode;
  safe_names_[path] = inode;
  for (Names& names : unsynced_names_) names[path] = inode;
}

inline std::vector<std::byte> SimulatedFileSystem::Contents(const std::string& path) const {
  const auto guard = Guard();
  const auto found = names_.find(path);
  return found == names_.end() ? std::vector<std::byte>() : inodes_.at(found->second).now;
}

}  // namespace cairn

#endif  // CAIRN_BASE_FILE_SYSTEM_FOR_TESTS_H_
