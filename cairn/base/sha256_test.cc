#include "cairn/base/sha256.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <utility>

namespace cairn {
namespace {

std::span<const std::byte> BytesOf(std::string_view text) {
  return std::as_bytes(std::span(text.data(), text.size()));
}

std::string Hex(const Sha256::Digest& digest) {
  std::string hex;
  for (const std::byte byte : digest) hex += fmt::format("{:02x}", static_cast<unsigned>(byte));
  return hex;
}

// From FIPS 180-4's examples.
TEST_CASE("digests are those of the standard") {
  CHECK(Hex(Sha256::Of({})) == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  CHECK(Hex(Sha256::Of(BytesOf("abc"))) ==
        "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  CHECK(Hex(Sha256::Of(BytesOf(std::string(1'000'000, 'a')))) ==
        "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

TEST_CASE("pieces of any size give the digest of the whole") {
  const std::string text(300, 'x');
  for (size_t cut = 0; cut <= text.size(); ++cut) {
    Sha256 hash;
    hash.Update(BytesOf(std::string_view(text).substr(0, cut)));
    hash.Update(BytesOf(std::string_view(text).substr(cut)));
    CHECK(hash.Finish() == Sha256::Of(BytesOf(text)));
  }
}

TEST_CASE("a copy taken in the middle goes its own way, and more may follow a digest") {
  Sha256 trunk;
  trunk.Update(BytesOf("a long shared prefix, "));
  Sha256 branch = trunk;
  branch.Update(BytesOf("one end"));
  CHECK(trunk.Finish() == Sha256::Of(BytesOf("a long shared prefix, ")));
  trunk.Update(BytesOf("another end"));
  CHECK(branch.Finish() == Sha256::Of(BytesOf("a long shared prefix, one end")));
  CHECK(trunk.Finish() == Sha256::Of(BytesOf("a long shared prefix, another end")));

  Sha256 moved = std::move(branch);
  branch = trunk;  // what was moved from may be assigned to
  CHECK(branch.Finish() == trunk.Finish());
  CHECK(moved.Finish() == Sha256::Of(BytesOf("a long shared prefix, one end")));
}

}  // namespace
}  // namespace cairn
