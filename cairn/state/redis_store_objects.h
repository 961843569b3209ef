// RedisObjects: objects on a server of the Redis protocol, one call after another, each of which
// waits for the server. RedisStore makes them in the background.
//
// On the server (docs/state_format.md): PREFIXo:KEY holds an object with its header, PREFIXindex is
// a stream with an entry for each put and erasure, written in one transaction with it. Connects
// when it must; a call that finds the connection closed by the server tries once more on a new one,
// since all calls here may be repeated. No call takes longer than connect_timeout and
// command_timeout together, and a second for each MiB that it moves; twice that where it tries
// again. Errors: kIo, the server can't be reached, is silent or talks nonsense; kExhausted, it
// refuses, in its own words. Used by one thread at a time.
#ifndef CAIRN_STATE_REDIS_STORE_OBJECTS_H_
#define CAIRN_STATE_REDIS_STORE_OBJECTS_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "cairn/base/status.h"
#include "cairn/state/object_format.h"
#include "cairn/state/object_store.h"
#include "cairn/state/redis_connection.h"
#include "cairn/state/redis_mirror.h"
#include "cairn/state/redis_store_value.h"
#include "cairn/state/redis_url.h"

namespace cairn {

class RedisObjects {
 public:
  struct Options {
    RedisUrl url;
    std::string prefix;
    int64_t connect_timeout_us = 0;
    int64_t command_timeout_us = 0;
    int64_t seconds_to_live = 0;  // 0: for ever
    size_t index_entries_max = 0;
    uint64_t source = 0;  // of its index entries
  };
  using Sources = std::span<const std::span<const std::byte>>;
  using Targets = std::span<const std::span<std::byte>>;

  struct Reading {
    ObjectOutcome outcome = ObjectOutcome::kDone;  // all but kFailed
    std::string problem{};                         // of kDamaged
  };
  struct IndexPart {
    std::vector<RedisMirror::Event> events;  // ids ascend
    int64_t damaged = 0;                     // entries that were none
    StreamId last;                           // what was read up to
    bool whole = true;                       // nothing more was there
    bool began_anew = false;                 // it is not the index that `after` was an entry of
  };

  explicit RedisObjects(const Options& options) : options_(options) {}

  // The id of its index entry.
  Result<StreamId> Put(const ObjectKey& key, const ObjectMetadata& metadata, Sources pieces);
  Result<StreamId> Erase(const ObjectKey& key);
  // Whether it is there; its time to live begins again.
  Result<bool> Touch(const ObjectKey& key);
  // Each of them, whether it is there; no use that keeps it from eviction.
  Result<std::vector<bool>> Exist(std::span<const ObjectKey> keys);
  // The pieces together are as long as the object. What is damaged is removed from the server if it
  // is an object of this version and still the same after a second look.
  Result<Reading> Get(const ObjectKey& key, Targets pieces);
  // Entries behind `after`, at most `most`.
  Result<IndexPart> ReadIndex(StreamId after, size_t most);

 private:
  std::string NameOf(const ObjectKey& key) const;
  std::string IndexName() const { return options_.prefix + "index"; }

  // Runs `call(connection)`, again on a new connection if this one ended meanwhile.
  template <class Call>
  std::invoke_result_t<Call, RedisConnection&> Try(uint64_t bytes, const Call& call);
  // Sends the commands; as many replies.
  Result<std::vector<RedisReply>> Exchange(RedisConnection& connection,
                                           const RedisCommands& commands);
  std::unexpected<Error> Nonsense(const char* command) const;

  void AddIndexEntry(RedisCommands& commands, const IndexEntry& entry) const;
  // The replies of MULTI, a change, an index entry, EXEC.
  Result<StreamId> ChangeOf(std::span<const RedisReply> replies) const;
  Result<RedisValueReader::Judgement> ReadValue(RedisConnection& connection, const ObjectKey& key,
                                                Targets pieces);
  Result<Reading> LookAgain(RedisConnection& connection, const ObjectKey& key, Targets pieces);
  Result<IndexPart> ParseIndex(const RedisReply& entries, const RedisReply& last, StreamId after,
                               size_t most) const;

  Options options_;
  std::optional<RedisConnection> connection_;
  int64_t deadline_us_ = 0;  // of the call that is running
};

}  // namespace cairn

#endif  // CAIRN_STATE_REDIS_STORE_OBJECTS_H_
