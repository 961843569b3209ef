// Any bytes as a segment file; and sound segments with some bytes changed, since a sum can't be
// guessed. Whatever is found must lie within the file, in order, and be read without a fault.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "cairn/base/check.h"
#include "cairn/base/file_system_for_tests.h"
#include "cairn/state/segment_io.h"

namespace {

constexpr cairn::SegmentIdentity kIdentity{cairn::SegmentId(7), 0x1234};
constexpr size_t kFileBytesMax = 256 << 10;

class Input {
 public:
  Input(const uint8_t* data, size_t size) : bytes_(data, size) {}
  bool empty() const { return bytes_.empty(); }
  uint64_t Take(int bytes) {
    uint64_t value = 0;
    for (int i = 0; i < bytes && !bytes_.empty(); ++i) {
      value = value << 8 | bytes_.front();
      bytes_ = bytes_.subspan(1);
    }
    return value;
  }
  std::vector<std::byte> Rest() const {
    const auto rest = std::as_bytes(bytes_);
    return {rest.begin(), rest.end()};
  }

 private:
  std::span<const uint8_t> bytes_;
};

// A segment of records of lengths that the input gives, with an index or not, and then changes.
std::vector<std::byte> ChangedSegment(Input& input) {
  std::vector<std::byte> file = cairn::EncodeSegmentHeader(kIdentity);
  std::vector<cairn::Record> records;
  const uint64_t count = input.Take(1) % 8;
  for (uint64_t i = 0; i < count; ++i) {
    cairn::Record record{.offset = file.size(), .payload_bytes = input.Take(2)};
    if (record.payload_bytes == 0) record.kind = cairn::RecordKind::kTombstone;
    const std::vector<std::byte> payload(record.payload_bytes, static_cast<std::byte>(i));
    record.payload_sum = cairn::Checksum::Of(payload, kIdentity.salt);
    if (input.Take(1) % 8 == 0) record.payload_bytes = input.Take(8);  // a header that lies
    const auto header = cairn::EncodeRecordHeader(kIdentity, record);
    file.insert(file.end(), header.begin(), header.end());
    file.insert(file.end(), payload.begin(), payload.end());
    file.resize(cairn::RoundUpToBlock(file.size()));
    records.push_back(record);
  }
  if (input.Take(1) % 2 == 0) {
    const auto index = cairn::EncodeIndex(kIdentity, records, file.size());
    file.insert(file.end(), index.begin(), index.end());
  }
  while (!input.empty()) {
    const uint64_t at = input.Take(3) % file.size();
    file[at] = static_cast<std::byte>(input.Take(1));
    if (input.Take(1) == 255) file.resize(1 + at);
  }
  return file;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  Input input(data, size);
  std::vector<std::byte> bytes = input.Take(1) % 2 == 0 ? ChangedSegment(input) : input.Rest();
  bytes.resize(std::min(bytes.size(), kFileBytesMax));
  cairn::SimulatedFileSystem files(1);
  files.Replace("x/segment", std::move(bytes));
  const auto file = files.OpenDirect("x/segment", cairn::FileOpening::kRead);
  CAIRN_CHECK(file);
  const uint64_t file_bytes = *(*file)->Size();
  static cairn::BlockBuffer buffer;
  const auto contents = cairn::ReadSegment(**file, kIdentity.id, buffer.bytes());
  if (!contents) return 0;
  uint64_t free_from = cairn::kBlockBytes;
  for (const cairn::Record& record : contents->records) {
    CAIRN_CHECK(record.offset >= free_from && record.end() <= file_bytes);
    free_from = record.end();
    std::vector<std::byte> payload(record.payload_bytes);
    const std::span<std::byte> to(payload);
    const auto reading =
        cairn::ReadRecord(**file, contents->identity, record, std::span(&to, 1), buffer.bytes());
    CAIRN_CHECK(reading);
    // What was found by reading all of it was proved to be whole.
    if (!contents->sealed) CAIRN_CHECK(*reading == cairn::RecordReading::kIntact);
  }
  CAIRN_CHECK(contents->end >= free_from);
  return 0;
}
