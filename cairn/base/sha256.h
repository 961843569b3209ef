// Sha256: the cryptographic hash of bytes that come piece by piece.
//
// For keys that others may try to make collide: a chain over token ids hashes a prefix once, and a
// copy taken in the middle goes on by another branch. Copies are independent of each other. Const
// use is thread-safe.
#ifndef CAIRN_BASE_SHA256_H_
#define CAIRN_BASE_SHA256_H_

#include <array>
#include <cstddef>
#include <memory>
#include <span>

namespace cairn {

class Sha256 {
 public:
  using Digest = std::array<std::byte, 32>;

  Sha256();
  Sha256(const Sha256& other);
  Sha256& operator=(const Sha256& other);
  // What was moved from may only be assigned to or destroyed.
  Sha256(Sha256&& other) noexcept = default;
  Sha256& operator=(Sha256&& other) noexcept = default;
  ~Sha256();

  // Adds bytes behind those already seen.
  void Update(std::span<const std::byte> bytes);
  // Of all bytes so far; more may follow.
  Digest Finish() const;

  static Digest Of(std::span<const std::byte> bytes);

 private:
  struct Free {
    void operator()(void* context) const;
  };
  std::unique_ptr<void, Free> context_;  // an EVP_MD_CTX
};

}  // namespace cairn

#endif  // CAIRN_BASE_SHA256_H_
