#include "cairn/state/redis_store_objects.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <string_view>
#include <utility>

#include "cairn/base/env.h"
#include "cairn/state/store_jobs.h"

namespace cairn {
namespace {

// A server slower than this, over a whole call, counts as silent.
constexpr uint64_t kSlowestBytesPerSecond = 1 << 20;
// Chunks of a value that are asked for before the first came: what the server must keep for us.
constexpr size_t kChunksAhead = 4;

std::string_view AsText(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

bool IsPair(const RedisReply& reply) {
  return reply.kind == RedisReply::Kind::kArray && reply.items.size() == 2;
}

}  // namespace

template <class Call>
std::invoke_result_t<Call, RedisConnection&> RedisObjects::Try(uint64_t bytes, const Call& call) {
  const auto moving_us = static_cast<int64_t>(bytes * 1'000'000 / kSlowestBytesPerSecond);
  for (bool again = false;; again = true) {
    if (connection_ && connection_->HasUnasked()) connection_.reset();
    if (!connection_) {
      CAIRN_ASSIGN(connection_, RedisConnection::Open(
                                    options_.url, NowMicroseconds() + options_.connect_timeout_us));
    }
    deadline_us_ = NowMicroseconds() + options_.command_timeout_us + moving_us;
    auto result = call(*connection_);
    if (result || result.error().code != ErrorCode::kIo) return result;
    connection_.reset();
    // Servers close what was idle for long; that says nothing about the next connection.
    if (again || NowMicroseconds() >= deadline_us_) return result;
  }
}

std::string RedisObjects::NameOf(const ObjectKey& key) const {
  std::string name = options_.prefix + "o:";
  for (const std::byte byte : key.bytes) {
    fmt::format_to(std::back_inserter(name), "{:02x}", static_cast<unsigned>(byte));
  }
  return name;
}

std::unexpected<Error> RedisObjects::Nonsense(const char* command) const {
  return Fail(ErrorCode::kIo, "{}: the answer to {} makes no sense", options_.url.Name(), command);
}

Result<std::vector<RedisReply>> RedisObjects::Exchange(RedisConnection& connection,
                                                       const RedisCommands& commands) {
  CAIRN_TRY(connection.Send(commands, deadline_us_));
  std::vector<RedisReply> replies;
  while (replies.size() < commands.count()) {
    CAIRN_ASSIGN(RedisReply reply, connection.Receive(deadline_us_));
    replies.push_back(std::move(reply));
  }
  return replies;
}

void RedisObjects::AddIndexEntry(RedisCommands& commands, const IndexEntry& entry) const {
  commands.Add({"XADD", IndexName(), "MAXLEN", "~", fmt::format("{}", options_.index_entries_max),
                "*", "e", AsText(EncodeIndexEntry(entry))});
}

Result<StreamId> RedisObjects::ChangeOf(std::span<const RedisReply> replies) const {
  const RedisReply& last = replies.back();
  for (const RedisReply& reply : replies) {
    if (reply.IsError()) {
      return Fail(ErrorCode::kExhausted, "{}: the server refuses: {}", options_.url.Name(),
                  Printable(reply.text));
    }
  }
  const bool queued = std::ranges::all_of(replies.subspan(1, replies.size() - 2),
                                          [](auto& reply) { return reply.IsStatus("QUEUED"); });
  if (!replies[0].IsStatus("OK") || !queued || !IsPair(last)) return Nonsense("EXEC");
  for (const RedisReply& reply : last.items) {
    if (reply.IsError()) {
      return Fail(ErrorCode::kExhausted, "{}: the server refuses: {}", options_.url.Name(),
                  Printable(reply.text));
    }
  }
  const RedisReply& change = last.items[0];
  const auto id = StreamId::Parse(last.items[1].text);
  if ((!change.IsStatus("OK") && change.kind != RedisReply::Kind::kInteger) || !id) {
    return Nonsense("EXEC");
  }
  return *id;
}

Result<StreamId> RedisObjects::Put(const ObjectKey& key, const ObjectMetadata& metadata,
                                   Sources pieces) {
  ObjectHeader header{.key = key, .metadata = metadata, .payload_bytes = TotalBytes(pieces)};
  Checksum sum = PayloadSum();
  for (const auto& piece : pieces) sum.Update(piece);
  header.payload_sum = sum.Finish();
  const auto encoded = EncodeObjectHeader(header);
  std::vector<std::span<const std::byte>> value = {encoded};
  value.insert(value.end(), pieces.begin(), pieces.end());

  RedisCommands commands;
  commands.Add({"MULTI"});
  commands.Begin(options_.seconds_to_live > 0 ? 5 : 3);
  commands.Text("SET");
  commands.Text(NameOf(key));
  commands.Pieces(value);
  if (options_.seconds_to_live > 0) {
    commands.Text("EX");
    commands.Text(fmt::format("{}", options_.seconds_to_live));
  }
  AddIndexEntry(commands, {.kind = IndexEntry::Kind::kPut,
                           .source = options_.source,
                           .key = key,
                           .metadata = metadata,
                           .payload_bytes = header.payload_bytes});
  commands.Add({"EXEC"});
  return Try(commands.bytes(), [&](RedisConnection& connection) -> Result<StreamId> {
    CAIRN_ASSIGN(const auto replies, Exchange(connection, commands));
    return ChangeOf(replies);
  });
}

Result<StreamId> RedisObjects::Erase(const ObjectKey& key) {
  RedisCommands commands;
  commands.Add({"MULTI"});
  commands.Add({"DEL", NameOf(key)});
  AddIndexEntry(commands,
                {.kind = IndexEntry::Kind::kErase, .source = options_.source, .key = key});
  commands.Add({"EXEC"});
  return Try(0, [&](RedisConnection& connection) -> Result<StreamId> {
    CAIRN_ASSIGN(const auto replies, Exchange(connection, commands));
    return ChangeOf(replies);
  });
}

Result<bool> RedisObjects::Touch(const ObjectKey& key) {
  RedisCommands commands;
  if (options_.seconds_to_live > 0) {
    commands.Add({"EXPIRE", NameOf(key), fmt::format("{}", options_.seconds_to_live)});
  } else {
    commands.Add({"EXISTS", NameOf(key)});
  }
  return Try(0, [&](RedisConnection& connection) -> Result<bool> {
    CAIRN_ASSIGN(const auto replies, Exchange(connection, commands));
    // Where the server refuses this it is for the command that stores to say so.
    if (replies[0].IsError()) return false;
    if (replies[0].kind != RedisReply::Kind::kInteger) return Nonsense("EXISTS");
    return replies[0].integer != 0;
  });
}

Result<std::vector<bool>> RedisObjects::Exist(std::span<const ObjectKey> keys) {
  RedisCommands commands;
  for (const ObjectKey& key : keys) commands.Add({"EXISTS", NameOf(key)});
  if (keys.empty()) return std::vector<bool>();
  return Try(commands.bytes(), [&](RedisConnection& connection) -> Result<std::vector<bool>> {
    CAIRN_ASSIGN(const auto replies, Exchange(connection, commands));
    std::vector<bool> exist;
    for (const RedisReply& reply : replies) {
      if (reply.IsError()) {
        return Fail(ErrorCode::kExhausted, "{}: the server refuses: {}", options_.url.Name(),
                    Printable(reply.text));
      }
      if (reply.kind != RedisReply::Kind::kInteger) return Nonsense("EXISTS");
      exist.push_back(reply.integer != 0);
    }
    return exist;
  });
}

Result<RedisValueReader::Judgement> RedisObjects::ReadValue(RedisConnection& connection,
                                                            const ObjectKey& key, Targets pieces) {
  RedisValueReader reader(key, pieces);
  const std::string name = NameOf(key);
  size_t asked = 0;
  for (size_t got = 0; got < reader.chunks(); ++got) {
    RedisCommands commands;
    while (!reader.judged() && asked < std::min(got + kChunksAhead, reader.chunks())) {
      const auto [first, last] = reader.Range(asked++);
      commands.Add({"GETRANGE", name, fmt::format("{}", first), fmt::format("{}", last)});
    }
    if (commands.count() > 0) CAIRN_TRY(connection.Send(commands, deadline_us_));
    if (got == asked) break;
    CAIRN_ASSIGN(const RedisReply reply, connection.Receive(deadline_us_));
    reader.Take(reply);
  }
  return reader.Finish();
}

Result<RedisObjects::Reading> RedisObjects::Get(const ObjectKey& key, Targets pieces) {
  // Twice its length: what is damaged is read again.
  return Try(2 * TotalBytes(pieces), [&](RedisConnection& connection) -> Result<Reading> {
    CAIRN_ASSIGN(const RedisValueReader::Judgement judgement, ReadValue(connection, key, pieces));
    if (judgement.verdict == RedisValueReader::Verdict::kIntact) return Reading();
    if (judgement.verdict == RedisValueReader::Verdict::kAbsent)
      return Reading{ObjectOutcome::kAbsent};
    return LookAgain(connection, key, pieces);
  });
}

Result<RedisObjects::Reading> RedisObjects::LookAgain(RedisConnection& connection,
                                                      const ObjectKey& key, Targets pieces) {
  // It may have been evicted or written anew between two chunks. And what is removed must be what
  // was looked at: under WATCH the transaction does nothing if somebody writes the key meanwhile.
  RedisCommands watch;
  watch.Add({"WATCH", NameOf(key)});
  CAIRN_TRY(Exchange(connection, watch));
  CAIRN_ASSIGN(const RedisValueReader::Judgement judgement, ReadValue(connection, key, pieces));
  RedisCommands end;
  if (judgement.verdict == RedisValueReader::Verdict::kDamaged) {
    end.Add({"MULTI"});
    end.Add({"DEL", NameOf(key)});
    AddIndexEntry(end, {.kind = IndexEntry::Kind::kErase, .source = options_.source, .key = key});
    end.Add({"EXEC"});
  } else {
    end.Add({"UNWATCH"});
  }
  const bool ended = Exchange(connection, end).has_value();
  Reading reading;
  if (judgement.verdict == RedisValueReader::Verdict::kAbsent)
    reading.outcome = ObjectOutcome::kAbsent;
  if (judgement.verdict == RedisValueReader::Verdict::kDamaged ||
      judgement.verdict == RedisValueReader::Verdict::kForeign) {
    reading.outcome = ObjectOutcome::kDamaged;
    reading.problem = fmt::format("{}: {} {}", options_.url.Name(), NameOf(key), judgement.problem);
  }
  // What was found out stays true without the connection.
  if (!ended) connection_.reset();
  return reading;
}

Result<RedisObjects::IndexPart> RedisObjects::ReadIndex(StreamId after, size_t most) {
  RedisCommands commands;
  commands.Add({"XREAD", "COUNT", fmt::format("{}", most), "STREAMS", IndexName(), after.Text()});
  commands.Add({"XREVRANGE", IndexName(), "+", "-", "COUNT", "1"});
  const uint64_t bytes_max = most * 2 * kIndexEntryBytes;
  CAIRN_ASSIGN(IndexPart part,
               Try(bytes_max, [&](RedisConnection& connection) -> Result<IndexPart> {
                 CAIRN_ASSIGN(const auto replies, Exchange(connection, commands));
                 return ParseIndex(replies[0], replies[1], after, most);
               }));
  std::vector<ObjectKey> put;
  for (const RedisMirror::Event& event : part.events) {
    if (event.entry.kind == IndexEntry::Kind::kPut) put.push_back(event.entry.key);
  }
  CAIRN_ASSIGN(const std::vector<bool> exist, Exist(put));
  size_t next = 0;
  for (RedisMirror::Event& event : part.events) {
    if (event.entry.kind == IndexEntry::Kind::kPut) event.exists = exist[next++];
  }
  return part;
}

Result<RedisObjects::IndexPart> RedisObjects::ParseIndex(const RedisReply& entries,
                                                         const RedisReply& last, StreamId after,
                                                         size_t most) const {
  for (const RedisReply* reply : {&entries, &last}) {
    if (!reply->IsError()) continue;
    return Fail(ErrorCode::kExhausted, "{}: the server refuses to read {}: {}", options_.url.Name(),
                IndexName(), Printable(reply->text));
  }
  if (last.kind != RedisReply::Kind::kArray) return Nonsense("XREVRANGE");
  StreamId newest;
  if (!last.items.empty()) {
    const auto id = IsPair(last.items[0]) ? StreamId::Parse(last.items[0].items[0].text)
                                          : std::optional<StreamId>();
    if (!id) return Nonsense("XREVRANGE");
    newest = *id;
  }
  IndexPart part;
  part.last = after;
  part.began_anew = newest < after;
  if (entries.kind == RedisReply::Kind::kNil) return part;
  if (entries.kind != RedisReply::Kind::kArray || entries.items.size() != 1 ||
      !IsPair(entries.items[0]) || entries.items[0].items[1].items.size() > most) {
    return Nonsense("XREAD");
  }
  const std::vector<RedisReply>& items = entries.items[0].items[1].items;
  part.whole = items.size() < most;
  for (const RedisReply& item : items) {
    const auto id = IsPair(item) ? StreamId::Parse(item.items[0].text) : std::optional<StreamId>();
    if (!id || *id <= part.last) return Nonsense("XREAD");
    part.last = *id;
    const std::vector<RedisReply>& fields = item.items[1].items;
    const auto entry = fields.size() == 2 && fields[0].text == "e"
                           ? DecodeIndexEntry(std::as_bytes(std::span(fields[1].text)))
                           : std::optional<IndexEntry>();
    if (entry) {
      part.events.push_back({.id = *id, .entry = *entry});
    } else {
      ++part.damaged;
    }
  }
  return part;
}

}  // namespace cairn
