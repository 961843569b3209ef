#include "cairn/state/redis_connection.h"

#include <fmt/format.h>
#include <hiredis/read.h>

#include <utility>

#include "cairn/base/check.h"

namespace cairn {

std::string Printable(std::string_view text) {
  constexpr size_t kMost = 200;
  std::string line(text.substr(0, kMost));
  for (char& c : line) {
    if (c < ' ' || c > '~') c = '?';
  }
  return line;
}

// hiredis builds replies through functions of ours, which count what they take.
struct RedisReader::Parser {
  struct Free {
    void operator()(redisReader* made) const { redisReaderFree(made); }
  };

  RedisReply root;
  size_t bytes = 0;  // of root and all in it
  redisReplyObjectFunctions functions{};
  std::unique_ptr<redisReader, Free> reader;

  Parser() {
    // `auto` since the type of a length differs between versions.
    functions.createString = [](const redisReadTask* task, char* text, auto size) -> void* {
      return Of(task).Create(task, Kind(task->type), {text, static_cast<size_t>(size)}, 0, 0);
    };
    functions.createArray = [](const redisReadTask* task, auto elements) -> void* {
      return Of(task).Create(task, RedisReply::Kind::kArray, {}, 0, static_cast<size_t>(elements));
    };
    functions.createInteger = [](const redisReadTask* task, long long value) -> void* {
      return Of(task).Create(task, RedisReply::Kind::kInteger, {}, value, 0);
    };
    functions.createNil = [](const redisReadTask* task) -> void* {
      return Of(task).Create(task, RedisReply::Kind::kNil, {}, 0, 0);
    };
    functions.freeObject = [](void*) {};  // all is in `root`
    reader.reset(redisReaderCreateWithFunctions(&functions));
    CAIRN_CHECK(reader != nullptr);
    reader->privdata = this;
    reader->maxbuf = 0;  // keep the buffer; Next bounds it
  }

  static Parser& Of(const redisReadTask* task) { return *static_cast<Parser*>(task->privdata); }
  static RedisReply::Kind Kind(int type) {
    if (type == REDIS_REPLY_STATUS) return RedisReply::Kind::kStatus;
    if (type == REDIS_REPLY_ERROR) return RedisReply::Kind::kError;
    return RedisReply::Kind::kString;
  }

  // Null, which hiredis takes for an error, where the reply becomes too large.
  void* Create(const redisReadTask* task, RedisReply::Kind kind, std::string_view text,
               int64_t integer, size_t elements) {
    if (elements > kRedisReplyBytesMax / sizeof(RedisReply)) return nullptr;
    bytes += text.size() + elements * sizeof(RedisReply);
    if (bytes > kRedisReplyBytesMax) return nullptr;
    RedisReply* reply = &root;
    if (task->parent != nullptr) {
      auto& items = static_cast<RedisReply*>(task->parent->obj)->items;
      reply = &items[static_cast<size_t>(task->idx)];
    }
    *reply = {.kind = kind,
              .integer = integer,
              .text = std::string(text),
              .items = std::vector<RedisReply>(elements)};
    return reply;
  }
};

RedisReader::RedisReader() : parser_(std::make_unique<Parser>()) {}
RedisReader::~RedisReader() = default;
RedisReader::RedisReader(RedisReader&&) noexcept = default;
RedisReader& RedisReader::operator=(RedisReader&&) noexcept = default;

void RedisReader::Feed(std::span<const std::byte> bytes) {
  redisReaderFeed(parser_->reader.get(), reinterpret_cast<const char*>(bytes.data()), bytes.size());
}

Result<std::optional<RedisReply>> RedisReader::Next() {
  redisReader* reader = parser_->reader.get();
  void* reply = nullptr;
  if (redisReaderGetReply(reader, &reply) != REDIS_OK) {
    return Fail(ErrorCode::kCorrupt, "the answer is not of the Redis protocol, or too large ({})",
                Printable(reader->errstr));
  }
  if (reply == nullptr) {
    if (reader->len - reader->pos > kRedisReplyBytesMax) {
      return Fail(ErrorCode::kCorrupt, "the answer has more than {} bytes", kRedisReplyBytesMax);
    }
    return std::optional<RedisReply>();
  }
  parser_->bytes = 0;
  return std::optional(std::exchange(parser_->root, {}));
}

bool RedisReader::HasMore() const { return parser_->reader->len > parser_->reader->pos; }

void RedisCommands::Add(std::span<const std::string_view> arguments) {
  Begin(arguments.size());
  for (const std::string_view argument : arguments) Text(argument);
}

void RedisCommands::Begin(size_t arguments) {
  ++count_;
  fmt::format_to(std::back_inserter(text_), "*{}\r\n", arguments);
}

void RedisCommands::Text(std::string_view argument) {
  fmt::format_to(std::back_inserter(text_), "${}\r\n{}\r\n", argument.size(), argument);
}

void RedisCommands::Pieces(std::span<const std::span<const std::byte>> pieces) {
  size_t size = 0;
  for (const auto& piece : pieces) size += piece.size();
  fmt::format_to(std::back_inserter(text_), "${}\r\n", size);
  for (const auto& piece : pieces) {
    parts_.push_back({text_.size() - in_parts_, piece});
    in_parts_ = text_.size();
  }
  text_ += "\r\n";
}

uint64_t RedisCommands::bytes() const {
  uint64_t bytes = text_.size();
  for (const Part& part : parts_) bytes += part.piece.size();
  return bytes;
}

std::vector<std::span<const std::byte>> RedisCommands::Encoded() const {
  std::vector<std::span<const std::byte>> encoded;
  std::span<const std::byte> text = std::as_bytes(std::span(text_));
  for (const Part& part : parts_) {
    encoded.push_back(text.first(part.text_bytes));
    encoded.push_back(part.piece);
    text = text.subspan(part.text_bytes);
  }
  encoded.push_back(text);
  return encoded;
}

Result<RedisConnection> RedisConnection::Open(const RedisUrl& url, int64_t deadline_us) {
  CAIRN_ASSIGN(Socket socket, Socket::Connect(url.host, url.port, deadline_us));
  RedisConnection connection(std::move(socket), url.Name());
  RedisCommands commands;
  if (!url.user.empty()) {
    commands.Add({"AUTH", url.user, url.password});
  } else if (!url.password.empty()) {
    commands.Add({"AUTH", url.password});
  }
  if (url.database != 0) commands.Add({"SELECT", fmt::format("{}", url.database)});
  // Says also whether the server lets us in without a password.
  commands.Add({"PING"});
  CAIRN_TRY(connection.Send(commands, deadline_us));
  for (size_t i = 0; i < commands.count(); ++i) {
    CAIRN_ASSIGN(const RedisReply reply, connection.Receive(deadline_us));
    if (reply.kind != RedisReply::Kind::kStatus) {
      return Fail(ErrorCode::kIo, "{}: the server refuses the connection: {}", connection.name_,
                  Printable(reply.text));
    }
  }
  return connection;
}

Status RedisConnection::Send(const RedisCommands& commands, int64_t deadline_us) {
  return socket_.Send(commands.Encoded(), deadline_us);
}

Result<RedisReply> RedisConnection::Receive(int64_t deadline_us) {
  while (true) {
    auto reply = reader_.Next();
    if (!reply) return Fail(ErrorCode::kIo, "{}: {}", name_, reply.error().message);
    if (*reply) return std::move(**reply);
    CAIRN_ASSIGN(const size_t got, socket_.Receive(buffer_, deadline_us));
    if (got == 0) {
      return Fail(ErrorCode::kIo, "{}: the server closed the connection", name_);
    }
    reader_.Feed(std::span(buffer_).first(got));
  }
}

}  // namespace cairn
