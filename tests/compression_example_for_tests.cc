#include "tests/compression_example_for_tests.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>
#include <numbers>

#include "cairn/kernels/hadamard.h"
#include "cairn/kernels/state_rows.h"

namespace cairn {

using Json = nlohmann::json;

Example Example::at(const std::string& key) const {
  return Example(Json::parse(json_).at(key).dump());
}

Example Example::operator[](size_t index) const {
  return Example(Json::parse(json_).at(index).dump());
}

double Example::Number() const { return Json::parse(json_).get<double>(); }
int Example::Int() const { return Json::parse(json_).get<int>(); }
size_t Example::size() const { return Json::parse(json_).size(); }

std::vector<Example> Example::Parts() const {
  std::vector<Example> parts;
  const Json json = Json::parse(json_);
  if (!json.is_array()) return parts;
  for (const Json& part : json) parts.push_back(Example(part.dump()));
  return parts;
}

std::vector<std::pair<std::string, Example>> Example::Members() const {
  std::vector<std::pair<std::string, Example>> members;
  const Json json = Json::parse(json_);
  for (const auto& [key, value] : json.items()) members.emplace_back(key, Example(value.dump()));
  return members;
}

Example CompressionExample(const char* key) {
  std::ifstream file("tests/data/compression_examples.json");
  REQUIRE(file.good());
  return Example(Json::parse(file).at(key).dump());
}

std::vector<double> NumbersOf(const Example& lists) {
  const std::vector<Example> parts = lists.Parts();
  if (parts.empty()) return {lists.Number()};
  std::vector<double> numbers;
  for (const Example& item : parts) {
    const std::vector<double> inner = NumbersOf(item);
    numbers.insert(numbers.end(), inner.begin(), inner.end());
  }
  return numbers;
}

std::vector<float> FloatsOf(const Example& lists) {
  const std::vector<double> numbers = NumbersOf(lists);
  return {numbers.begin(), numbers.end()};
}

void CheckNear(std::span<const double> ours, const Example& theirs, double tolerance) {
  const std::vector<double> expected = NumbersOf(theirs);
  REQUIRE(ours.size() == expected.size());
  for (size_t i = 0; i < expected.size(); ++i) {
    CAPTURE(i);
    CAPTURE(ours[i]);
    CAPTURE(expected[i]);
    CHECK(std::abs(ours[i] - expected[i]) <= tolerance * std::max(1.0, std::abs(expected[i])));
  }
}

void CheckNear(std::span<const float> ours, const Example& theirs, double tolerance) {
  CheckNear(std::vector<double>(ours.begin(), ours.end()), theirs, tolerance);
}

Matrix MatrixOf(const Example& lists) {
  Matrix rows;
  for (const Example& row : lists.Parts()) rows.push_back(FloatsOf(row));
  return rows;
}

Matrix Transposed(const Matrix& rows) {
  Matrix columns(rows.at(0).size());
  for (const std::vector<float>& row : rows) {
    for (size_t c = 0; c < row.size(); ++c) columns[c].push_back(row[c]);
  }
  return columns;
}

double Gaussians::Uniform() { return (static_cast<double>(engine_() >> 11) + 0.5) * 0x1p-53; }

float Gaussians::operator()() {
  const double radius = std::sqrt(-2 * std::log(Uniform()));
  return static_cast<float>(radius * std::cos(2 * std::numbers::pi * Uniform()));
}

std::vector<float> Gaussians::Row(int64_t width) {
  std::vector<float> row(static_cast<size_t>(width));
  for (float& x : row) x = (*this)();
  return row;
}

Matrix Gaussians::Rows(int64_t rows, int64_t width) {
  Matrix matrix;
  for (int64_t r = 0; r < rows; ++r) matrix.push_back(Row(width));
  return matrix;
}

std::vector<size_t> Gaussians::Different(size_t count, size_t n) {
  std::vector<size_t> chosen;
  while (chosen.size() < count) {
    const auto next = static_cast<size_t>(engine_() % n);
    if (std::ranges::find(chosen, next) == chosen.end()) chosen.push_back(next);
  }
  return chosen;
}

std::vector<float> ThroughCodec(DType codec, const std::vector<float>& row) {
  const auto width = static_cast<int64_t>(row.size());
  std::vector<std::byte> tile(static_cast<size_t>(StateTileBytes(codec, width)));
  StoreRowTransposed(codec, row.data(), 1, width, 0, tile.data());
  std::vector<float> back(row.size());
  LoadRowTransposed(codec, tile.data(), 1, width, 0, back.data());
  return back;
}

Matrix ThroughCodec(DType codec, const Matrix& rows) {
  Matrix back;
  for (const std::vector<float>& row : rows) back.push_back(ThroughCodec(codec, row));
  return back;
}

Matrix Rotated(Matrix rows, int64_t block) {
  for (std::vector<float>& row : rows) {
    RotateHeads(row.data(), static_cast<int64_t>(row.size()) / block, block);
  }
  return rows;
}

Weights AttentionWeights(const Matrix& queries, const Matrix& keys, double gain) {
  Weights weights;
  for (const std::vector<float>& q : queries) {
    std::vector<double>& row = weights.emplace_back();
    for (const std::vector<float>& k : keys) {
      double product = 0;
      for (size_t c = 0; c < k.size(); ++c) product += static_cast<double>(q[c]) * k[c];
      row.push_back(product * gain);
    }
    const double largest = std::ranges::max(row);
    double sum = 0;
    for (double& w : row) sum += w = std::exp(w - largest);
    for (double& w : row) w /= sum;
  }
  return weights;
}

double TotalVariation(const Weights& a, const Weights& b) {
  double sum = 0;
  for (size_t q = 0; q < a.size(); ++q) {
    for (size_t k = 0; k < a[q].size(); ++k) sum += std::abs(a[q][k] - b[q][k]);
  }
  return sum / 2 / static_cast<double>(a.size());
}

}  // namespace cairn
