// The Redis store on a server that lies, hangs, and talks nonsense.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cairn/base/env.h"
#include "cairn/base/tcp_server_for_tests.h"
#include "cairn/state/numbered_objects_for_tests.h"
#include "cairn/state/redis_connection.h"
#include "cairn/state/redis_mirror.h"
#include "cairn/state/redis_store.h"

namespace cairn {
namespace {

std::string Bulk(std::string_view text) { return fmt::format("${}\r\n{}\r\n", text.size(), text); }

// What a server does with an honest reply: sends it, something else, or nothing at all.
struct Answer {
  std::string bytes;
  enum class Then { kGoOn, kClose, kHang } then = Then::kGoOn;
};
using Lie = std::function<Answer(const std::string& honest)>;

// The few commands that the store uses, done right, and what becomes of the replies.
class LyingRedis {
 public:
  uint16_t port() const { return server_.port(); }
  // Null: honest.
  void Set(Lie lie) {
    const std::lock_guard lock(mutex_);
    lie_ = std::move(lie);
  }
  // GETRANGE answers from any value, whichever was asked for.
  void MixUp(bool on) {
    const std::lock_guard lock(mutex_);
    mixes_up_ = on;
  }

 private:
  void Serve(const TcpClientOfTest& client) {
    RedisReader requests;
    std::vector<std::string> transaction;
    bool in_transaction = false;
    while (true) {
      auto request = requests.Next();
      if (!request) return;
      if (!*request) {
        const std::string bytes = client.Receive();
        if (bytes.empty()) return;
        requests.Feed(std::as_bytes(std::span(bytes)));
        continue;
      }
      std::vector<std::string> arguments;
      for (RedisReply& item : (*request)->items) arguments.push_back(std::move(item.text));
      Answer answer;
      {
        const std::lock_guard lock(mutex_);
        if (arguments[0] == "MULTI") {
          in_transaction = true;
          answer.bytes = "+OK\r\n";
        } else if (arguments[0] == "EXEC") {
          in_transaction = false;
          answer.bytes = fmt::format("*{}\r\n", transaction.size());
          for (const std::string& reply : transaction) answer.bytes += reply;
          transaction.clear();
        } else if (in_transaction) {
          transaction.push_back(Do(arguments));
          answer.bytes = "+QUEUED\r\n";
        } else {
          answer.bytes = Do(arguments);
        }
        if (lie_) answer = lie_(answer.bytes);
      }
      if (!client.Send(answer.bytes) || answer.then == Answer::Then::kClose) return;
      if (answer.then == Answer::Then::kHang) return client.Hang();
    }
  }

  std::string Do(const std::vector<std::string>& a) {
    if (a[0] == "SET") values_[a[1]] = a[2];
    if (a[0] == "PING" || a[0] == "SET" || a[0] == "WATCH" || a[0] == "UNWATCH") return "+OK\r\n";
    if (a[0] == "DEL") return fmt::format(":{}\r\n", values_.erase(a[1]));
    if (a[0] == "EXISTS") return fmt::format(":{}\r\n", values_.count(a[1]));
    if (a[0] == "GETRANGE") {
      auto found = values_.find(a[1]);
      if (mixes_up_) found = values_.begin();
      const std::string value = found == values_.end() ? "" : found->second;
      const size_t begin = std::min<size_t>(std::stoull(a[2]), value.size());
      return Bulk(std::string_view(value).substr(begin, std::stoull(a[3]) - begin + 1));
    }
    if (a[0] == "XADD") {
      index_.emplace_back(StreamId{1, index_.size() + 1}, a.back());
      return Bulk(index_.back().first.Text());
    }
    const auto entry = [](const auto& e) {
      return fmt::format("*2\r\n{}*2\r\n{}{}", Bulk(e.first.Text()), Bulk("e"), Bulk(e.second));
    };
    if (a[0] == "XREVRANGE") return index_.empty() ? "*0\r\n" : "*1\r\n" + entry(index_.back());
    if (a[0] == "XREAD") {
      const StreamId after = *StreamId::Parse(a.back());
      std::string entries;
      size_t count = 0;
      for (const auto& e : index_) {
        if (e.first <= after || count == std::stoull(a[2])) continue;
        ++count;
        entries += entry(e);
      }
      if (count == 0) return "*-1\r\n";
      return fmt::format("*1\r\n*2\r\n{}*{}\r\n{}", Bulk("cairn:index"), count, entries);
    }
    return "-ERR unknown command\r\n";
  }

  std::mutex mutex_;
  std::map<std::string, std::string> values_;
  std::vector<std::pair<StreamId, std::string>> index_;
  Lie lie_;
  bool mixes_up_ = false;
  TcpServer server_{[this](const TcpClientOfTest& client) { Serve(client); }};  // last
};

struct NamedLie {
  const char* name;
  Lie lie;
};

std::string Repeated(std::string_view text, int times) {
  std::string repeated;
  for (int i = 0; i < times; ++i) repeated += text;
  return repeated;
}

std::vector<NamedLie> Lies() {
  using Then = Answer::Then;
  const auto always = [](std::string bytes, Then then = Then::kGoOn) {
    return [bytes = std::move(bytes), then](const std::string&) { return Answer{bytes, then}; };
  };
  return {
      {"closes", always("", Then::kClose)},
      {"hangs", always("", Then::kHang)},
      {"speaks HTTP", always("HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n")},
      {"random bytes", always(Repeated("\x93\xfe\x00\x01\r\n$*", 100))},
      {"nil", always("$-1\r\n")},
      {"an empty array", always("*0\r\n")},
      {"an array of wrong things", always("*2\r\n:1\r\n*1\r\n$-1\r\n")},
      {"a number", always(":9223372036854775807\r\n")},
      {"OK", always("+OK\r\n")},
      {"an error", always("-ERR made up\r\n")},
      {"a long error", always("-ERR " + std::string(100'000, 'x') + "\r\n")},
      {"a huge text that does not come", always("$536870912\r\nabc", Then::kHang)},
      {"a huge array", always("*1000000000\r\n", Then::kHang)},
      {"a deep array", always(Repeated("*1\r\n", 10'000), Then::kHang)},
      {"a line without end", always(std::string(20 << 20, 'x'))},
      {"an empty text", always("$0\r\n\r\n")},
      {"the first half",
       [](const std::string& honest) {
         return Answer{honest.substr(0, honest.size() / 2), Then::kClose};
       }},
      {"the first half, then nothing",
       [](const std::string& honest) {
         return Answer{honest.substr(0, honest.size() / 2), Then::kHang};
       }},
      {"everything twice", [](const std::string& honest) { return Answer{honest + honest}; }},
      {"a flipped bit in the middle",
       [](const std::string& honest) {
         std::string bytes = honest;
         bytes[bytes.size() / 2] = static_cast<char>(bytes[bytes.size() / 2] ^ 4);
         return Answer{bytes};
       }},
      {"a shorter text",
       [](const std::string& honest) {
         const bool is_text = honest.starts_with("$") && honest.size() > 200;
         return Answer{is_text ? Bulk(honest.substr(7, honest.size() / 2)) : honest};
       }},
  };
}

// A server that is honest gets time, also from a busy machine; one that hangs costs all of it.
constexpr int64_t kPatientUs = 20'000'000;
constexpr int64_t kImpatientUs = 60'000;

RedisStoreOptions OptionsFor(const LyingRedis& server, int64_t timeout_us) {
  RedisStoreOptions options{.url = fmt::format("redis://127.0.0.1:{}", server.port())};
  options.connect_timeout_us = timeout_us;
  options.command_timeout_us = timeout_us;
  options.poll_interval_us = 3'000;
  options.backoff_us = 1'000;
  options.backoff_max_us = 4'000;
  options.objects_max = 200;
  return options;
}

std::vector<std::byte> BytesOf(uint64_t number) {
  return NumberedPayload(number, number % 4 == 0 ? 1'500'000 : 100 + number);
}

// Some requests of each kind. Wrong bytes are wrong whatever the server did.
void AskForThings(StoreInTest& tier, std::mt19937_64& random, int count) {
  for (int i = 0; i < count; ++i) {
    const uint64_t number = random() % 8;
    const std::vector<std::byte> bytes = BytesOf(number);
    std::vector<std::byte> got(bytes.size());
    switch (random() % 5) {
      case 0:
        tier.Erase(number);
        break;
      case 1:
      case 2:
        tier.Put(number, bytes);
        break;
      default:
        if (tier.Get(number, got) == ObjectOutcome::kDone) REQUIRE(got == bytes);
    }
    tier.store().Arrivals();
  }
  tier.store().Audit();
}

bool PutAtLast(StoreInTest& tier, uint64_t number) {
  const int64_t deadline_us = NowMicroseconds() + 20'000'000;
  while (tier.Put(number, BytesOf(number)) != ObjectOutcome::kDone) {
    if (NowMicroseconds() > deadline_us) return false;
  }
  return true;
}

bool RecoversFrom(StoreInTest& tier) {
  const int64_t deadline_us = NowMicroseconds() + 20'000'000;
  // A lie about ids may have left marks on old keys; a new one must work.
  for (uint64_t number = 1000; NowMicroseconds() < deadline_us; ++number) {
    const std::vector<std::byte> bytes = NumberedPayload(number, 5000);
    if (tier.Put(number, bytes) == ObjectOutcome::kDone && tier.Has(number, bytes)) return true;
  }
  return false;
}

TEST_CASE("the server of these tests is one that the store gets on with") {
  LyingRedis server;
  StoreInTest tier(OpenRedisStore(OptionsFor(server, kPatientUs)));
  for (uint64_t number = 0; number < 8; ++number) {
    CHECK(tier.Put(number, BytesOf(number)) == ObjectOutcome::kDone);
    CHECK(tier.Has(number, BytesOf(number)));
  }
  CHECK(tier.Erase(3) == ObjectOutcome::kDone);
  StoreInTest other(OpenRedisStore(OptionsFor(server, kPatientUs)));
  const int64_t deadline_us = NowMicroseconds() + 10'000'000;
  while (other.store().Stats().objects < 7 && NowMicroseconds() < deadline_us) other.Erase(99);
  CHECK(other.Has(4, BytesOf(4)));
  CHECK_FALSE(other.Has(3, BytesOf(3)));
}

TEST_CASE("whatever a server answers, requests end, no wrong byte is returned, and it recovers") {
  for (const NamedLie& lie : Lies()) {
    CAPTURE(lie.name);
    LyingRedis server;
    StoreInTest tier(OpenRedisStore(OptionsFor(server, kImpatientUs)));
    std::mt19937_64 random(1);
    for (uint64_t number = 0; number < 8; ++number) REQUIRE(PutAtLast(tier, number));
    server.Set(lie.lie);
    AskForThings(tier, random, 12);
    server.Set(nullptr);
    CHECK(RecoversFrom(tier));
    tier.store().Audit();
  }
}

TEST_CASE("a store that opens on a lying server ends the wait with an error or what it proved") {
  for (const NamedLie& lie : Lies()) {
    CAPTURE(lie.name);
    LyingRedis server;
    server.Set(lie.lie);
    auto options = OptionsFor(server, kImpatientUs);
    options.start = RedisStoreOptions::Start::kConnected;
    const int64_t begin_us = NowMicroseconds();
    const auto opened = OpenRedisStore(options);
    if (opened) CHECK((*opened)->List().empty());
    if (!opened) CHECK(opened.error().message.find('\n') == std::string::npos);
    CHECK(NowMicroseconds() - begin_us < 10'000'000);
  }
}

TEST_CASE("another key's value is never returned") {
  LyingRedis server;
  StoreInTest tier(OpenRedisStore(OptionsFor(server, kPatientUs)));
  const auto bytes = [](uint64_t number) { return NumberedPayload(number, 1000); };
  for (uint64_t number = 0; number < 8; ++number) {
    REQUIRE(tier.Put(number, bytes(number)) == ObjectOutcome::kDone);
  }
  server.MixUp(true);
  int found = 0;
  for (uint64_t number = 0; number < 8; ++number) {
    std::vector<std::byte> got(1000);
    if (tier.Get(number, got) != ObjectOutcome::kDone) continue;
    ++found;
    CHECK(got == bytes(number));
  }
  CHECK(found <= 1);
  CHECK(tier.store().Stats().damaged >= 7);
}

TEST_CASE("lies at random, from a printed seed") {
  const uint64_t seed = RandomSeed();
  CAPTURE(seed);
  const std::vector<NamedLie> lies = Lies();
  for (int round = 0; round < 8; ++round) {
    CAPTURE(round);
    std::mt19937_64 random(seed + static_cast<uint64_t>(round));
    LyingRedis server;
    StoreInTest tier(OpenRedisStore(OptionsFor(server, kImpatientUs)));
    std::mt19937_64 dice(random());
    server.Set([&](const std::string& honest) {  // under the server's mutex
      if (dice() % 16 != 0) return Answer{honest};
      return lies[dice() % lies.size()].lie(honest);
    });
    AskForThings(tier, random, 60);
    server.Set(nullptr);
    CHECK(RecoversFrom(tier));
    tier.store().Audit();
  }
}

}  // namespace
}  // namespace cairn
