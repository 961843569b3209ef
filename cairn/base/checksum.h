// Checksum: 128 bits over bytes that come piece by piece (XXH3), to find damage.
//
// As fast as memory, and not cryptographic: who may write the bytes may also forge the sum. Where
// somebody may try to make two things collide use Sha256.
#ifndef CAIRN_BASE_CHECKSUM_H_
#define CAIRN_BASE_CHECKSUM_H_

#include <compare>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

namespace cairn {

struct Sum128 {
  uint64_t low = 0;
  uint64_t high = 0;
  auto operator<=>(const Sum128&) const = default;
};

// Movable; what was moved from may only be assigned to or destroyed.
class Checksum {
 public:
  // Sums of different seeds have nothing in common.
  explicit Checksum(uint64_t seed);
  ~Checksum();
  Checksum(Checksum&& other) noexcept = default;
  Checksum& operator=(Checksum&& other) noexcept = default;

  void Update(std::span<const std::byte> bytes);
  // Of all bytes so far; more may follow.
  Sum128 Finish() const;

  static Sum128 Of(std::span<const std::byte> bytes, uint64_t seed);

 private:
  struct Free {
    void operator()(void* state) const;
  };
  std::unique_ptr<void, Free> state_;  // an XXH3_state_t
};

}  // namespace cairn

#endif  // CAIRN_BASE_CHECKSUM_H_
