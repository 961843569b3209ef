#include "cairn/state/redis_store_value.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "cairn/state/store_jobs.h"

namespace cairn {

RedisValueReader::RedisValueReader(const ObjectKey& key, Targets targets)
    : key_(key), targets_(targets), wanted_(TotalBytes(targets)) {}

std::pair<uint64_t, uint64_t> RedisValueReader::Range(size_t chunk) const {
  const uint64_t begin = chunk * kChunkBytes;
  return {begin, std::min(begin + kChunkBytes - 1, kObjectHeaderBytes + wanted_)};
}

void RedisValueReader::Take(const RedisReply& reply) {
  if (judged()) return;
  if (reply.kind != RedisReply::Kind::kString) {
    return Judge(Verdict::kForeign, "the server answers " + Printable(reply.text));
  }
  std::span<const std::byte> bytes = std::as_bytes(std::span(reply.text));
  if (!has_header_) {
    if (bytes.empty()) return Judge(Verdict::kAbsent, "");
    TakeHeader(bytes);
    if (judged()) return;
    bytes = bytes.subspan(kObjectHeaderBytes);
  }
  if (bytes.size() > wanted_ - taken_) {
    return Judge(Verdict::kDamaged, "is longer than its header says");
  }
  sum_.Update(bytes);
  Scatter(bytes);
}

RedisValueReader::Judgement RedisValueReader::Finish() {
  if (judged()) return *judgement_;
  if (taken_ < wanted_) {
    return {Verdict::kDamaged,
            fmt::format("ends after {} of its {} bytes of payload", taken_, wanted_)};
  }
  if (sum_.Finish() != header_.payload_sum) {
    return {Verdict::kDamaged, "its payload does not fit its checksum"};
  }
  return {};
}

void RedisValueReader::TakeHeader(std::span<const std::byte> bytes) {
  has_header_ = true;
  const auto header = DecodeObjectHeader(bytes);
  if (!header) {
    return Judge(LooksLikeObject(bytes) ? Verdict::kDamaged : Verdict::kForeign,
                 header.error().message);
  }
  header_ = *header;
  if (header_.key != key_) return Judge(Verdict::kDamaged, "is the object of another key");
  if (header_.payload_bytes != wanted_) {
    Judge(Verdict::kForeign, fmt::format("has {} bytes of payload, the index says {}",
                                         header_.payload_bytes, wanted_));
  }
}

void RedisValueReader::Scatter(std::span<const std::byte> bytes) {
  taken_ += bytes.size();
  while (!bytes.empty()) {
    const std::span<std::byte> to = targets_.front().subspan(in_target_);
    const size_t count = std::min(to.size(), bytes.size());
    if (count > 0) std::memcpy(to.data(), bytes.data(), count);
    bytes = bytes.subspan(count);
    in_target_ += count;
    if (in_target_ == targets_.front().size()) {
      targets_ = targets_.subspan(1);
      in_target_ = 0;
    }
  }
}

}  // namespace cairn
