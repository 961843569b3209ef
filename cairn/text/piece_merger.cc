#include "cairn/text/piece_merger.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <functional>
#include <limits>

#include "cairn/base/check.h"

namespace cairn {
namespace {

constexpr int32_t kNone = -1;

// A part of the text that has become one piece, linked to its neighbours. A symbol that was merged
// into its left neighbour has size 0.
struct Symbol {
  uint32_t offset;
  uint32_t size;
  int32_t previous;
  int32_t next;
};

// Two neighbours whose concatenation is a piece. Out of date when the sizes don't add up any more.
struct Candidate {
  float score;
  int32_t left;
  int32_t right;
  uint32_t size;
};

// std::push_heap keeps the largest in front: the highest score, then the leftmost.
bool ComesLater(const Candidate& a, const Candidate& b) {
  return a.score < b.score || (a.score == b.score && a.left > b.left);
}

uint32_t CharacterSize(char lead) {
  const auto byte = static_cast<uint8_t>(lead);
  if (byte < 0x80) return 1;
  if (byte < 0xE0) return 2;
  return byte < 0xF0 ? 3 : 4;
}

std::vector<Symbol> Characters(std::string_view text) {
  std::vector<Symbol> symbols;
  symbols.reserve(text.size());
  for (uint32_t offset = 0; offset < text.size();) {
    const auto rest = static_cast<uint32_t>(text.size() - offset);
    const uint32_t size = std::min(CharacterSize(text[offset]), rest);
    const auto index = static_cast<int32_t>(symbols.size());
    symbols.push_back({offset, size, index - 1, index + 1});
    offset += size;
  }
  if (!symbols.empty()) symbols.back().next = kNone;
  return symbols;
}

uint32_t HashOf(std::string_view text) {
  return static_cast<uint32_t>(std::hash<std::string_view>()(text));
}

}  // namespace

// One text while it is merged.
struct PieceMerger::Work {
  const PieceMerger& merger;
  std::string_view text;
  std::vector<Symbol> symbols;
  std::vector<Candidate> candidates;  // a heap

  void AddCandidate(int32_t left, int32_t right) {
    if (left == kNone || right == kNone) return;
    const Symbol& a = symbols[static_cast<size_t>(left)];
    const uint32_t size = a.size + symbols[static_cast<size_t>(right)].size;
    const Piece* piece = merger.Find(text.substr(a.offset, size));
    if (piece == nullptr) return;
    candidates.push_back({piece->score, left, right, size});
    std::push_heap(candidates.begin(), candidates.end(), ComesLater);
  }

  Candidate TakeBest() {
    std::pop_heap(candidates.begin(), candidates.end(), ComesLater);
    const Candidate best = candidates.back();
    candidates.pop_back();
    return best;
  }

  void Merge(const Candidate& pair) {
    Symbol& left = symbols[static_cast<size_t>(pair.left)];
    Symbol& right = symbols[static_cast<size_t>(pair.right)];
    // Symbols only grow, so equal sizes mean that both are still the ones that were seen.
    if (left.size == 0 || right.size == 0 || left.size + right.size != pair.size) return;
    left.size = pair.size;
    right.size = 0;
    left.next = right.next;
    if (left.next != kNone) symbols[static_cast<size_t>(left.next)].previous = pair.left;
    AddCandidate(left.previous, pair.left);
    AddCandidate(pair.left, left.next);
  }
};

size_t PieceMerger::SlotOf(std::string_view text, uint32_t hash) const {
  const size_t mask = slots_.size() - 1;
  size_t at = hash & mask;
  while (slots_[at].piece != 0) {
    if (slots_[at].hash == hash && pieces_[slots_[at].piece - 1].text == text) break;
    at = (at + 1) & mask;
  }
  return at;
}

PieceMerger::PieceMerger(std::span<const Piece> pieces) {
  CAIRN_CHECK(pieces.size() < std::numeric_limits<uint32_t>::max() / 4);
  size_t size = 0;
  for (const Piece& piece : pieces) size += piece.text.size();
  storage_.resize(size);
  pieces_.reserve(pieces.size());
  slots_.resize(std::bit_ceil(2 * pieces.size() + 1));
  char* place = storage_.data();
  for (Piece piece : pieces) {
    if (piece.text.empty()) continue;
    std::ranges::copy(piece.text, place);
    piece.text = {place, piece.text.size()};
    place += piece.text.size();
    if (std::isnan(piece.score)) piece.score = -std::numeric_limits<float>::infinity();
    const uint32_t hash = HashOf(piece.text);
    Slot& slot = slots_[SlotOf(piece.text, hash)];
    if (slot.piece != 0) continue;
    pieces_.push_back(piece);
    slot = {hash, static_cast<uint32_t>(pieces_.size())};
    longest_piece_bytes_ = std::max(longest_piece_bytes_, piece.text.size());
  }
}

bool PieceMerger::CoversAllText() const {
  return unknown_.has_value() || std::all_of(byte_tokens_.begin(), byte_tokens_.end(),
                                             [](const auto& id) { return id.has_value(); });
}

const PieceMerger::Piece* PieceMerger::Find(std::string_view text) const {
  if (text.size() > longest_piece_bytes_) return nullptr;
  const uint32_t piece = slots_[SlotOf(text, HashOf(text))].piece;
  return piece == 0 ? nullptr : &pieces_[piece - 1];
}

void PieceMerger::Encode(std::string_view text, std::vector<TokenId>& ids) const {
  CAIRN_CHECK(text.size() <= kMaxTextBytes);
  Work work{*this, text, Characters(text), {}};
  const auto count = static_cast<int32_t>(work.symbols.size());
  for (int32_t i = 1; i < count; ++i) work.AddCandidate(i - 1, i);
  while (!work.candidates.empty()) work.Merge(work.TakeBest());
  for (const Symbol& symbol : work.symbols) {
    if (symbol.size != 0) AppendSymbol(text.substr(symbol.offset, symbol.size), ids);
  }
}

void PieceMerger::AppendSymbol(std::string_view symbol, std::vector<TokenId>& ids) const {
  if (const Piece* piece = Find(symbol); piece != nullptr) {
    ids.push_back(piece->id);
    return;
  }
  const size_t before = ids.size();
  for (char byte : symbol) {
    const std::optional<TokenId>& id = byte_tokens_[static_cast<uint8_t>(byte)];
    if (id) ids.push_back(*id);
  }
  if (ids.size() - before == symbol.size()) return;
  ids.resize(before);  // not all of its bytes have tokens
  if (unknown_) ids.push_back(*unknown_);
}

}  // namespace cairn
