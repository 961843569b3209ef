#include "cairn/base/sha256.h"

#include <openssl/evp.h>

#include "cairn/base/check.h"

namespace cairn {
namespace {

EVP_MD_CTX* Context(void* context) { return static_cast<EVP_MD_CTX*>(context); }

// Looked up once: asking for it by name at every start costs more than hashing a block of tokens.
const EVP_MD* Algorithm() {
  static const EVP_MD* const algorithm = [] {
    const EVP_MD* fetched = EVP_MD_fetch(nullptr, "SHA2-256", nullptr);
    CAIRN_CHECK(fetched != nullptr);
    return fetched;
  }();
  return algorithm;
}

}  // namespace

// Every call below can fail only for want of a few hundred bytes of memory.
Sha256::Sha256() : context_(EVP_MD_CTX_new()) {
  CAIRN_CHECK(EVP_DigestInit_ex2(Context(context_.get()), Algorithm(), nullptr) == 1);
}

Sha256::Sha256(const Sha256& other) : context_(EVP_MD_CTX_new()) { *this = other; }

Sha256& Sha256::operator=(const Sha256& other) {
  if (this == &other) return *this;
  if (context_ == nullptr) context_.reset(EVP_MD_CTX_new());
  CAIRN_CHECK(EVP_MD_CTX_copy_ex(Context(context_.get()), Context(other.context_.get())) == 1);
  return *this;
}

Sha256::~Sha256() = default;

void Sha256::Update(std::span<const std::byte> bytes) {
  CAIRN_CHECK(EVP_DigestUpdate(Context(context_.get()), bytes.data(), bytes.size()) == 1);
}

Sha256::Digest Sha256::Finish() const {
  const Sha256 copy = *this;
  Digest digest;
  CAIRN_CHECK(EVP_DigestFinal_ex(Context(copy.context_.get()),
                                 reinterpret_cast<unsigned char*>(digest.data()), nullptr) == 1);
  return digest;
}

Sha256::Digest Sha256::Of(std::span<const std::byte> bytes) {
  Sha256 hash;
  hash.Update(bytes);
  return hash.Finish();
}

void Sha256::Free::operator()(void* context) const { EVP_MD_CTX_free(Context(context)); }

}  // namespace cairn
