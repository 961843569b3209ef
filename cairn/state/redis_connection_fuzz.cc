// Any bytes as a server's answers, in pieces whose lengths the first bytes give; and as an address.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "cairn/base/check.h"
#include "cairn/state/redis_connection.h"
#include "cairn/state/redis_mirror.h"
#include "cairn/state/redis_url.h"

namespace {

size_t BytesOf(const cairn::RedisReply& reply) {
  size_t bytes = reply.text.size() + reply.items.size() * sizeof(reply);
  for (const cairn::RedisReply& item : reply.items) bytes += BytesOf(item);
  return bytes;
}

void ReadAsAnswers(std::span<const std::byte> bytes, size_t step) {
  cairn::RedisReader reader;
  while (!bytes.empty()) {
    const size_t count = std::min(step, bytes.size());
    reader.Feed(bytes.first(count));
    bytes = bytes.subspan(count);
    while (true) {
      const auto reply = reader.Next();
      if (!reply) return;
      if (!*reply) break;
      CAIRN_CHECK(BytesOf(**reply) <= cairn::kRedisReplyBytesMax);
    }
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const auto bytes = std::as_bytes(std::span(data, size)).subspan(1);
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  ReadAsAnswers(bytes, size_t{data[0]} + 1);
  if (const auto url = cairn::ParseRedisUrl(text)) {
    const auto again = cairn::ParseRedisUrl(url->Name());
    CAIRN_CHECK(again && again->host == url->host && again->port == url->port);
    CAIRN_CHECK(again->database == url->database);
  }
  if (const auto id = cairn::StreamId::Parse(text)) {
    CAIRN_CHECK(cairn::StreamId::Parse(id->Text()) == id);
  }
  return 0;
}
