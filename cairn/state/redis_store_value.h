// RedisValueReader: an object that comes from a server in chunks, judged and moved to where it
// shall go. Pure; knows no connection.
#ifndef CAIRN_STATE_REDIS_STORE_VALUE_H_
#define CAIRN_STATE_REDIS_STORE_VALUE_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include "cairn/state/object_format.h"
#include "cairn/state/redis_connection.h"

namespace cairn {

class RedisValueReader {
 public:
  using Targets = std::span<const std::span<std::byte>>;
  enum class Verdict {
    kIntact,
    kAbsent,
    kDamaged,  // an object of this version once
    kForeign,  // something else, or what another version wrote
  };
  struct Judgement {
    Verdict verdict = Verdict::kIntact;
    std::string problem{};
  };

  // What is held of a value at once.
  static constexpr uint64_t kChunkBytes = 1 << 20;

  // The targets together are as long as the payload must be; they outlive this.
  RedisValueReader(const ObjectKey& key, Targets targets);

  // How many chunks to ask for, and the first and last byte of each. One byte more than there may
  // be, so that what is too long shows.
  size_t chunks() const { return (kObjectHeaderBytes + wanted_) / kChunkBytes + 1; }
  std::pair<uint64_t, uint64_t> Range(size_t chunk) const;

  // The server's answer for the next chunk.
  void Take(const RedisReply& reply);
  // Whether nothing that comes can change the judgement.
  bool judged() const { return judgement_.has_value(); }
  Judgement Finish();

 private:
  void Judge(Verdict verdict, std::string problem) { judgement_ = {verdict, std::move(problem)}; }
  void TakeHeader(std::span<const std::byte> bytes);
  void Scatter(std::span<const std::byte> bytes);

  ObjectKey key_;
  Targets targets_;
  size_t in_target_ = 0;  // bytes of the first target that are filled
  uint64_t wanted_;
  uint64_t taken_ = 0;
  bool has_header_ = false;
  ObjectHeader header_;
  Checksum sum_ = PayloadSum();
  std::optional<Judgement> judgement_;
};

}  // namespace cairn

#endif  // CAIRN_STATE_REDIS_STORE_VALUE_H_
