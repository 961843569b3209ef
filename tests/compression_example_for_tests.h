// Examples of compressed state worked out elsewhere (tests/data/compression_examples.json), and
// what tests that follow them share: rows that went through the engine's codecs, random numbers,
// softmax.
#ifndef CAIRN_TESTS_COMPRESSION_EXAMPLE_FOR_TESTS_H_
#define CAIRN_TESTS_COMPRESSION_EXAMPLE_FOR_TESTS_H_

#include <cstdint>
#include <random>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "cairn/base/dtype.h"

namespace cairn {

// A part of the file; throws where there is no such part.
class Example {
 public:
  Example at(const std::string& key) const;
  Example operator[](size_t index) const;
  double Number() const;
  int Int() const;
  size_t size() const;
  std::vector<Example> Parts() const;  // of a list; empty for a number
  std::vector<std::pair<std::string, Example>> Members() const;

 private:
  friend Example CompressionExample(const char* key);
  explicit Example(std::string json) : json_(std::move(json)) {}
  std::string json_;  // text: its parser stays out of this header
};

Example CompressionExample(const char* key);

// All numbers of nested lists, in order.
std::vector<double> NumbersOf(const Example& lists);
std::vector<float> FloatsOf(const Example& lists);

// CHECKs that each number is as near to theirs as `tolerance` times theirs, or times 1 where theirs
// is smaller.
void CheckNear(std::span<const double> ours, const Example& theirs, double tolerance);
void CheckNear(std::span<const float> ours, const Example& theirs, double tolerance = 1e-6);

using Matrix = std::vector<std::vector<float>>;

Matrix MatrixOf(const Example& lists);
Matrix Transposed(const Matrix& rows);

// Independent Gaussian numbers of variance 1: the same ones with every standard library.
class Gaussians {
 public:
  explicit Gaussians(uint64_t seed) : engine_(seed) {}
  float operator()();
  std::vector<float> Row(int64_t width);
  Matrix Rows(int64_t rows, int64_t width);
  double Uniform();  // in (0, 1)
  // `count` different numbers below n.
  std::vector<size_t> Different(size_t count, size_t n);

 private:
  std::mt19937_64 engine_;
};

// What a codec makes of a row, stored and loaded as the engine does; of each row.
std::vector<float> ThroughCodec(DType codec, const std::vector<float>& row);
Matrix ThroughCodec(DType codec, const Matrix& rows);

// Each row by the engine's Hadamard rotation in blocks of `block` channels.
Matrix Rotated(Matrix rows, int64_t block);

// [query][key] softmax of products over sqrt(width), or times `gain`; in double.
using Weights = std::vector<std::vector<double>>;
Weights AttentionWeights(const Matrix& queries, const Matrix& keys, double gain);

// Half the sum of differences, averaged over queries.
double TotalVariation(const Weights& a, const Weights& b);

}  // namespace cairn

#endif  // CAIRN_TESTS_COMPRESSION_EXAMPLE_FOR_TESTS_H_
