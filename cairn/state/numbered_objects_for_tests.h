// Objects whose bytes follow from a number, and a store whose requests are waited for.
#ifndef CAIRN_STATE_NUMBERED_OBJECTS_FOR_TESTS_H_
#define CAIRN_STATE_NUMBERED_OBJECTS_FOR_TESTS_H_

#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <random>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "cairn/state/object_store.h"

namespace cairn {

inline ObjectKey NumberedKey(uint64_t number) {
  ObjectKey key;
  std::memcpy(key.bytes.data(), &number, sizeof(number));
  return key;
}

inline std::vector<std::byte> NumberedPayload(uint64_t number, size_t size) {
  std::mt19937_64 random(number);
  std::vector<std::byte> bytes(size);
  for (std::byte& byte : bytes) byte = static_cast<std::byte>(random());
  return bytes;
}

// One request at a time.
class StoreInTest {
 public:
  explicit StoreInTest(Result<std::unique_ptr<ObjectStore>> opened) {
    REQUIRE_MESSAGE(opened, (opened ? "" : opened.error().message));
    store_ = *std::move(opened);
  }

  ObjectStore& store() { return *store_; }
  ObjectOutcome Put(uint64_t number, const std::vector<std::byte>& bytes) {
    const std::span<const std::byte> all(bytes);
    return End(store_->Put(NumberedKey(number), {number, 17}, std::span(&all, 1)));
  }
  ObjectOutcome Erase(uint64_t number) { return End(store_->Erase(NumberedKey(number))); }
  ObjectOutcome Get(uint64_t number, std::vector<std::byte>& bytes) {
    const std::span<std::byte> all(bytes);
    return End(store_->Get(NumberedKey(number), std::span(&all, 1)));
  }
  bool Has(uint64_t number, const std::vector<std::byte>& bytes) {
    std::vector<std::byte> got(bytes.size());
    return Get(number, got) == ObjectOutcome::kDone && got == bytes;
  }
  // Of the latest request.
  const std::string& problem() const { return problem_; }

  ObjectOutcome End(const Result<RequestId>& request) {
    REQUIRE(request);
    while (true) {
      for (const ObjectCompletion& completion : store_->Wait(10'000'000)) {
        CHECK(completion.request == *request);
        problem_ = completion.problem;
        return completion.outcome;
      }
    }
  }

 private:
  std::unique_ptr<ObjectStore> store_;
  std::string problem_;
};

}  // namespace cairn

#endif  // CAIRN_STATE_NUMBERED_OBJECTS_FOR_TESTS_H_
