// StateSpec: what a model remembers about the tokens it has read, layer by layer.
//
// Two kinds of component are enough for every architecture: Rows grow with the tokens, Fixed does
// not; Alias reads another layer's component and stores nothing. The variant is closed on purpose:
// a new kind makes the compiler stop at each visit. How many bytes a spec takes is answered by
// state_layout.h and nowhere else. Plain data; thread-compatible.
#ifndef CAIRN_SPEC_STATE_SPEC_H_
#define CAIRN_SPEC_STATE_SPEC_H_

#include <string>
#include <variant>
#include <vector>

#include "cairn/base/dtype.h"
#include "cairn/base/ids.h"

namespace cairn {

// How long a row is needed. `tokens` is the window W, the chunk C or the count of first rows N, and
// unused for kAll.
struct Lifetime {
  enum class Kind : uint8_t {
    kAll,     // as long as the sequence
    kWindow,  // query i sees keys j, i - W < j <= i: after n tokens, the last min(n, W - 1) rows
    kChunk,   // query i sees its own chunk of C positions: after n tokens, the last n mod C rows,
              // and those of `chunks_before` whole chunks before them
    kFirst,   // tokens before N alone have rows, which all queries see
  };
  Kind kind = Kind::kAll;
  TokenCount tokens;
  int64_t chunks_before = 0;  // of kChunk only

  bool operator==(const Lifetime&) const = default;

  static Lifetime All() { return {}; }
  static Lifetime Window(TokenCount window) { return {Kind::kWindow, window}; }
  static Lifetime Chunk(TokenCount chunk) { return {Kind::kChunk, chunk}; }
  static Lifetime ChunkAndTheOneBefore(TokenCount chunk) { return {Kind::kChunk, chunk, 1}; }
  static Lifetime ChunkAndBefore(TokenCount chunk, int64_t chunks) {
    return {Kind::kChunk, chunk, chunks};
  }
  static Lifetime First(TokenCount tokens) { return {Kind::kFirst, tokens}; }

  // Rows go only from the end of a sequence.
  bool KeepsAll() const { return kind == Kind::kAll || kind == Kind::kFirst; }

  // First position whose row a sequence of `tokens_read` tokens still needs for its next token.
  // Positions count tokens; equal to tokens_read when nothing is needed.
  TokenCount FirstNeeded(TokenCount tokens_read) const;
};

// How the rows of one block lie in memory; R is StateLayout's rows per block.
enum class RowOrder : uint8_t {
  // [head][R][width]: lanes of a kernel are channels (values). In bf16 and fp8 two rows lie side by
  // side: [head][R / 2][width][2].
  kRowMajor,
  // [head][width][R]: lanes of a kernel are positions (keys). In bf16 and fp8 two channels lie side
  // by side: [head][width / 2][R][2], then a last odd one [R]. With a block codec each block of
  // channels is a run of the R rows' scales, minimums, fifth bits and codes
  // (cairn/kernels/state_block.h); with Lloyd-Max codes a head's scales come first, in either order
  // (cairn/kernels/lloyd_max.h).
  kTransposedTiles,
};

// Where a component's positional rotation happens.
enum class PositionApplied : uint8_t { kNone, kWhenStored, kWhenRead };

// What rows went through before they were stored; queries and outputs meet them there.
enum class RowTransform : uint8_t {
  kNone,
  kRotated,       // Hadamard, head by head (cairn/kernels/hadamard.h)
  kStandardized,  // of keys: without what all have in common, scaled, then rotated
                  // (cairn/kernels/key_standard.h)
};

// One row of heads x width elements for every `tokens_per_row` tokens.
struct Rows {
  std::string name;  // "keys", "values", "latent", "index_keys", ...
  int64_t heads = 1;
  int64_t width = 0;
  TokenCount tokens_per_row{1};
  Lifetime lifetime;
  DType codec = DType::kF16;
  RowOrder order = RowOrder::kRowMajor;
  PositionApplied position = PositionApplied::kNone;
  RowTransform transform = RowTransform::kNone;
  // What a compressor hasn't made an entry of yet. It is kept like all rows, but isn't what a query
  // reads: published figures of a cache leave it out, so SeenRowBytes does.
  bool open_window = false;
  // Rows of tokens that another component holds as well, in fewer bits (state_form.h).
  bool exact_copy = false;

  ElementCount ElementsPerRow() const { return ElementCount(heads * width); }
  bool operator==(const Rows&) const = default;
};

// State of constant size: recurrent matrices, convolution tails, token shifts, open windows.
struct Fixed {
  enum class Snapshot : uint8_t {
    kAnyToken,     // a copy taken after any token restores that position
    kRowBoundary,  // only where tokens_per_row divides the position
  };
  std::string name;
  ElementCount elements;
  DType dtype = DType::kF32;
  Snapshot snapshot = Snapshot::kAnyToken;

  bool operator==(const Fixed&) const = default;
};

// Reads all components of an earlier layer; stores nothing.
struct Alias {
  LayerIndex layer;

  bool operator==(const Alias&) const = default;
};

using Component = std::variant<Rows, Fixed, Alias>;

struct LayerState {
  std::vector<Component> components;  // empty: the layer keeps nothing

  bool operator==(const LayerState&) const = default;
};

struct StateSpec {
  std::vector<LayerState> layers;

  bool operator==(const StateSpec&) const = default;
};

}  // namespace cairn

#endif  // CAIRN_SPEC_STATE_SPEC_H_
