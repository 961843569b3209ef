// The examples of attention's arithmetic: softmax by blocks, partial results, recurrences, latent
// rows.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <set>

#include "cairn/base/thread_pool.h"
#include "cairn/kernels/attention.h"
#include "cairn/kernels/attention_tile.h"
#include "cairn/kernels/delta_rule.h"
#include "cairn/kernels/hadamard.h"
#include "cairn/kernels/head_products.h"
#include "cairn/kernels/row_attention.h"
#include "tests/compression_example_for_tests.h"

namespace cairn {
namespace {

constexpr RowSoftmax kNothing = {kNoScore, 0, 1};

// Room for the widest vector's last lanes.
constexpr int64_t kOutFloats = kTileRows;

// A running softmax over scores and values of two channels, by the engine's steps over a tile.
struct Softmax {
  RowSoftmax row = kNothing;
  std::vector<float> out = std::vector<float>(kOutFloats);

  void Take(const Example& example, int first, int end) {
    const std::vector<float> scores = FloatsOf(example.at("scores"));
    const Matrix values = MatrixOf(example.at("values"));
    std::vector<std::byte> tiles(static_cast<size_t>(kTileGroups * StateTileBytes(DType::kF32, 2)));
    TilePointers pointers;
    for (size_t g = 0; g < kTileGroups; ++g) {
      pointers.groups[g] = tiles.data() + g * tiles.size() / kTileGroups;
    }
    pointers.end = 1;
    for (size_t i = 0; i < values.size(); ++i) {
      StoreRow(DType::kF32, values[i].data(), 1, 2, static_cast<int64_t>(i), tiles.data());
    }
    std::vector<float> weights(kTileKeys);
    std::ranges::copy(scores, weights.begin());
    TileSoftmax(weights.data(), first, end, 0, false, row);
    TileValues(DType::kF32, pointers, weights.data(), first, end, 1, 2, &row, out.data(),
               kOutFloats);
  }

  std::vector<float> Mean() const { return {out[0] / row.sum, out[1] / row.sum}; }
  double LogSum() const { return row.largest + std::log(static_cast<double>(row.sum)); }
};

void CheckPartial(const Softmax& ours, const Example& theirs) {
  CheckNear(ours.Mean(), theirs.at("o"));
  CheckNear(std::vector{ours.LogSum()}, theirs.at("lse"), 1e-6);
}

void Merge(Softmax& total, const Softmax& later) {
  MergePartial(total.row, total.out.data(), later.row, later.out.data(), 2);
}

// Attention of one head's query at the last position over keys and values as floats.
std::vector<float> AttentionOf(AttentionShape shape, const Matrix& keys, const Matrix& values,
                               const std::vector<float>& query) {
  shape.heads = shape.kv_heads = 1;
  shape.key_width = static_cast<int64_t>(query.size());
  shape.value_width = static_cast<int64_t>(values[0].size());
  shape.key_codec = shape.value_codec = DType::kF32;
  const int64_t key_bytes = StateTileBytes(DType::kF32, shape.key_width);
  std::vector<std::byte> block(
      static_cast<size_t>(key_bytes + StateTileBytes(DType::kF32, shape.value_width)));
  for (size_t i = 0; i < keys.size(); ++i) {
    const auto row = static_cast<int64_t>(i);
    StoreRowTransposed(DType::kF32, keys[i].data(), 1, shape.key_width, row, block.data());
    StoreRow(DType::kF32, values[i].data(), 1, shape.value_width, row, block.data() + key_bytes);
  }
  std::byte* blocks[] = {block.data()};
  std::vector<float> out(values[0].size());
  AttentionSpan span;
  span.blocks = blocks;
  span.value_offset = key_bytes;
  span.first_position = static_cast<int64_t>(keys.size()) - 1;
  span.tokens = 1;
  span.queries = query.data();
  span.out = out.data();
  AttentionScratch scratch;
  ThreadPool pool(1);
  Attention(shape, {&span, 1}, shape.key_width, shape.value_width, scratch, pool);
  return out;
}

// Applies [rows][columns] to a vector.
std::vector<float> Product(const Matrix& matrix, const std::vector<float>& x) {
  const auto rows = static_cast<int64_t>(matrix.size());
  HeadMatrices matrices(DType::kF32, 1, static_cast<int64_t>(x.size()), rows);
  for (int64_t r = 0; r < rows; ++r) matrices.SetRow(0, r, matrix[static_cast<size_t>(r)].data());
  std::vector<float> from = x;
  std::vector<float> to(static_cast<size_t>(kTileRows));
  ThreadPool pool(1);
  HeadProducts(matrices, {from.data(), 0, 0}, 1, {to.data(), 0, 0}, pool);
  to.resize(matrix.size());
  return to;
}

std::vector<float> Joined(std::vector<float> a, const std::vector<float>& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

}  // namespace

TEST_CASE("a Hadamard rotation is the example's: its matrix, its inverse, products, an outlier") {
  const Example example = CompressionExample("04_hadamard");
  const Matrix unit = {{1, 0, 0, 0}, {0, 1, 0, 0}, {0, 0, 1, 0}, {0, 0, 0, 1}};
  const Example& matrix = example.at("H4 (orthonormal, Sylvester order)");
  for (size_t i = 0; i < 4; ++i) CheckNear(Rotated(unit, 4)[i], matrix[i]);
  const Matrix vectors = {FloatsOf(example.at("x")), FloatsOf(example.at("q"))};
  const Matrix rotated = Rotated(vectors, 4);
  CheckNear(rotated[0], example.at("Hx"));
  CheckNear(Rotated(rotated, 4)[0], example.at("H(Hx)"));
  double product = 0;
  for (size_t c = 0; c < 4; ++c) product += static_cast<double>(rotated[0][c]) * rotated[1][c];
  CheckNear(std::vector{product}, example.at("q.x"), 1e-6);
  const Matrix outlier = {FloatsOf(example.at("x8_outlier"))};
  const std::vector<float> spread = Rotated(outlier, 8)[0];
  CheckNear(spread, example.at("Hx8"));
  float largest = 0;
  for (const float x : spread) largest = std::max(largest, std::abs(x));
  CheckNear(std::vector{8.0f, largest}, example.at("amax_before/after"));
  CheckNear(Rotated(outlier, 4)[0], example.at("block_diag_H4_on_x8"));
}

TEST_CASE("softmax block by block takes the example's steps") {
  const Example example = CompressionExample("08_online_softmax");
  Softmax softmax;
  for (const Example& step : example.at("steps").Parts()) {
    const int first = step.at("block")[0].Int();
    softmax.Take(example, first, first + 2);
    CheckNear(std::vector{softmax.row.largest}, step.at("m"));
    CheckNear(std::vector{softmax.row.sum}, step.at("l"));
    CheckNear(std::vector{softmax.row.correction}, step.at("rescale"));
    CheckNear(std::vector{softmax.out[0], softmax.out[1]}, step.at("u"));
  }
  CheckNear(softmax.Mean(), example.at("direct"));
  CheckNear(std::vector{softmax.LogSum()}, example.at("lse"), 1e-6);
}

TEST_CASE(
    "partial results merge as in the example, an empty one changes no bit, a sink has no value") {
  const Example scores = CompressionExample("08_online_softmax");
  const Example example = CompressionExample("09_split_kv");
  Softmax parts[3];
  for (int i = 0; i < 3; ++i) {
    parts[i].Take(scores, 2 * i, 2 * i + 2);
    CheckPartial(parts[i], example.at("partials")[static_cast<size_t>(i)]);
  }
  Softmax total;
  for (int i = 0; i < 3; ++i) {
    Merge(total, parts[i]);
    if (i == 1) CheckPartial(total, example.at("merge(1,2)"));
  }
  CheckPartial(total, example.at("merge(12,3)"));
  Softmax same = total;
  Merge(same, Softmax());
  CHECK(std::memcmp(&same.row.largest, &total.row.largest, sizeof(float)) == 0);
  CHECK(same.row.sum == total.row.sum);
  CHECK(same.out == total.out);

  // Keys of one channel are their own scores to the query 1.
  const std::vector<float> keys = FloatsOf(scores.at("scores"));
  const Matrix column = Transposed({keys});
  const Matrix values = MatrixOf(scores.at("values"));
  CheckNear(AttentionOf({}, column, values, {1}), scores.at("out"));
  const float sink = 2.5f;
  AttentionShape shape;
  shape.sinks = &sink;
  CheckNear(AttentionOf(shape, column, values, {1}),
            example.at("with_sink_logit_2.5 (extra denominator term, no value)"));
}

TEST_CASE(
    "the order in which partial results merge moves the last bits alone, and does move them") {
  const Example example = CompressionExample("12_ring");
  constexpr int kParts = 4;
  constexpr int kWidth = 8;
  Gaussians random(7);
  std::vector<std::vector<float>> outs;
  RowSoftmax rows[kParts];
  for (RowSoftmax& row : rows) {
    std::vector<float> scores(kTileKeys);
    for (int i = 0; i < 16; ++i) scores[static_cast<size_t>(i)] = 3 * random();
    row = kNothing;
    TileSoftmax(scores.data(), 0, 16, 0, false, row);
    std::vector<float>& out = outs.emplace_back(kWidth);
    for (int i = 0; i < 16; ++i) {
      for (float& x : out) x += scores[static_cast<size_t>(i)] * random();
    }
  }
  int order[kParts] = {0, 1, 2, 3};
  std::set<std::vector<float>> results;
  float spread = 0;
  do {
    RowSoftmax total = kNothing;
    std::vector<float> out(kWidth);
    for (const int i : order) MergePartial(total, out.data(), rows[i], outs[i].data(), kWidth);
    for (float& x : out) x /= total.sum;
    for (size_t c = 0; c < kWidth && !results.empty(); ++c) {
      spread = std::max(spread, std::abs(out[c] - (*results.begin())[c]));
    }
    results.insert(out);
  } while (std::next_permutation(order, order + kParts));
  const auto most = example.at("float32").at("max_abs_spread_over_24_orders").Number();
  CHECK(spread <= 2 * most);
  CHECK(results.size() > 1);
  CHECK(results.size() <= 24);
}

TEST_CASE("the gated delta rule writes and reads the example's matrices") {
  const Example example = CompressionExample("10_delta_rule");
  const auto step = [](std::vector<float> state, const std::vector<float>& key,
                       const std::vector<float>& value, float beta, float decay,
                       const std::vector<float>& query, std::vector<float>* out) {
    std::vector<float> read(2);
    DeltaRuleHead head;
    head.key_width = head.value_width = 2;
    head.state = state.data();
    head.queries = {query.data(), 2};
    head.keys = {key.data(), 2};
    head.values = {value.data(), 2};
    head.betas = {&beta, 1};
    head.decays = {&decay, 1};
    head.out = {read.data(), 2};
    DeltaRule(head, 1);
    if (out != nullptr) *out = read;
    return state;
  };
  // From nothing, keys at right angles: sums of outer products.
  std::vector<float> read;
  std::vector<float> state = step({0, 0, 0, 0}, {1, 0}, {2, 1}, 1, 1, {1, 1}, nullptr);
  state = step(state, {0, 1}, {1, 3}, 1, 1, {1, 1}, &read);
  CheckNear(state, example.at("S2"));
  CheckNear(read, example.at("q=[1,1] -> S2^T q"));
  CheckNear(step(state, {1, 0}, {0, 2}, 1, 1, {1, 1}, nullptr), example.at("delta_beta1"));
  state = step(state, {0.6f, 0.8f}, {1, -1}, 0.5f, 0.9f, {1, 0}, &read);
  CheckNear(state, example.at("gated(alpha=.9,beta=.5,k=[.6,.8],v=[1,-1])"));
  CheckNear(state, example.at("closed_form alpha(I-beta k k^T)S + beta k v^T"));
  CheckNear(read, example.at("read q=[1,0]"));
}

TEST_CASE(
    "latent attention gives the same with its matrices absorbed as with keys and values made") {
  const Example example = CompressionExample("11_mla");
  const Matrix make_keys = MatrixOf(example.at("W_UK"));
  const Matrix make_values = MatrixOf(example.at("W_UV"));
  const Matrix latents = MatrixOf(example.at("c"));
  const Matrix turned = MatrixOf(example.at("k_rope"));
  const std::vector<float> query = FloatsOf(example.at("q_nope"));
  const std::vector<float> turned_query = FloatsOf(example.at("q_rope"));
  constexpr float kScale = 0.5f;  // 1 / sqrt(2 + 2)

  Matrix keys;
  Matrix values;
  for (size_t i = 0; i < latents.size(); ++i) {
    keys.push_back(Joined(Product(make_keys, latents[i]), turned[i]));
    values.push_back(Product(make_values, latents[i]));
  }
  AttentionShape shape;
  shape.scale = kScale;
  CheckNear(AttentionOf(shape, keys, values, Joined(query, turned_query)),
            example.at("out_explicit"));

  const std::vector<float> absorbed = Product(Transposed(make_keys), query);
  CheckNear(absorbed, example.at("q'=W_UK^T q"));
  const std::vector<float> full = Joined(absorbed, turned_query);
  RowAttentionShape rows;
  rows.heads = 1;
  rows.width = 5;
  rows.value_width = 3;
  rows.scale = kScale;
  rows.codec = DType::kF32;
  std::vector<std::byte> block(static_cast<size_t>(StateTileBytes(DType::kF32, 5)));
  for (size_t i = 0; i < latents.size(); ++i) {
    const std::vector<float> row = Joined(latents[i], turned[i]);
    StoreRow(DType::kF32, row.data(), 1, 5, static_cast<int64_t>(i), block.data());
  }
  std::byte* blocks[] = {block.data()};
  std::vector<float> mean(3);
  RowAttentionSpan span;
  span.blocks = blocks;
  span.first_position = 2;
  span.tokens = 1;
  span.queries = full.data();
  span.out = mean.data();
  RowAttentionScratch scratch;
  ThreadPool pool(1);
  RowAttention(rows, {&span, 1}, scratch, pool);
  CheckNear(Product(make_values, mean), example.at("out_absorbed"));
}

TEST_CASE("a page's smallest and largest channels bound every product with its keys") {
  // The engine picks blocks by their largest products themselves; this holds the bound alone.
  const Example example = CompressionExample("15_quest");
  const std::vector<float> query = FloatsOf(example.at("q"));
  std::vector<double> bounds;
  std::vector<double> largest;
  for (const Example& page : example.at("pages(2 tokens)").Parts()) {
    double bound = 0;
    std::vector<double> products(page.size());
    for (size_t c = 0; c < query.size(); ++c) {
      std::vector<double> terms;
      for (size_t k = 0; k < page.size(); ++k) terms.push_back(page[k][c].Number() * query[c]);
      for (size_t k = 0; k < page.size(); ++k) products[k] += terms[k];
      bound += std::ranges::max(terms);
    }
    bounds.push_back(bound);
    largest.push_back(std::ranges::max(products));
    CHECK(bound >= largest.back());
  }
  CheckNear(bounds, example.at("upper_bound"), 1e-9);
  CheckNear(largest, example.at("true_max"), 1e-9);
  CHECK(std::ranges::max_element(bounds) - bounds.begin() == example.at("top1_page").Int());
}

}  // namespace cairn
