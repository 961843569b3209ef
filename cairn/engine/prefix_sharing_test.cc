#include "cairn/engine/prefix_sharing.h"

#include <doctest/doctest.h>

#include <memory>
#include <set>
#include <vector>

#include "cairn/spec/state_spec_for_tests.h"

namespace cairn {
namespace {

// An answer of a generation of its own that has read all its tokens.
struct Alone {
  Alone(Tenant& tenant, std::vector<TokenId> tokens) {
    generation.tenant = &tenant;
    answer = std::make_unique<Answer>(generation, 0, generation.request);
    answer->tokens = std::move(tokens);
    answer->read = answer->kept = answer->size();
  }
  Generation generation;
  std::unique_ptr<Answer> answer;
};

std::vector<TokenId> Repeated(int64_t count, int32_t token) {
  return std::vector<TokenId>(static_cast<size_t>(count), TokenId(token));
}

std::vector<TokenId> operator+(std::vector<TokenId> a, const std::vector<TokenId>& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

// Prefixes that are there, each counted once.
int64_t DistinctTokens(const std::vector<Answer*>& running) {
  std::set<std::vector<TokenId>> prefixes;
  for (const Answer* answer : running) {
    for (size_t n = 1; n <= answer->tokens.size(); ++n) {
      prefixes.emplace(answer->tokens.begin(), answer->tokens.begin() + static_cast<ptrdiff_t>(n));
    }
  }
  return static_cast<int64_t>(prefixes.size());
}

}  // namespace

TEST_CASE("common prefixes end at the first difference, wherever it is") {
  Tenant tenant;
  for (const int64_t at : {0, 1, 255, 256, 257, 1000}) {
    Alone a(tenant, Repeated(at, 1) + Repeated(300, 2));
    Alone b(tenant, Repeated(at, 1) + Repeated(100, 3));
    Alone c(tenant, Repeated(at, 1));
    CHECK(CommonPrefix(*a.answer, *b.answer) == TokenCount(at));
    CHECK(CommonPrefix(*a.answer, *c.answer) == TokenCount(at));
  }
}

TEST_CASE("one waits for a long common prefix that is being read, and for nothing else") {
  Tenant tenant;
  Tenant stranger;
  Alone reader(tenant, Repeated(1000, 1));
  reader.answer->read = TokenCount(100);
  reader.answer->kept = TokenCount(0);
  Alone waiting(tenant, Repeated(500, 1) + Repeated(5, 2));
  CHECK(HandOver(*waiting.answer, *reader.answer) == TokenCount(500));
  Alone same(tenant, Repeated(1000, 1));  // its last token must be computed
  CHECK(HandOver(*same.answer, *reader.answer) == TokenCount(999));
  Alone brief(tenant, Repeated(127, 1) + Repeated(900, 2));
  CHECK(HandOver(*brief.answer, *reader.answer) == TokenCount(0));
  Alone other(stranger, Repeated(1000, 1));
  CHECK(HandOver(*other.answer, *reader.answer) == TokenCount(0));
  same.generation.request.priority = 1;
  CHECK(HandOver(*same.answer, *reader.answer) == TokenCount(0));
  reader.answer->read = TokenCount(600);  // it has passed the place
  CHECK(HandOver(*waiting.answer, *reader.answer) == TokenCount(0));
}

TEST_CASE("who waits may go on when the length is kept, or when it never will be") {
  Tenant tenant;
  Alone reader(tenant, Repeated(1000, 1));
  Alone early(tenant, Repeated(300, 1) + Repeated(5, 2));
  Alone late(tenant, Repeated(500, 1) + Repeated(5, 2));
  reader.answer->read = reader.answer->kept = TokenCount(0);
  reader.answer->lease = LeaseId(1);
  const std::vector<Answer*> waiting = {late.answer.get(), early.answer.get()};
  for (Answer* answer : waiting) {
    WaitForPrefix(*answer, *reader.answer, HandOver(*answer, *reader.answer));
  }
  CHECK(reader.answer->cuts == std::vector{TokenCount(300), TokenCount(500)});
  reader.answer->kept = TokenCount(300);
  ReleaseWaiting(waiting, *reader.answer);
  CHECK(early.answer->waits_for == nullptr);
  CHECK(late.answer->waits_for == reader.answer.get());
  CHECK(reader.answer->cuts == std::vector{TokenCount(500)});
  reader.answer->lease.reset();
  ReleaseWaiting(waiting, *reader.answer);
  CHECK(late.answer->waits_for == nullptr);
  CHECK(reader.answer->cuts.empty());
}

TEST_CASE("what running answers share is counted once, whoever comes and goes") {
  for (uint64_t seed = 1; seed <= 200; ++seed) {
    CAPTURE(seed);
    RandomChoice choose(seed);
    Tenant tenant;
    std::vector<std::unique_ptr<Alone>> alive;
    std::vector<Answer*> running;
    for (int i = 0; i < 60; ++i) {
      if (running.size() < 2 || choose(2) == 0) {
        std::vector<TokenId> tokens;
        const int64_t count = 1 + choose(12);
        for (int64_t t = 0; t < count; ++t) tokens.emplace_back(static_cast<int32_t>(choose(2)));
        alive.push_back(std::make_unique<Alone>(tenant, std::move(tokens)));
        Answer& added = *alive.back()->answer;
        const SharedPrefix shared = LongestShared(added, running);
        added.sharer = shared.with;
        added.shares = shared.tokens;
        running.push_back(&added);
      } else {
        const auto at =
            running.begin() + static_cast<ptrdiff_t>(choose(static_cast<int64_t>(running.size())));
        Answer& leaver = **at;
        running.erase(at);
        LeaveSharing(leaver, running);
      }
      int64_t counted = 0;
      for (const Answer* answer : running) counted += (answer->size() - answer->shares).value();
      CHECK(counted == DistinctTokens(running));
    }
  }
}

}  // namespace cairn
