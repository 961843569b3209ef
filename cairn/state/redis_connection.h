// RedisConnection: requests and replies over one connection to a server of the Redis protocol
// (RESP 2), with a deadline and a bound of memory for everything.
//
// Nothing that a server answers is believed: a reply of more than kRedisReplyBytesMax, or what is
// no reply at all, ends the connection with an error. hiredis parses the replies; it does not
// connect nor wait, since its own waiting has no limit for a server that sends a byte now and then.
// Movable; used by one thread at a time.
#ifndef CAIRN_STATE_REDIS_CONNECTION_H_
#define CAIRN_STATE_REDIS_CONNECTION_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cairn/base/socket.h"
#include "cairn/base/status.h"
#include "cairn/state/redis_url.h"

namespace cairn {

// Of one reply in memory, all of its parts together.
inline constexpr size_t kRedisReplyBytesMax = size_t{8} << 20;

struct RedisReply {
  enum class Kind { kNil, kStatus, kError, kInteger, kString, kArray };
  Kind kind = Kind::kNil;
  int64_t integer = 0;
  std::string text;  // of kStatus, kError and kString
  std::vector<RedisReply> items;

  bool IsError() const { return kind == Kind::kError; }
  bool IsStatus(std::string_view status) const { return kind == Kind::kStatus && text == status; }
};

// A server's words for a message of ours: one line of printable characters, cut when long.
std::string Printable(std::string_view text);

// Replies out of any bytes. After an error it gives no more.
class RedisReader {
 public:
  RedisReader();
  ~RedisReader();
  RedisReader(RedisReader&&) noexcept;
  RedisReader& operator=(RedisReader&&) noexcept;

  void Feed(std::span<const std::byte> bytes);
  // The next reply; nothing while it is not whole. Errors: kCorrupt.
  Result<std::optional<RedisReply>> Next();
  // Whether there are bytes that no reply took.
  bool HasMore() const;

 private:
  struct Parser;
  std::unique_ptr<Parser> parser_;
};

// Commands to be sent in one go. Arguments of Text are copied, those of Pieces must live on.
class RedisCommands {
 public:
  // A command whose arguments are all given.
  void Add(std::span<const std::string_view> arguments);
  void Add(std::initializer_list<std::string_view> arguments) {
    Add(std::span(arguments.begin(), arguments.size()));
  }
  // The same in parts: the number of arguments, then each of them.
  void Begin(size_t arguments);
  void Text(std::string_view argument);
  // Pieces of one argument.
  void Pieces(std::span<const std::span<const std::byte>> pieces);

  size_t count() const { return count_; }
  uint64_t bytes() const;
  // What is to be sent; valid until this is changed.
  std::vector<std::span<const std::byte>> Encoded() const;

 private:
  struct Part {
    size_t text_bytes = 0;  // of text_, then
    std::span<const std::byte> piece{};
  };

  std::string text_;
  std::vector<Part> parts_;
  size_t in_parts_ = 0;  // bytes of text_ that parts_ covers
  size_t count_ = 0;
};

class RedisConnection {
 public:
  // Connects, says who it is and chooses the database. Errors (kIo) name the server.
  static Result<RedisConnection> Open(const RedisUrl& url, int64_t deadline_us);

  // Errors (kIo): no connection any more. It is of no use after any error.
  Status Send(const RedisCommands& commands, int64_t deadline_us);
  // The reply to the oldest command that has none yet. The server's own errors are replies.
  Result<RedisReply> Receive(int64_t deadline_us);
  // Whether it sent more than was asked for: nothing on it can be trusted then.
  bool HasUnasked() const { return reader_.HasMore(); }

 private:
  RedisConnection(Socket socket, std::string name)
      : socket_(std::move(socket)), name_(std::move(name)), buffer_(64 << 10) {}

  Socket socket_;
  std::string name_;
  RedisReader reader_;
  std::vector<std::byte> buffer_;
};

}  // namespace cairn

#endif  // CAIRN_STATE_REDIS_CONNECTION_H_
