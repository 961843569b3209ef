// Random requests of two stores on one real server, which forgets, evicts and dies, against a naive
// map. Jobs run one by one when the model says so: it knows at every moment what the server holds.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "cairn/base/env.h"
#include "cairn/base/executor_for_tests.h"
#include "cairn/state/numbered_objects_for_tests.h"
#include "cairn/state/redis_server_for_tests.h"
#include "cairn/state/redis_store.h"

namespace cairn {
namespace {

constexpr uint64_t kKeys = 40;

std::vector<std::byte> BytesOf(uint64_t key) {
  // A few have more than one chunk.
  return NumberedPayload(key, key % 8 == 0 ? 1'100'000 : 1 + key * 500);
}

struct Scenario {
  const char* name;
  bool forgets;  // it is flushed, loses objects, and closes connections
  bool dies;     // it is killed, and starts again empty
  bool evicts;   // it has little memory
};

class Model {
 public:
  Model(const Scenario& scenario, uint64_t seed) : scenario_(scenario), random_(seed) {
    std::vector<std::string> options;
    if (scenario.evicts) options = {"--maxmemory", "6mb", "--maxmemory-policy", "allkeys-random"};
    server_ = std::make_unique<RedisServer>(options);
    for (uint64_t key = 0; key < kKeys; ++key) contents_.push_back(BytesOf(key));
    for (Client& client : clients_) Reopen(client);
  }
  ~Model() {
    for (Client& client : clients_) client.executor.DropAll();
  }

  void Step() {
    Client& client = clients_[random_() % clients_.size()];
    const uint64_t dice = random_() % 1000;
    if (dice < 200) {
      Put(client, random_() % kKeys);
    } else if (dice < 400) {
      Get(client, random_() % kKeys);
    } else if (dice < 440) {
      Erase(client, random_() % kKeys);
    } else if (dice < 970) {
      client.executor.RunOne(random_);
    } else if (dice < 975) {
      client.executor.RunAll(random_);
    } else if (dice < 978) {
      CloseAndReopen(client);
    } else if (dice < 985 && scenario_.forgets && is_up_) {
      Forget();
    } else if (dice < 987 && scenario_.dies) {
      Die();
    }
    for (Client& each : clients_) Collect(each);
    if (random_() % 16 == 0) client.store->Audit();
  }

  // With everything done and heard of, both stores know exactly what the server has.
  void CheckAll() {
    if (!is_up_) Die();
    std::this_thread::sleep_for(std::chrono::milliseconds(3));  // longer than any pause
    for (int round = 0; round < 8; ++round) {
      for (Client& client : clients_) {
        client.executor.RunAll(random_);
        Collect(client);
      }
    }
    std::set<ObjectKey> there;
    for (uint64_t key = 0; key < kKeys; ++key) {
      const bool exists = Exists(key);
      if (exists) there.insert(NumberedKey(key));
      if (fates_[key] == Fate::kPresent) REQUIRE((exists || scenario_.evicts));
      if (fates_[key] == Fate::kAbsent) REQUIRE_FALSE(exists);
    }
    for (Client& client : clients_) {
      std::set<ObjectKey> known;
      for (const ObjectInfo& info : client.store->List()) known.insert(info.key);
      // A server that evicts may have taken the index.
      if (!scenario_.evicts) REQUIRE(known == there);
      REQUIRE(std::ranges::includes(there, known));
      REQUIRE(client.store->Stats().damaged == 0);
      for (uint64_t key = 0; key < kKeys; ++key) Get(client, key);
      client.executor.RunAll(random_);
      Collect(client);
      REQUIRE(client.requests.empty());
    }
  }

  int64_t found() const { return found_; }
  int64_t failed() const { return failed_; }
  int64_t arrivals() const { return arrivals_; }

 private:
  enum class Fate { kAbsent, kPresent, kUnknown };
  struct Request {
    enum class Kind { kPut, kGet, kErase } kind;
    uint64_t key;
    std::vector<std::byte> memory{};
  };
  struct Client {
    ManualExecutor executor;
    std::unique_ptr<ObjectStore> store;
    std::map<RequestId, Request> requests;
    std::map<uint64_t, int> erasing;
    std::set<uint64_t> own;  // put by it, and acknowledged
  };

  void Reopen(Client& client) {
    RedisStoreOptions options{.url = server_->url()};
    options.executor = &client.executor;
    options.poll_interval_us = 1;
    options.backoff_us = 1;
    options.backoff_max_us = 2'000;
    options.connect_timeout_us = options.command_timeout_us = 10'000'000;
    auto store = OpenRedisStore(options);
    REQUIRE(store);
    client.store = *std::move(store);
    client.own.clear();
  }
  void CloseAndReopen(Client& client) {
    if (random_() % 2 == 0) client.executor.RunAll(random_);
    Collect(client);
    client.executor.DropAll();  // what was on its way never happens
    client.store.reset();
    client.requests.clear();
    client.erasing.clear();
    Reopen(client);
  }

  void Put(Client& client, uint64_t key) {
    const std::span<const std::byte> all(contents_[key]);
    const auto id = client.store->Put(NumberedKey(key), {key}, std::span(&all, 1));
    REQUIRE(id);
    client.requests.emplace(*id, Request{Request::Kind::kPut, key});
  }
  void Erase(Client& client, uint64_t key) {
    const auto id = client.store->Erase(NumberedKey(key));
    REQUIRE(id);
    REQUIRE_FALSE(client.store->Contains(NumberedKey(key)));
    client.requests.emplace(*id, Request{Request::Kind::kErase, key});
    ++client.erasing[key];
  }
  void Get(Client& client, uint64_t key) {
    // What it put itself, and nobody touched since, it must know.
    if (fates_[key] == Fate::kPresent && client.own.contains(key) && client.erasing[key] == 0 &&
        !scenario_.evicts) {
      REQUIRE(client.store->Contains(NumberedKey(key)));
    }
    Request request{Request::Kind::kGet, key, std::vector<std::byte>(contents_[key].size())};
    const std::span<std::byte> to(request.memory);  // a vector's bytes stay where they are
    const auto id = client.store->Get(NumberedKey(key), std::span(&to, 1));
    REQUIRE(id);
    client.requests.emplace(*id, std::move(request));
  }

  void Collect(Client& client) {
    for (const ObjectCompletion& completion : client.store->Poll()) {
      const auto found = client.requests.find(completion.request);
      REQUIRE(found != client.requests.end());
      Judge(client, found->second, completion);
      client.requests.erase(found);
    }
    for (const ObjectInfo& info : client.store->Arrivals()) {
      ++arrivals_;
      REQUIRE(info.key == NumberedKey(info.metadata[0]));
      REQUIRE(info.size == Bytes(static_cast<int64_t>(contents_[info.metadata[0]].size())));
    }
  }

  void Judge(Client& client, const Request& request, const ObjectCompletion& completion) {
    const uint64_t key = request.key;
    const bool done = completion.outcome == ObjectOutcome::kDone;
    REQUIRE(completion.outcome != ObjectOutcome::kDamaged);
    if (completion.outcome == ObjectOutcome::kFailed) {
      ++failed_;
      const bool full = scenario_.evicts && completion.problem.find("OOM") != std::string::npos;
      REQUIRE_MESSAGE((scenario_.dies || full), completion.problem);
    }
    if (request.kind == Request::Kind::kGet) {
      if (!done) return;  // why it should be there, Get and CheckAll know
      ++found_;
      REQUIRE(request.memory == contents_[key]);
      REQUIRE(fates_[key] != Fate::kAbsent);
      return;
    }
    const bool is_put = request.kind == Request::Kind::kPut;
    if (!is_put) --client.erasing[key];
    // A request that fails on a dead server was not done; else nobody knows.
    if (!done && is_up_) fates_[key] = Fate::kUnknown;
    if (!done) return;
    fates_[key] = is_put ? Fate::kPresent : Fate::kAbsent;
    for (Client& each : clients_) each.own.erase(key);
    if (is_put) client.own.insert(key);
  }

  bool Exists(uint64_t key) { return server_->Command({"EXISTS", NameOf(key)}).integer == 1; }
  static std::string NameOf(uint64_t key) {
    std::string name = "cairn:o:";
    for (const std::byte byte : NumberedKey(key).bytes) {
      name += fmt::format("{:02x}", static_cast<unsigned>(byte));
    }
    return name;
  }

  void Forget() {
    const uint64_t dice = random_() % 8;
    if (dice == 0) {
      server_->Command({"FLUSHALL"});
      fates_.fill(Fate::kAbsent);
    } else if (dice < 3) {
      server_->Command({"CLIENT", "KILL", "TYPE", "normal"});
    } else {
      const uint64_t key = random_() % kKeys;
      server_->Command({"DEL", NameOf(key)});
      fates_[key] = Fate::kAbsent;
    }
  }
  // Or lives again.
  void Die() {
    if (is_up_) {
      server_->Kill();
      fates_.fill(Fate::kAbsent);
    } else {
      server_->Start();
    }
    is_up_ = !is_up_;
  }

  Scenario scenario_;
  std::mt19937_64 random_;
  std::unique_ptr<RedisServer> server_;
  bool is_up_ = true;
  std::vector<std::vector<std::byte>> contents_;
  std::array<Client, 2> clients_;
  std::array<Fate, kKeys> fates_{};
  int64_t found_ = 0;
  int64_t failed_ = 0;
  int64_t arrivals_ = 0;
};

constexpr Scenario kScenarios[] = {
    {"nothing goes wrong", false, false, false},
    {"the server forgets", true, false, false},
    {"the server dies", false, true, false},
    {"the server evicts", false, false, true},
    {"everything", true, true, true},
};

TEST_CASE("two stores on one server read only what was put, and know what is there in the end") {
  if (!RedisServer::IsInstalled()) {
    MESSAGE("left out: there is no redis-server");
    return;
  }
  const uint64_t seed = RandomSeed();
  for (const Scenario& scenario : kScenarios) {
    constexpr int kSteps = 4'000;
    const std::string name = scenario.name;
    CAPTURE(name);
    CAPTURE(seed);
    Model model(scenario, seed);
    for (int i = 0; i < kSteps; ++i) model.Step();
    model.CheckAll();
    CHECK(model.found() > kSteps / 80);
    CHECK(model.arrivals() > 10);
    CHECK((model.failed() > 0) >= scenario.dies);
  }
}

}  // namespace
}  // namespace cairn
