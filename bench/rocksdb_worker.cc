// What RocksDB does with the objects that bench/state gives the disk store, for ADR 0009.
//
//   rocksdb_worker write-log|write-flush|read FOLDER OBJECTS BYTES
//
// Values in blob files (BlobDB), nothing compressed, past the system's cache where RocksDB can.
// write-log acknowledges by its log, synced after every 16 MiB; write-flush has no log and flushes
// after as many, so that values are written once. Reads are by 4 threads in an order of no pattern,
// checksums verified. Prints JSON.
#include <rocksdb/db.h>
#include <rocksdb/options.h>
#include <rocksdb/table.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <vector>

namespace {

constexpr uint64_t kGroupBytes = 16 << 20;
constexpr int kReaders = 4;

void Check(const rocksdb::Status& status) {
  if (status.ok()) return;
  std::fprintf(stderr, "rocksdb_worker: %s\n", status.ToString().c_str());
  std::exit(1);
}

rocksdb::DB* Open(const std::string& folder) {
  rocksdb::Options options;
  options.create_if_missing = true;
  options.compression = rocksdb::kNoCompression;
  options.enable_blob_files = true;
  options.min_blob_size = 0;
  options.blob_file_size = 64 << 20;
  options.write_buffer_size = 64 << 20;
  options.use_direct_reads = true;
  options.use_direct_io_for_flush_and_compaction = true;
  rocksdb::DB* db = nullptr;
  Check(rocksdb::DB::Open(options, folder, &db));
  return db;
}

std::string KeyOf(uint64_t number) {
  std::string key(32, '\0');
  std::memcpy(key.data(), &number, sizeof(number));
  return key;
}

void Write(rocksdb::DB& db, bool has_log, uint64_t objects, std::vector<std::string>& values) {
  uint64_t waiting = 0;
  for (uint64_t i = 0; i < objects; ++i) {
    std::string& value = values[i % values.size()];
    std::memcpy(value.data(), &i, sizeof(i));
    waiting += value.size();
    const bool ends_group = waiting >= kGroupBytes || i + 1 == objects;
    rocksdb::WriteOptions write;
    write.disableWAL = !has_log;
    write.sync = has_log && ends_group;
    Check(db.Put(write, KeyOf(i), value));
    if (!ends_group) continue;
    waiting = 0;
    if (!has_log) Check(db.Flush(rocksdb::FlushOptions()));
  }
}

void Read(rocksdb::DB& db, uint64_t objects) {
  std::vector<uint64_t> order(objects);
  for (uint64_t i = 0; i < objects; ++i) order[i] = i;
  std::ranges::shuffle(order, std::mt19937_64(2));
  std::atomic<uint64_t> next = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < kReaders; ++i) {
    threads.emplace_back([&] {
      rocksdb::PinnableSlice value;
      for (uint64_t at = next++; at < objects; at = next++) {
        value.Reset();
        Check(db.Get({}, db.DefaultColumnFamily(), KeyOf(order[at]), &value));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 5) {
    std::fprintf(stderr, "rocksdb_worker write-log|write-flush|read FOLDER OBJECTS BYTES\n");
    return 2;
  }
  const std::string action = argv[1];
  const uint64_t objects = std::strtoull(argv[3], nullptr, 10);
  const uint64_t bytes = std::strtoull(argv[4], nullptr, 10);
  const std::unique_ptr<rocksdb::DB> db(Open(argv[2]));
  std::vector<std::string> values(8, std::string(bytes, '\0'));
  std::mt19937_64 random(1);
  for (std::string& value : values) {
    for (char& c : value) c = static_cast<char>(random());
  }
  const auto begin = std::chrono::steady_clock::now();
  if (action == "read") {
    Read(*db, objects);
  } else {
    Write(*db, action == "write-log", objects, values);
  }
  const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - begin;
  std::printf("{\"bytes_per_second\": %.0f}\n",
              static_cast<double>(objects * bytes) / elapsed.count());
  return 0;
}
