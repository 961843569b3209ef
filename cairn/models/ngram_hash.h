// NgramHash: which rows of its tables the last few tokens of a sequence stand for (Qwen 4).
//
// For each n from 2 on, the ids of the last n tokens are multiplied, mixed, and taken modulo the
// size of each of that n's tables, which lie one behind the other. N-grams don't reach beyond a
// token that ends an answer: in its place and before it stands that token. Immutable; thread-safe.
#ifndef CAIRN_MODELS_NGRAM_HASH_H_
#define CAIRN_MODELS_NGRAM_HASH_H_

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace cairn {

struct NgramHash {
  std::vector<int64_t> multipliers;  // of the token itself, the one before it, ...
  std::vector<int64_t> sizes;        // of the tables, those of each n one behind the other
  std::vector<int64_t> offsets;      // of their first rows
  int64_t end_token = 0;

  // What is wrong with it where all tables together have `rows` rows; empty: nothing.
  std::string Problem(int64_t rows) const;
  // rows[i], a row for each table, of the last token of `ids`, which are as many as multipliers.
  void Rows(std::span<const int64_t> ids, int64_t* rows) const;
};

}  // namespace cairn

#endif  // CAIRN_MODELS_NGRAM_HASH_H_
