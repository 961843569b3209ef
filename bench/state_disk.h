// Throughput of the disk store, to be set beside fio's in the same folder.
#ifndef CAIRN_BENCH_STATE_DISK_H_
#define CAIRN_BENCH_STATE_DISK_H_

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <memory>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "cairn/base/check.h"
#include "cairn/state/disk_store.h"

namespace cairn {

class DiskMeasurement {
 public:
  DiskMeasurement(const std::string& folder, uint64_t objects, size_t object_bytes)
      : objects_(objects), bytes_(object_bytes) {
    const auto total = static_cast<int64_t>(objects * object_bytes);
    auto store = OpenDiskStore({.folder = folder, .bound = Bytes(4 * total + (int64_t{1} << 30))});
    CAIRN_CHECK(store.has_value());
    store_ = *std::move(store);
  }

  // Until the last of them is acknowledged, that is, safe from a crash.
  double WriteBytesPerSecond() {
    // Each object begins with its number, or all would be one to a disk that removes duplicates.
    constexpr size_t kBuffers = 8;
    std::vector<std::vector<std::byte>> buffers(kBuffers, std::vector<std::byte>(bytes_));
    std::mt19937_64 random(1);
    for (auto& buffer : buffers) {
      for (std::byte& byte : buffer) byte = static_cast<std::byte>(random());
    }
    std::vector<std::byte> numbers(objects_ * sizeof(uint64_t));
    const auto begin = std::chrono::steady_clock::now();
    for (uint64_t i = 0; i < objects_; ++i) {
      const auto number = std::span(numbers).subspan(i * sizeof(i), sizeof(i));
      std::memcpy(number.data(), &i, sizeof(i));
      const std::span<const std::byte> pieces[] = {
          number, std::span(buffers[i % kBuffers]).subspan(sizeof(i))};
      while (!store_->Put(KeyOf(i), {}, pieces)) Count(store_->Wait(1'000'000));
    }
    store_->Flush();
    Count(store_->Poll());
    CAIRN_CHECK(done_ == objects_);
    return Rate(begin);
  }

  // All objects in an order of no pattern, some at once; checksums are part of it.
  double ReadBytesPerSecond() {
    std::vector<uint64_t> order(objects_);
    for (uint64_t i = 0; i < objects_; ++i) order[i] = i;
    std::ranges::shuffle(order, std::mt19937_64(2));
    constexpr size_t kAtOnce = 8;
    std::vector<std::vector<std::byte>> targets(kAtOnce, std::vector<std::byte>(bytes_));
    const auto begin = std::chrono::steady_clock::now();
    // In rounds by halves, so that there is always something to read.
    for (uint64_t i = 0; i < objects_; ++i) {
      while (i - done_ >= kAtOnce) Count(store_->Wait(1'000'000));
      const std::span<std::byte> to(targets[i % kAtOnce]);
      CAIRN_CHECK(store_->Get(KeyOf(order[i]), std::span(&to, 1)).has_value());
    }
    store_->Flush();
    Count(store_->Poll());
    CAIRN_CHECK(done_ == objects_);
    return Rate(begin);
  }

 private:
  static ObjectKey KeyOf(uint64_t number) {
    ObjectKey key;
    std::memcpy(key.bytes.data(), &number, sizeof(number));
    return key;
  }
  void Count(const std::vector<ObjectCompletion>& completions) {
    for (const ObjectCompletion& each : completions) {
      CAIRN_CHECK(each.outcome == ObjectOutcome::kDone);
      ++done_;
    }
  }
  double Rate(std::chrono::steady_clock::time_point begin) const {
    const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - begin;
    return static_cast<double>(objects_ * bytes_) / elapsed.count();
  }

  uint64_t objects_;
  size_t bytes_;
  uint64_t done_ = 0;
  std::unique_ptr<ObjectStore> store_;
};

// "write" or "read", of what a call with "write" left in the folder. Prints JSON.
inline int MeasureDisk(const std::string& action, const std::string& folder, uint64_t objects,
                       size_t object_bytes) {
  DiskMeasurement disk(folder, objects, object_bytes);
  const double rate = action == "write" ? disk.WriteBytesPerSecond() : disk.ReadBytesPerSecond();
  std::printf("{\"bytes_per_second\": %.0f}\n", rate);
  return 0;
}

}  // namespace cairn

#endif  // CAIRN_BENCH_STATE_DISK_H_
