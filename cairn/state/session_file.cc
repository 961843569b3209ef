#include "cairn/state/session_file.h"

#include <array>
#include <cstdint>
#include <cstring>

#include "cairn/base/check.h"
#include "cairn/base/env.h"
#include "cairn/base/sha256.h"

namespace cairn {
namespace {

constexpr std::array<char, 8> kMagic = {'C', 'A', 'I', 'R', 'N', 'S', 'E', 'S'};
constexpr uint32_t kVersion = 1;

// All numbers little-endian; no padding.
struct Header {
  std::array<char, 8> magic = kMagic;
  uint32_t version = kVersion;
  uint32_t token_bytes = sizeof(TokenId);
  uint64_t tokens = 0;
  uint64_t note_bytes = 0;
  uint64_t state_bytes = 0;
  Sha256::Digest key{};
  Sha256::Digest state_hash{};
  Sha256::Digest hash{};  // of what is above, the tokens and the note
};
static_assert(sizeof(Header) == 136);

using ByteSpan = std::span<const std::byte>;

Sha256::Digest HashOf(const Header& header, ByteSpan tokens, ByteSpan note) {
  Sha256 hash;
  hash.Update(std::as_bytes(std::span(&header, 1)).first(offsetof(Header, hash)));
  hash.Update(tokens);
  hash.Update(note);
  return hash.Finish();
}

// The blocks by class and position, then the Fixed region.
std::vector<ByteSpan> PiecesOf(const StateStore& store, SequenceId id) {
  std::vector<ByteSpan> pieces;
  store.ForEachBlock(id,
                     [&pieces](ClassIndex, int64_t, ByteSpan bytes) { pieces.push_back(bytes); });
  if (const ByteSpan fixed = store.FixedBytes(id); !fixed.empty()) pieces.push_back(fixed);
  return pieces;
}

struct Parts {
  Header header;
  ByteSpan tokens, note, state;
};

Result<Parts> Split(ByteSpan file, const std::string& path) {
  Parts parts;
  if (file.size() < sizeof(Header) || std::memcmp(file.data(), kMagic.data(), kMagic.size()) != 0) {
    return Fail(ErrorCode::kCorrupt, "{} is not a session file", path);
  }
  std::memcpy(&parts.header, file.data(), sizeof(Header));
  const Header& header = parts.header;
  if (header.version != kVersion || header.token_bytes != sizeof(TokenId)) {
    return Fail(ErrorCode::kUnsupported,
                "{} is a session file of version {}; this program reads version {}", path,
                header.version, kVersion);
  }
  const ByteSpan rest = file.subspan(sizeof(Header));
  const uint64_t most = rest.size();
  if (header.tokens > most / sizeof(TokenId) ||
      header.note_bytes > most - header.tokens * sizeof(TokenId)) {
    return Fail(ErrorCode::kCorrupt, "{} ends before its tokens do", path);
  }
  parts.tokens = rest.first(header.tokens * sizeof(TokenId));
  parts.note = rest.subspan(parts.tokens.size(), header.note_bytes);
  parts.state = rest.subspan(parts.tokens.size() + parts.note.size());
  if (HashOf(header, parts.tokens, parts.note) != header.hash) {
    return Fail(ErrorCode::kCorrupt, "{} is damaged: its checksum doesn't fit", path);
  }
  return parts;
}

// Empty: the blocks can be taken back.
std::string WhyNot(const Parts& parts, const StateKey& key, const StateLayout& layout) {
  const Header& header = parts.header;
  if (header.key != key.bytes) return "it belongs to another model, state format or tenant";
  const TokenCount tokens(static_cast<int64_t>(header.tokens));
  if (tokens > kMaxStateTokens) return "it has more tokens than a sequence can have";
  const auto expected = static_cast<uint64_t>(layout.AllocatedBytes(tokens).value());
  if (header.state_bytes != expected || parts.state.size() != expected) {
    return fmt::format("it holds {} bytes of state in place of {}", parts.state.size(), expected);
  }
  if (Sha256::Of(parts.state) != header.state_hash) return "its checksum doesn't fit";
  return "";
}

}  // namespace

Bytes SessionFileBytes(const StateLayout& layout, TokenCount tokens, Bytes note) {
  return Bytes(sizeof(Header)) + Bytes(sizeof(TokenId)) * tokens.value() + note +
         layout.AllocatedBytes(tokens);
}

Status WriteSession(const std::string& path, const StateKey& key, std::span<const TokenId> tokens,
                    std::string_view note, const StateStore& store, SequenceId id) {
  CAIRN_CHECK(store.Length(id).value() == static_cast<int64_t>(tokens.size()));
  CAIRN_CHECK(store.Dropped(id) == nullptr);
  const std::vector<ByteSpan> state = PiecesOf(store, id);
  Header header;
  header.tokens = tokens.size();
  header.note_bytes = note.size();
  header.key = key.bytes;
  Sha256 hash;
  for (const ByteSpan piece : state) {
    header.state_bytes += piece.size();
    hash.Update(piece);
  }
  header.state_hash = hash.Finish();
  const ByteSpan token_bytes = std::as_bytes(tokens);
  const ByteSpan note_bytes = std::as_bytes(std::span(note.data(), note.size()));
  header.hash = HashOf(header, token_bytes, note_bytes);

  std::vector<ByteSpan> pieces = {std::as_bytes(std::span(&header, 1)), token_bytes, note_bytes};
  pieces.insert(pieces.end(), state.begin(), state.end());
  return WriteFileAtomically(path, pieces);
}

Result<Session> ReadSession(const std::string& path, const StateKey& key, StateStore& store) {
  CAIRN_ASSIGN(const MappedFile file, MappedFile::Open(path));
  CAIRN_ASSIGN(const Parts parts, Split(file.bytes(), path));
  Session session;
  session.tokens.resize(parts.header.tokens);
  if (!parts.tokens.empty()) {
    std::memcpy(session.tokens.data(), parts.tokens.data(), parts.tokens.size());
  }
  session.note.assign(reinterpret_cast<const char*>(parts.note.data()), parts.note.size());
  session.why_not = WhyNot(parts, key, store.layout());
  if (!session.why_not.empty()) return session;

  ByteSpan rest = parts.state;
  const auto fill = [&rest](std::span<std::byte> block) {
    std::memcpy(block.data(), rest.data(), block.size());
    rest = rest.subspan(block.size());
  };
  const TokenCount length(static_cast<int64_t>(session.tokens.size()));
  CAIRN_ASSIGN(session.state, store.Load(length, fill));
  CAIRN_CHECK(rest.empty());
  return session;
}

}  // namespace cairn
