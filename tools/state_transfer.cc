#include "tools/state_transfer.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <memory>
#include <span>
#include <utility>

#include "cairn/base/env.h"
#include "cairn/base/file_system.h"
#include "cairn/state/object_archive.h"
#include "tools/state_tier.h"

namespace cairn {
namespace {

constexpr size_t kPutsAtOnce = 16;
constexpr int64_t kWaitUs = 1'000'000;

std::string FolderOf(const std::string& path) {
  const size_t slash = path.find_last_of('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

// Writes a new file from its beginning to its end, and gives it its name when it is whole.
class NewFile {
 public:
  static Result<NewFile> Create(const std::string& path) {
    if (IsDirectory(path)) {
      return Fail(ErrorCode::kInvalidArgument, "{}: is a directory, expected a file", path);
    }
    NewFile file(path);
    CAIRN_ASSIGN(file.file_, FileSystem::Real().OpenDirect(file.temporary_, FileOpening::kCreate));
    return file;
  }
  ~NewFile() {
    if (file_ != nullptr) (void)FileSystem::Real().Remove(temporary_);
  }
  NewFile(NewFile&&) = default;
  NewFile& operator=(NewFile&&) = default;

  Status Append(std::span<const std::byte> bytes) {
    while (!bytes.empty()) {
      const size_t count = std::min(bytes.size(), buffer_.size() - filled_);
      std::memcpy(buffer_.data() + filled_, bytes.data(), count);
      filled_ += count;
      bytes = bytes.subspan(count);
      if (filled_ == buffer_.size()) CAIRN_TRY(WriteBuffer());
    }
    return {};
  }
  Status Finish() {
    CAIRN_TRY(WriteBuffer());
    CAIRN_TRY(file_->Sync());
    CAIRN_TRY(FileSystem::Real().Rename(temporary_, path_));
    file_.reset();
    return FileSystem::Real().SyncFolder(FolderOf(path_));
  }

 private:
  explicit NewFile(const std::string& path)
      : path_(path), temporary_(fmt::format("{}.{:016x}.tmp", path, RandomSeed())) {}
  Status WriteBuffer() {
    CAIRN_TRY(file_->WriteAt(written_, std::span(buffer_).first(filled_)));
    written_ += filled_;
    filled_ = 0;
    return {};
  }

  std::string path_;
  std::string temporary_;
  std::unique_ptr<File> file_;
  std::vector<std::byte> buffer_ = std::vector<std::byte>(1 << 20);
  size_t filled_ = 0;
  uint64_t written_ = 0;
};

// Objects on their way into a store.
class Puts {
 public:
  Puts(ObjectStore& store, Transfer& transfer, KeyLength length)
      : store_(&store), transfer_(&transfer), length_(length) {}

  void Add(const ArchiveReader::Part& part) {
    const ObjectInfo& info = *part.object;
    const bool was_there = store_->Contains(info.key);
    auto request = store_->Put(info.key, info.metadata, std::span(&part.payload, 1));
    while (!request && request.error().code == ErrorCode::kExhausted && !waiting_.empty()) {
      Collect();
      request = store_->Put(info.key, info.metadata, std::span(&part.payload, 1));
    }
    if (!request) return Refuse(info, request.error().message);
    waiting_[*request] = {info, was_there};
    while (waiting_.size() >= kPutsAtOnce) Collect();
  }
  void Finish() {
    while (!waiting_.empty()) Collect();
  }

 private:
  struct Waiting {
    ObjectInfo info;
    bool was_there = false;
  };

  void Refuse(const ObjectInfo& info, std::string problem) {
    transfer_->refused.push_back({KeyText(info.key, length_), info.size, std::move(problem)});
  }
  void Collect() {
    for (ObjectCompletion& done : store_->Wait(kWaitUs)) {
      const Waiting put = waiting_.at(done.request);
      waiting_.erase(done.request);
      if (done.outcome != ObjectOutcome::kDone) {
        Refuse(put.info, std::move(done.problem));
        continue;
      }
      ++transfer_->objects;
      transfer_->already_there += put.was_there;
      transfer_->bytes += put.info.size;
    }
  }

  ObjectStore* store_;
  Transfer* transfer_;
  KeyLength length_;
  std::map<RequestId, Waiting> waiting_;
};

}  // namespace

Result<Transfer> ExportObjects(ObjectStore& store, const std::string& path, KeyLength length) {
  CAIRN_ASSIGN(NewFile file, NewFile::Create(path));
  CAIRN_TRY(file.Append(EncodeArchiveStart()));
  Transfer transfer;
  CAIRN_TRY(ReadObjects(store, ObjectsByKey(store), [&](const ReadObject& read) -> Status {
    if (read.outcome != ObjectOutcome::kDone) {
      const std::string problem = read.outcome == ObjectOutcome::kAbsent ? "is gone" : read.problem;
      transfer.refused.push_back({KeyText(read.info.key, length), read.info.size, problem});
      return {};
    }
    CAIRN_TRY(file.Append(EncodeArchivedObject(read.info, read.bytes)));
    CAIRN_TRY(file.Append(read.bytes));
    ++transfer.objects;
    transfer.bytes += read.info.size;
    return {};
  }));
  CAIRN_TRY(file.Append(EncodeArchiveEnd(
      {static_cast<uint64_t>(transfer.objects), static_cast<uint64_t>(transfer.bytes.value())})));
  CAIRN_TRY(file.Finish());
  return transfer;
}

Status CheckArchive(const std::string& path) {
  CAIRN_ASSIGN(const MappedFile file, MappedFile::Open(path));
  const auto reader = ArchiveReader::Open(file.bytes());
  if (!reader) return Fail(reader.error().code, "{}: {}", path, reader.error().message);
  return {};
}

Result<Transfer> ImportObjects(ObjectStore& store, const std::string& path, KeyLength length) {
  CAIRN_ASSIGN(const MappedFile file, MappedFile::Open(path));
  auto reader = ArchiveReader::Open(file.bytes());
  if (!reader) return Fail(reader.error().code, "{}: {}", path, reader.error().message);
  Transfer transfer;
  Puts puts(store, transfer, length);
  while (const auto part = reader->Next()) {
    if (part->object) {
      puts.Add(*part);
    } else {
      transfer.refused.push_back({fmt::format("{} at {}", path, part->offset),
                                  Bytes(static_cast<int64_t>(part->bytes)), part->problem});
    }
  }
  puts.Finish();
  return transfer;
}

}  // namespace cairn
