// What bench/state measures in process: the real store, tree and policies, without a model.
//
//   state_worker replay FILE BLOCK CAPACITY POLICY   a trace under virtual time
//   state_worker micro                               what the tree's calls cost
//   state_worker memory                              bytes of forks, and of many requests at once
//   state_worker soak SEED OPERATIONS                random operations against what tokens say
//   state_worker soak-tiers SEED OPERATIONS          the same with a manager over failing disks
//   state_worker hot-path FOLDER                     a step's calls while a disk there is written
//   to state_worker disk write|read FOLDER OBJECTS BYTES   how fast a disk store is in a folder
//
// FILE is a list of requests as bench/state writes it: f64 time in seconds, i32 tokens of the
// answer, i32 its TurnEnd, i32 runs, then i32 first block and i32 blocks for each run; BLOCK tokens
// make a block, CAPACITY tokens fit. Prints JSON.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "bench/state_disk.h"
#include "bench/state_tiers.h"
#include "cairn/base/check.h"
#include "cairn/state/prefix_tree.h"
#include "cairn/state/prefix_tree_model_for_tests.h"

namespace cairn {
namespace {

int64_t NowNs() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

TokenCount SizeOf(const Tokens& tokens) { return TokenCount(static_cast<int64_t>(tokens.size())); }

// Two bytes a token: the cheapest state there is.
constexpr int64_t kTokenBytes = 2;

std::unique_ptr<StateStore> MakeStore(int64_t capacity_tokens) {
  Rows rows;
  rows.name = "keys";
  rows.width = 1;
  auto layout = StateLayout::Make({.layers = {{{rows}}}});
  CAIRN_CHECK(layout.has_value());
  auto store =
      StateStore::Make(*std::move(layout), {.budget = Bytes(capacity_tokens * kTokenBytes)});
  CAIRN_CHECK(store.has_value());
  return *std::move(store);
}

struct Served {
  TokenCount found;
  bool refused = false;
};

// A request from its start to its end, at one instant.
Served Serve(StateStore& store, PrefixTree& tree, const Tokens& tokens, int64_t now_us,
             const Turn& turn = {}) {
  PrefixTree::Lock lock;
  const auto resumed = tree.Resume({}, tokens, SizeOf(tokens), now_us, lock);
  if (!resumed) return {.found = {}, .refused = true};
  const TokenCount added = SizeOf(tokens) - resumed->tokens;
  tree.MakeRoom(store.BytesToPrepare(resumed->id, added));
  const bool fits = store.Prepare(resumed->id, added).has_value();
  if (fits) {
    store.Commit(resumed->id, added);
    tree.Keep({}, tokens, resumed->id, now_us, lock, turn);
  }
  store.Release(resumed->id);
  tree.Unlock(lock);
  return {.found = resumed->tokens, .refused = !fits};
}

template <class T>
T Read(std::istream& in) {
  T value{};
  in.read(reinterpret_cast<char*>(&value), sizeof value);
  return value;
}

int Replay(const char* path, int32_t block, int64_t capacity, const char* policy) {
  const auto store = MakeStore(capacity);
  auto made = MakeEvictionPolicy(policy);
  if (!made) {
    std::fprintf(stderr, "%s\n", made.error().message.c_str());
    return 2;
  }
  PrefixTree tree(*store, *std::move(made));
  std::ifstream in(path, std::ios::binary);
  int64_t requests = 0;
  int64_t asked = 0;
  int64_t found = 0;
  int64_t refused = 0;
  Tokens tokens;
  const int64_t start_ns = NowNs();
  while (true) {
    const auto time_s = Read<double>(in);
    Turn turn;
    turn.answer = TokenCount(Read<int32_t>(in));
    turn.end = static_cast<TurnEnd>(Read<int32_t>(in));
    const auto runs = Read<int32_t>(in);
    if (!in) break;
    tokens.clear();
    for (int32_t run = 0; run < runs; ++run) {
      const int32_t first = Read<int32_t>(in) * block;
      const int32_t count = Read<int32_t>(in) * block;
      const size_t before = tokens.size();
      tokens.resize(before + static_cast<size_t>(count));
      for (int32_t i = 0; i < count; ++i)
        tokens[before + static_cast<size_t>(i)] = TokenId(first + i);
    }
    const Served served = Serve(*store, tree, tokens, static_cast<int64_t>(time_s * 1e6), turn);
    ++requests;
    asked += SizeOf(tokens).value();
    found += served.found.value();
    refused += served.refused ? 1 : 0;
  }
  std::printf(
      "{\"requests\": %ld, \"tokens\": %ld, \"hit_rate\": %.5f, \"refused\": %ld, \"nodes\": %ld, "
      "\"evictions\": %ld, \"seconds\": %.2f}\n",
      requests, asked,
      static_cast<double>(found) / static_cast<double>(std::max(asked, int64_t{1})), refused,
      tree.stats().nodes, tree.stats().evictions, static_cast<double>(NowNs() - start_ns) * 1e-9);
  return 0;
}

Tokens Numbers(int64_t count, int32_t from) {
  Tokens tokens;
  for (int64_t i = 0; i < count; ++i) tokens.emplace_back(from + static_cast<int32_t>(i));
  return tokens;
}

// Median time of a call, in nanoseconds; `prepare` isn't counted.
template <class Prepare, class Call>
double MedianNs(int rounds, Prepare prepare, Call call) {
  std::vector<double> times;
  for (int round = 0; round < rounds; ++round) {
    prepare(round);
    const int64_t start = NowNs();
    call(round);
    times.push_back(static_cast<double>(NowNs() - start));
  }
  std::ranges::nth_element(times, times.begin() + rounds / 2);
  return times[static_cast<size_t>(rounds / 2)];
}

// A path of turns, as an agent's is, among others that begin alike; returns the path.
Tokens Fill(StateStore& store, PrefixTree& tree, int64_t length) {
  Tokens conversation;
  for (int64_t turn = 1; turn <= 50; ++turn) {
    conversation = Numbers(turn * length / 50, 0);
    Serve(store, tree, conversation, turn);
  }
  for (int32_t other = 0; other < 1000; ++other) {
    Tokens tokens = Numbers(2000, 0);
    for (size_t i = 1000; i < tokens.size(); ++i) tokens[i] = TokenId(1'000'000 + other * 2000);
    Serve(store, tree, tokens, 100 + other);
  }
  return conversation;
}

int Micro() {
  constexpr int64_t kLong = 100'000;
  constexpr int kRounds = 101;
  const auto store = MakeStore(int64_t{1} << 26);
  PrefixTree tree(*store, *MakeEvictionPolicy(kDefaultEvictionPolicy));
  const Tokens conversation = Fill(*store, tree, kLong);
  const auto nothing = [](int) {};
  const double match_ns = MedianNs(kRounds, nothing, [&](int) {
    CAIRN_CHECK(tree.Match({}, conversation, TokenCount(kLong)) == TokenCount(kLong));
  });

  PrefixTree::Lock lock;
  SequenceId id;
  const auto release = [&](int) {
    if (!lock.held()) return;
    store->Release(id);
    tree.Unlock(lock);
  };
  const double resume_ns = MedianNs(kRounds, release, [&](int round) {
    const auto resumed = tree.Resume({}, conversation, TokenCount(kLong - 1), 2000 + round, lock);
    CAIRN_CHECK(resumed.has_value());
    id = resumed->id;
  });
  const double unlock_ns = MedianNs(
      kRounds,
      [&](int round) {
        release(round);
        id = tree.Resume({}, conversation, TokenCount(kLong - 1), 3000 + round, lock)->id;
        store->Release(id);
        id = *store->Create();
      },
      [&](int) { tree.Unlock(lock); });

  // A new prompt of many blocks: kept, then evicted as a whole.
  constexpr int64_t kPrompt = 16'000;
  Tokens prompt;
  double evict_ns = 0;
  const double keep_ns = MedianNs(
      kRounds,
      [&](int round) {
        release(round);
        prompt = Numbers(kPrompt, 50'000'000 + round * 20'000);
        id = *store->Create();
        CAIRN_CHECK(store->Prepare(id, TokenCount(kPrompt)).has_value());
        store->Commit(id, TokenCount(kPrompt));
      },
      [&](int round) { tree.Keep({}, prompt, id, 4000 + round, lock); });
  release(0);
  const auto before = static_cast<double>(tree.stats().evicted_tokens);
  const int64_t start = NowNs();
  tree.MakeRoom(store->stats().budget);
  evict_ns = static_cast<double>(NowNs() - start);
  const double evicted = static_cast<double>(tree.stats().evicted_tokens) - before;

  std::printf(
      "{\"match_100k_us\": %.2f, \"resume_100k_us\": %.2f, \"unlock_100k_us\": %.2f, "
      "\"lock_us_per_block\": %.4f, \"keep_us_per_block\": %.4f, \"evict_us_per_block\": %.4f}\n",
      match_ns / 1e3, resume_ns / 1e3, unlock_ns / 1e3,
      (resume_ns + unlock_ns) / 1e3 / (static_cast<double>(kLong) / kRowsPerBlock),
      keep_ns / 1e3 / (static_cast<double>(kPrompt) / kRowsPerBlock),
      evict_ns / 1e3 / (evicted / kRowsPerBlock));
  return 0;
}

SequenceId ReadSome(StateStore& store, int64_t tokens) {
  const SequenceId id = *store.Create();
  CAIRN_CHECK(store.Prepare(id, TokenCount(tokens)).has_value());
  store.Commit(id, TokenCount(tokens));
  return id;
}

// State of a model with windowed layers among full ones, as Gemma 3's is.
std::unique_ptr<StateStore> MakeLayeredStore() {
  StateSpec spec;
  for (int layer = 0; layer < 18; ++layer) {
    Rows keys;
    keys.name = "keys";
    keys.width = 256;
    if (layer % 6 != 5) keys.lifetime = Lifetime::Window(TokenCount(512));
    Rows values = keys;
    values.name = "values";
    spec.layers.push_back({{keys, values}});
  }
  auto layout = StateLayout::Make(std::move(spec));
  CAIRN_CHECK(layout.has_value());
  auto store = StateStore::Make(*std::move(layout), {.budget = Bytes(int64_t{1} << 34)});
  CAIRN_CHECK(store.has_value());
  return *std::move(store);
}

int Memory() {
  const auto store = MakeLayeredStore();
  constexpr int64_t kContext = 4096;
  constexpr int64_t kOwn = 64;
  const SequenceId context = ReadSome(*store, kContext);
  const auto one = static_cast<double>(store->LiveBytes().value());
  std::vector<SequenceId> forks;
  for (int i = 0; i < 32; ++i) forks.push_back(*store->Fork(context));
  const auto forked = static_cast<double>(store->LiveBytes().value());
  for (const SequenceId fork : forks) {
    CAIRN_CHECK(store->Prepare(fork, TokenCount(kOwn)).has_value());
    store->Commit(fork, TokenCount(kOwn));
  }
  // Rows of their own tokens, those in windows with them.
  double own = 0;
  for (const BlockClass& c : store->layout().classes()) {
    own += static_cast<double>(c.row_bytes.value()) * 32 * kOwn;
  }
  const auto grown = static_cast<double>(store->LiveBytes().value());
  for (const SequenceId fork : forks) store->Release(fork);
  store->Release(context);

  uint64_t random = 1;
  int64_t content = 0;
  for (int i = 0; i < 100; ++i) {
    random = random * 6364136223846793005u + 1442695040888963407u;
    const int64_t tokens = 20 + static_cast<int64_t>((random >> 33) % 6000);
    ReadSome(*store, tokens);
    content += store->layout().ContentBytes(TokenCount(tokens)).value();
  }
  const auto live = static_cast<double>(store->LiveBytes().value());
  std::printf("{\"forks_ratio\": %.5f, \"forks_grown_ratio\": %.5f, \"waste\": %.5f}\n",
              forked / one, (grown - own) / one, 1 - static_cast<double>(content) / live);
  return 0;
}

// Ends in a failed CHECK if a byte, a reference or a count is wrong.
int Soak(uint64_t seed, int64_t operations) {
  constexpr int kEach = 200;
  int64_t resumed = 0;
  int64_t evictions = 0;
  const std::span<const std::string_view> policies = EvictionPolicyNames();
  for (int64_t done = 0; done < operations; done += kEach, ++seed) {
    RandomChoice choose(seed);
    const auto model = RandomPrefixTreeModel(choose, policies[seed % policies.size()]);
    for (int i = 0; i < kEach; ++i) {
      model->Operate(choose);
      if (i % 16 == 0) model->Audit();
    }
    resumed += model->resumed_tokens();
    evictions += model->tree().stats().evictions;
  }
  std::printf("{\"operations\": %ld, \"resumed_tokens\": %ld, \"evictions\": %ld}\n", operations,
              resumed, evictions);
  return 0;
}

}  // namespace
}  // namespace cairn

int main(int argc, char** argv) {
  const std::string command = argc > 1 ? argv[1] : "";
  if (command == "micro") return cairn::Micro();
  if (command == "memory") return cairn::Memory();
  if (command == "replay" && argc == 6) {
    return cairn::Replay(argv[2], std::atoi(argv[3]), std::atoll(argv[4]), argv[5]);
  }
  if (command == "soak" && argc == 4) {
    return cairn::Soak(std::strtoull(argv[2], nullptr, 10), std::atoll(argv[3]));
  }
  if (command == "soak-tiers" && argc == 4) {
    return cairn::SoakTiers(std::strtoull(argv[2], nullptr, 10), std::atoll(argv[3]));
  }
  if (command == "hot-path" && argc == 3) return cairn::MeasureHotPath(argv[2]);
  if (command == "disk" && argc == 6) {
    return cairn::MeasureDisk(argv[2], argv[3], std::strtoull(argv[4], nullptr, 10),
                              std::strtoull(argv[5], nullptr, 10));
  }
  std::fprintf(stderr,
               "state_worker replay FILE BLOCK CAPACITY POLICY | micro | memory | soak SEED "
               "OPERATIONS | soak-tiers SEED OPERATIONS | hot-path FOLDER | disk write|read FOLDER "
               "OBJECTS BYTES\n");
  return 2;
}
