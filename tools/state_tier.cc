#include "tools/state_tier.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <system_error>
#include <utility>

#include "cairn/base/env.h"
#include "cairn/state/disk_store.h"
#include "cairn/state/redis_store.h"
#include "cairn/state/redis_url.h"
#include "cairn/state/segment_format.h"

namespace cairn {
namespace {

// More than any disk has.
constexpr Bytes kNoBound{int64_t{1} << 60};
// Of files written here: gc gives up whole ones, so they should not hold all of a small tier.
constexpr Bytes kSegment{int64_t{16} << 20};
// Of objects in memory at once, and of one object: an index may claim what it likes.
constexpr uint64_t kReadAheadBytes = uint64_t{64} << 20;
constexpr size_t kReadAheadObjects = 8;
constexpr int64_t kObjectBytesMax = int64_t{1} << 30;
// Of a Redis; an engine's own limit is lower.
constexpr int64_t kRedisObjectsMax = 4'000'000;
constexpr int64_t kWaitUs = 1'000'000;

bool HoldsTier(const std::string& folder) {
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator(folder, ignored)) {
    if (ParseSegmentFileName(entry.path().filename().string())) return true;
  }
  return std::filesystem::exists(std::filesystem::path(folder) / "lock", ignored);
}

Result<std::unique_ptr<ObjectStore>> OpenRedis(const TierChoice& choice) {
  RedisStoreOptions options{.url = choice.name, .prefix = choice.prefix};
  options.start = RedisStoreOptions::Start::kConnected;
  options.object_max = kRedisObjectBytesMax;
  options.objects_max = kRedisObjectsMax;
  options.command_timeout_us = 10'000'000;
  return OpenRedisStore(options);
}

Result<std::unique_ptr<ObjectStore>> OpenFolder(const std::string& folder, Bytes bound) {
  if (!FileExists(folder)) {
    return Fail(ErrorCode::kNotFound,
                "{}: is not there; expected the folder of a disk tier, or redis://host:port",
                folder);
  }
  if (!IsDirectory(folder) || !HoldsTier(folder)) {
    return Fail(ErrorCode::kInvalidArgument,
                "{}: is not the folder of a disk tier: it has no segment files", folder);
  }
  return OpenDiskStore({.folder = folder, .bound = bound, .segment = kSegment});
}

}  // namespace

bool TierChoice::IsRedis() const { return LooksLikeRedisUrl(name); }

std::string TierChoice::Name() const {
  if (!IsRedis()) return name;
  const auto url = ParseRedisUrl(name);
  return url ? url->Name() : "redis://";
}

Result<std::unique_ptr<ObjectStore>> OpenTier(const TierChoice& choice) {
  return choice.IsRedis() ? OpenRedis(choice) : OpenFolder(choice.name, kNoBound);
}

Result<std::unique_ptr<ObjectStore>> OpenOrMakeTier(const TierChoice& choice) {
  if (choice.IsRedis() || HoldsTier(choice.name)) return OpenTier(choice);
  std::error_code ignored;
  if (FileExists(choice.name) && !std::filesystem::is_empty(choice.name, ignored)) {
    return Fail(ErrorCode::kInvalidArgument,
                "{}: is neither the folder of a disk tier nor empty, nor absent", choice.name);
  }
  return OpenDiskStore({.folder = choice.name, .bound = kNoBound, .segment = kSegment});
}

Result<std::unique_ptr<ObjectStore>> OpenTierWithin(const TierChoice& choice, Bytes bound) {
  return OpenFolder(choice.name, bound);
}

std::optional<Bytes> FolderBytes(const TierChoice& choice) {
  if (choice.IsRedis()) return std::nullopt;
  Bytes bytes;
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator(choice.name, ignored)) {
    if (!ParseSegmentFileName(entry.path().filename().string())) continue;
    const std::uintmax_t size = entry.file_size(ignored);
    if (!ignored) bytes += Bytes(static_cast<int64_t>(size));
  }
  return bytes;
}

std::vector<ObjectInfo> ObjectsByKey(const ObjectStore& store) {
  std::vector<ObjectInfo> objects = store.List();
  std::ranges::sort(objects, {}, &ObjectInfo::key);
  return objects;
}

Status ReadObjects(ObjectStore& store, std::span<const ObjectInfo> objects,
                   const std::function<Status(const ReadObject&)>& take) {
  struct Reading {
    std::vector<std::byte> bytes{};
    bool ended = false;
    ObjectOutcome outcome = ObjectOutcome::kFailed;
    std::string problem{};
  };
  std::map<size_t, Reading> readings;  // by their place in `objects`
  std::map<RequestId, size_t> places;
  uint64_t ahead_bytes = 0;
  size_t next = 0;
  const auto begin = [&](Reading& reading) {
    const ObjectInfo& info = objects[next];
    if (info.size.value() > kObjectBytesMax) {
      reading.ended = true;
      reading.problem = fmt::format("claims {} bytes, more than any object has", info.size.value());
      return;
    }
    reading.bytes.resize(static_cast<size_t>(info.size.value()));
    const std::span<std::byte> to(reading.bytes);
    const auto request = store.Get(info.key, std::span(&to, 1));
    if (request) {
      places[*request] = next;
    } else {
      reading.ended = true;
      reading.problem = request.error().message;
    }
  };
  Status status;
  while (status && (next < objects.size() || !readings.empty())) {
    while (next < objects.size() && readings.size() < kReadAheadObjects &&
           (readings.empty() || ahead_bytes < kReadAheadBytes)) {
      begin(readings[next]);
      ahead_bytes += readings[next++].bytes.size();
    }
    for (ObjectCompletion& done :
         places.empty() ? std::vector<ObjectCompletion>() : store.Wait(kWaitUs)) {
      Reading& reading = readings[places.at(done.request)];
      places.erase(done.request);
      reading.ended = true;
      reading.outcome = done.outcome;
      reading.problem = std::move(done.problem);
    }
    while (status && !readings.empty() && readings.begin()->second.ended) {
      const auto& [place, reading] = *readings.begin();
      status = take({objects[place], reading.outcome, reading.problem, reading.bytes});
      ahead_bytes -= reading.bytes.size();
      readings.erase(readings.begin());
    }
  }
  store.Flush();  // the memory of what is on its way is the store's until then
  return status;
}

ObjectCompletion WaitForOne(ObjectStore& store) {
  while (true) {
    auto completions = store.Wait(kWaitUs);
    if (!completions.empty()) return std::move(completions.front());
  }
}

}  // namespace cairn
