#include "cairn/spec/state_layout.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cairn {
namespace {

Rows MakeRows(std::string name, int64_t heads, int64_t width) {
  Rows rows;
  rows.name = std::move(name);
  rows.heads = heads;
  rows.width = width;
  return rows;
}

LayerState KeysAndValues(int64_t heads, int64_t width, Lifetime lifetime = {}) {
  Rows keys = MakeRows("keys", heads, width);
  keys.lifetime = lifetime;
  keys.order = RowOrder::kTransposedTiles;
  Rows values = MakeRows("values", heads, width);
  values.lifetime = lifetime;
  return {{keys, values}};
}

StateSpec Repeat(const LayerState& layer, size_t layers) {
  return {std::vector<LayerState>(layers, layer)};
}

StateSpec OneComponent(Component component) { return {{{{std::move(component)}}}}; }

StateLayout MakeLayout(StateSpec spec) {
  auto layout = StateLayout::Make(std::move(spec));
  REQUIRE(layout.has_value());
  return *std::move(layout);
}

std::string ErrorOf(StateSpec spec) {
  const auto layout = StateLayout::Make(std::move(spec));
  REQUIRE_FALSE(layout.has_value());
  CHECK(layout.error().IsBadInput());
  return layout.error().message;
}

bool Contains(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

constexpr ClassIndex kFirst{0};

}  // namespace

TEST_CASE("multi-head and grouped-query attention take their textbook bytes") {
  struct Known {
    size_t layers;
    int64_t heads, width, bytes_per_token;
  };
  // 2 (K and V) x layers x KV heads x width x 2 bytes.
  for (const Known& known : {Known{32, 32, 128, 524288},  // Llama 2 7B, MHA
                             Known{32, 8, 128, 131072},   // Llama 3 8B, GQA
                             Known{30, 3, 64, 23040},     // SmolLM2 135M
                             Known{18, 1, 256, 18432}}) {
    const StateLayout layout =
        MakeLayout(Repeat(KeysAndValues(known.heads, known.width), known.layers));
    REQUIRE_EQ(layout.classes().size(), 1);
    CHECK_EQ(layout.MarginalBytesPerToken(), Bytes(known.bytes_per_token));
    CHECK_EQ(layout.MarginalElementsPerToken(), ElementCount(known.bytes_per_token / 2));
    CHECK_EQ(layout.classes()[0].block_bytes, Bytes(16 * known.bytes_per_token));
    CHECK_EQ(layout.ContentBytes(TokenCount(0)), Bytes(0));
    CHECK_EQ(layout.AllocatedBytes(TokenCount(0)), Bytes(0));
    CHECK_EQ(layout.ContentBytes(TokenCount(100)), Bytes(100 * known.bytes_per_token));
    CHECK_EQ(layout.AllocatedBytes(TokenCount(100)), Bytes(112 * known.bytes_per_token));
    CHECK_EQ(layout.AllocatedBytes(TokenCount(1024)), Bytes(1024 * known.bytes_per_token));
    CHECK_EQ(layout.ContentElements(TokenCount(100)), ElementCount(50 * known.bytes_per_token));
  }
}

TEST_CASE("a window keeps min(n, W - 1) rows, in whole blocks that start at multiples of 16") {
  const StateLayout layout = MakeLayout(OneComponent([] {
    Rows rows = MakeRows("keys", 1, 8);  // 16 bytes a row
    rows.lifetime = Lifetime::Window(TokenCount(20));
    return rows;
  }()));
  for (int64_t n = 0; n < 200; ++n) {
    CHECK_EQ(layout.RowsNeeded(kFirst, TokenCount(n)), std::min<int64_t>(n, 19));
  }
  CHECK_EQ(layout.ContentBytes(TokenCount(1000)), Bytes(19 * 16));
  CHECK_EQ(layout.BlocksHeld(kFirst, TokenCount(19)), BlockRange{0, 2});
  CHECK_EQ(layout.BlocksHeld(kFirst, TokenCount(34)), BlockRange{0, 3});  // rows 15..33
  CHECK_EQ(layout.BlocksHeld(kFirst, TokenCount(35)), BlockRange{1, 3});  // rows 16..34
  CHECK_EQ(layout.BlocksWhileAdding(kFirst, TokenCount(35), TokenCount(100)), BlockRange{1, 9});
  CHECK_EQ(layout.AllocatedBytes(TokenCount(35)), Bytes(2 * 256));
  CHECK_EQ(layout.AllocatedBytesWhileAdding(TokenCount(35), TokenCount(100)), Bytes(8 * 256));
  CHECK_EQ(layout.MarginalBytesPerToken(), Bytes(0));
}

TEST_CASE("a chunk keeps n mod C rows") {
  Rows rows = MakeRows("keys", 2, 8);  // 32 bytes a row
  rows.lifetime = Lifetime::Chunk(TokenCount(48));
  const StateLayout layout = MakeLayout(OneComponent(rows));
  for (int64_t n = 0; n < 200; ++n) {
    CHECK_EQ(layout.RowsNeeded(kFirst, TokenCount(n)), n % 48);
  }
  CHECK_EQ(layout.BlocksHeld(kFirst, TokenCount(47)), BlockRange{0, 3});
  CHECK_EQ(layout.BlocksHeld(kFirst, TokenCount(48)), BlockRange{3, 3});
  CHECK_EQ(layout.BlocksHeld(kFirst, TokenCount(49)), BlockRange{3, 4});
  CHECK_EQ(layout.AllocatedBytes(TokenCount(96)), Bytes(0));
  CHECK_EQ(layout.MarginalBytesPerToken(), Bytes(0));
}

TEST_CASE("a block that is partly written stays although no row of it is needed") {
  Rows rows = MakeRows("open_window", 1, 4);
  rows.lifetime = Lifetime::Chunk(TokenCount(12));
  const StateLayout layout = MakeLayout(OneComponent(rows));
  CHECK_EQ(layout.RowsNeeded(kFirst, TokenCount(24)), 0);
  CHECK_EQ(layout.BlocksHeld(kFirst, TokenCount(24)), BlockRange{1, 2});
  CHECK_EQ(layout.BlocksHeld(kFirst, TokenCount(48)), BlockRange{3, 3});
}

TEST_CASE("compressed rows count floor(n / tokens per row)") {
  for (const int64_t per_row : {4, 128}) {
    Rows rows = MakeRows("latent", 1, 512);
    rows.tokens_per_row = TokenCount(per_row);
    const StateLayout layout = MakeLayout(OneComponent(rows));
    for (int64_t n = 0; n < 3000; n += 7) {
      CHECK_EQ(layout.RowsNeeded(kFirst, TokenCount(n)), n / per_row);
      CHECK_EQ(layout.ContentBytes(TokenCount(n)), Bytes(n / per_row * 1024));
    }
    CHECK_EQ(layout.classes()[0].TokensPerBlock(), TokenCount(16 * per_row));
    CHECK_EQ(layout.BlocksHeld(kFirst, TokenCount(per_row - 1)), BlockRange{0, 0});
    CHECK_EQ(layout.BlocksHeld(kFirst, TokenCount(per_row)), BlockRange{0, 1});
    CHECK_EQ(layout.BlocksHeld(kFirst, TokenCount(17 * per_row)), BlockRange{0, 2});
    CHECK_EQ(layout.MarginalBytesPerToken(), Bytes(1024 / per_row));
  }
}

TEST_CASE("a fraction of a byte per token is rounded up") {
  Rows rows = MakeRows("latent", 1, 3);
  rows.tokens_per_row = TokenCount(4);
  const StateLayout layout = MakeLayout(OneComponent(rows));
  CHECK_EQ(layout.MarginalBytesPerToken(), Bytes(2));
  CHECK_EQ(layout.MarginalElementsPerToken(), ElementCount(1));
}

TEST_CASE("fixed components lie one behind the other at multiples of 64 and don't grow") {
  Fixed matrix;
  matrix.name = "matrix";
  matrix.elements = ElementCount(25);  // 100 bytes
  Fixed tail;
  tail.name = "tail";
  tail.elements = ElementCount(6);
  tail.dtype = DType::kBF16;
  const StateLayout layout = MakeLayout(Repeat({{matrix, tail}}, 2));
  REQUIRE_EQ(layout.fixed().size(), 4);
  CHECK_EQ(layout.fixed()[0].offset, Bytes(0));
  CHECK_EQ(layout.fixed()[1].offset, Bytes(128));
  CHECK_EQ(layout.fixed()[2].offset, Bytes(192));
  CHECK_EQ(layout.fixed()[3].offset, Bytes(320));
  CHECK_EQ(layout.fixed()[3].layer, LayerIndex(1));
  CHECK_EQ(layout.fixed()[3].component, 1);
  CHECK_EQ(layout.fixed_bytes(), Bytes(332));
  for (const int64_t n : {0, 1, 5000}) {
    CHECK_EQ(layout.AllocatedBytes(TokenCount(n)), Bytes(332));
    CHECK_EQ(layout.ContentBytes(TokenCount(n)), Bytes(224));
    CHECK_EQ(layout.ContentElements(TokenCount(n)), ElementCount(62));
  }
  CHECK_EQ(layout.MarginalBytesPerToken(), Bytes(0));
}

TEST_CASE("an alias stores nothing and is found at its target's place") {
  StateSpec spec = Repeat(KeysAndValues(2, 16), 2);
  spec.layers.push_back({{Alias{LayerIndex(1)}}});
  const StateLayout layout = MakeLayout(spec);
  CHECK_EQ(layout.MarginalBytesPerToken(), Bytes(2 * 2 * 2 * 16 * 2));
  const auto target = layout.PlaceOf(LayerIndex(1), "values");
  const auto alias = layout.PlaceOf(LayerIndex(2), "values");
  CHECK_EQ(alias.slot, target.slot);
  CHECK_EQ(alias.block_class, target.block_class);
  CHECK_EQ(alias.rows->name, "values");
  CHECK_THROWS(static_cast<void>(layout.PlaceOf(LayerIndex(2), "latent")));
  CHECK_THROWS(static_cast<void>(layout.PlaceOf(LayerIndex(3), "values")));
}

TEST_CASE("rows of equal lifetime and tokens per row share a class, others don't") {
  StateSpec spec;
  const Lifetime window = Lifetime::Window(TokenCount(512));
  for (int i = 0; i < 12; ++i) {
    spec.layers.push_back(KeysAndValues(1, 256, i % 6 == 5 ? Lifetime::All() : window));
  }
  Rows compressed = MakeRows("latent", 1, 32);
  compressed.tokens_per_row = TokenCount(4);
  spec.layers.push_back({{compressed}});
  // The unused count of kAll doesn't make another class.
  spec.layers.push_back(KeysAndValues(1, 256, {Lifetime::Kind::kAll, TokenCount(7)}));
  const StateLayout layout = MakeLayout(spec);
  REQUIRE_EQ(layout.classes().size(), 3);
  CHECK_EQ(layout.classes()[0].lifetime, window);
  CHECK_EQ(layout.classes()[0].row_bytes, Bytes(10 * 2 * 256 * 2));
  CHECK_EQ(layout.classes()[1].lifetime, Lifetime::All());
  CHECK_EQ(layout.classes()[1].row_bytes, Bytes(3 * 2 * 256 * 2));
  CHECK_EQ(layout.classes()[2].row_bytes, Bytes(64));
  CHECK_EQ(layout.PlaceOf(LayerIndex(5), "values").block_class, ClassIndex(1));
  CHECK_EQ(layout.PlaceOf(LayerIndex(5), "values").slot->offset, Bytes(256 * 2 * 16));
  // 1,000 tokens: 511 rows of ten layers in blocks 30..62, all rows of three layers, 250 latents.
  CHECK_EQ(layout.ContentBytes(TokenCount(1000)), Bytes(511 * 10240 + 1000 * 3072 + 250 * 64));
  CHECK_EQ(layout.AllocatedBytes(TokenCount(1000)),
           Bytes(33 * 16 * 10240 + 63 * 16 * 3072 + 16 * 16 * 64));
}

TEST_CASE("a model without state has none") {
  const StateLayout layout = MakeLayout({{LayerState{}, LayerState{}}});
  CHECK(layout.classes().empty());
  CHECK_EQ(layout.AllocatedBytes(TokenCount(100)), Bytes(0));
}

TEST_CASE("a row in any stored form takes the form's bytes, scales and minimums included") {
  constexpr std::pair<DType, int64_t> kBytesOf64[] = {
      {DType::kF32, 256}, {DType::kF16, 128},   {DType::kBF16, 128}, {DType::kF8E4M3, 64},
      {DType::kQ8_0, 68}, {DType::kQ5_1, 48},   {DType::kQ5_0, 44},  {DType::kQ4_1, 40},
      {DType::kQ4_0, 36}, {DType::kIQ4_NL, 36}, {DType::kLM5, 41},   {DType::kLM4, 33},
      {DType::kLM3, 25},  {DType::kLM2, 17}};
  for (const auto& [codec, bytes] : kBytesOf64) {
    for (const RowOrder order : {RowOrder::kRowMajor, RowOrder::kTransposedTiles}) {
      CAPTURE(InfoOf(codec).name);
      Rows rows = MakeRows("values", 4, 64);
      rows.codec = codec;
      rows.order = order;
      const StateLayout layout = MakeLayout(OneComponent(rows));
      CHECK_EQ(layout.classes()[0].row_bytes, Bytes(4 * bytes));
      CHECK_EQ(layout.ContentBytes(TokenCount(5)), Bytes(5 * 4 * bytes));
    }
  }
}

TEST_CASE("a codec's block must divide the width of a head") {
  Rows rows = MakeRows("values", 4, 48);
  rows.codec = DType::kQ8_0;
  CHECK(Contains(ErrorOf(OneComponent(rows)), "values of width 48 can't be q8_0"));
  rows.width = 64;
  CHECK_EQ(MakeLayout(OneComponent(rows)).classes()[0].row_bytes, Bytes(4 * 68));
  rows.order = RowOrder::kTransposedTiles;
  CHECK_EQ(MakeLayout(OneComponent(rows)).classes()[0].row_bytes, Bytes(4 * 68));
  rows.width = 48;
  CHECK(Contains(ErrorOf(OneComponent(rows)), "values of width 48 can't be q8_0"));
  Fixed fixed;
  fixed.name = "matrix";
  fixed.elements = ElementCount(33);
  fixed.dtype = DType::kQ8_0;
  CHECK(Contains(ErrorOf(OneComponent(fixed)), "needs a multiple of 32"));
}

TEST_CASE("a codec with a scale for each row is of rows alone, as wide as its blocks") {
  Rows rows = MakeRows("keys", 4, 48);
  rows.codec = DType::kLM4;
  CHECK(Contains(ErrorOf(OneComponent(rows)), "keys of width 48 can't be lm4"));
  Fixed fixed;
  fixed.name = "matrix";
  fixed.elements = ElementCount(64);
  fixed.dtype = DType::kLM4;
  CHECK(Contains(ErrorOf(OneComponent(fixed)), "matrix can't be lm4, which needs rows"));
}

TEST_CASE("sizes out of bounds are errors that name layer, component and bound") {
  for (const int64_t bad : {INT64_MIN, int64_t{-1}, int64_t{0}, int64_t{1} << 40, INT64_MAX}) {
    Rows rows = MakeRows("keys", bad, 64);
    CHECK(Contains(ErrorOf(OneComponent(rows)), "layer 0: keys has heads"));
    rows = MakeRows("keys", 4, bad);
    CHECK(Contains(ErrorOf(OneComponent(rows)), "keys has width"));
    rows = MakeRows("keys", 4, 64);
    rows.tokens_per_row = TokenCount(bad);
    CHECK(Contains(ErrorOf(OneComponent(rows)), "keys has tokens per row"));
    Fixed fixed;
    fixed.name = "matrix";
    fixed.elements = ElementCount(bad);
    CHECK(Contains(ErrorOf(OneComponent(fixed)), "matrix"));
    if (bad > 0) continue;
    rows = MakeRows("keys", 4, 64);
    rows.lifetime = Lifetime::Window(TokenCount(bad));
    CHECK(Contains(ErrorOf(OneComponent(rows)), "keys has window"));
    rows.lifetime = Lifetime::Chunk(TokenCount(bad));
    CHECK(Contains(ErrorOf(OneComponent(rows)), "keys has chunk"));
  }
  // Each part is within its bound, the sum isn't.
  CHECK(Contains(ErrorOf(Repeat({{MakeRows("keys", 1024, 65536)}}, 3)), "a row of all layers"));
  Fixed fixed;
  fixed.name = "matrix";
  fixed.elements = ElementCount(int64_t{1} << 37);
  CHECK(Contains(ErrorOf(Repeat({{fixed}}, 3)), "the fixed state takes"));
  CHECK(Contains(ErrorOf(Repeat({}, 100000)), "100000 layers"));
}

TEST_CASE("the largest state that is allowed doesn't overflow") {
  // One row of 2^28 bytes.
  const StateLayout layout = MakeLayout(OneComponent(MakeRows("keys", 1 << 10, 1 << 17)));
  CHECK_EQ(layout.ContentBytes(kMaxStateTokens), Bytes(int64_t{1} << 58));
  CHECK_EQ(layout.AllocatedBytes(kMaxStateTokens), Bytes(int64_t{1} << 58));
  CHECK_THROWS(static_cast<void>(layout.AllocatedBytes(kMaxStateTokens + TokenCount(1))));
  CHECK_THROWS(static_cast<void>(layout.AllocatedBytes(TokenCount(-1))));
  CHECK_THROWS(static_cast<void>(layout.AllocatedBytesWhileAdding(kMaxStateTokens, TokenCount(1))));
}

TEST_CASE("names within a layer must be there and differ") {
  CHECK(Contains(ErrorOf(OneComponent(MakeRows("", 1, 1))), "name of its own"));
  CHECK(Contains(ErrorOf({{{{MakeRows("a", 1, 1), MakeRows("a", 1, 1)}}}}), "'a'"));
}

TEST_CASE("an alias must be alone and read an earlier layer that stores something") {
  const LayerState own = KeysAndValues(1, 8);
  const auto alias_of = [](int32_t layer) { return LayerState{{Alias{LayerIndex(layer)}}}; };
  CHECK(Contains(ErrorOf({{alias_of(0)}}), "must be an earlier layer"));
  CHECK(Contains(ErrorOf({{own, alias_of(2), own}}), "must be an earlier layer"));
  CHECK(Contains(ErrorOf({{own, alias_of(-1)}}), "must be an earlier layer"));
  CHECK(Contains(ErrorOf({{own, alias_of(0), alias_of(1)}}), "no components of its own"));
  CHECK(Contains(ErrorOf({{LayerState{}, alias_of(0)}}), "no components of its own"));
  LayerState mixed = own;
  mixed.components.emplace_back(Alias{LayerIndex(0)});
  CHECK(Contains(ErrorOf({{own, mixed}}), "only component"));
}

TEST_CASE("a chunk and the one before: rows go a whole chunk at a time, one chunk late") {
  StateSpec spec;
  Rows rows;
  rows.name = "open_window";
  rows.heads = 2;
  rows.width = 8;
  rows.lifetime = Lifetime::ChunkAndTheOneBefore(TokenCount(4));
  rows.open_window = true;
  spec.layers.push_back({{rows}});
  const auto layout = StateLayout::Make(std::move(spec));
  REQUIRE(layout.has_value());
  const ClassIndex only(0);
  const int64_t kept[] = {0, 1, 2, 3, 4, 5, 6, 7, 4, 5, 6, 7, 4};
  for (int64_t tokens = 0; tokens <= 12; ++tokens) {
    CHECK_EQ(layout->RowsNeeded(only, TokenCount(tokens)), kept[tokens]);
    CHECK_EQ(layout->RowsSeen(only, TokenCount(tokens)), std::min<int64_t>(tokens, 8));
  }
}

TEST_CASE("open windows are content and are allocated, but aren't what a query reads") {
  StateSpec spec;
  Rows keys;
  keys.name = "keys";
  keys.width = 8;
  keys.lifetime = Lifetime::Chunk(TokenCount(4));
  Rows open = keys;
  open.name = "open_window";
  open.open_window = true;
  spec.layers.push_back({{keys, open}});
  const auto layout = StateLayout::Make(std::move(spec));
  REQUIRE(layout.has_value());
  CHECK_EQ(layout->classes().size(), 2);
  CHECK_EQ(layout->ContentBytes(TokenCount(3)), Bytes(2 * 3 * 16));
  CHECK_EQ(layout->SeenRowBytes(TokenCount(3)), Bytes(3 * 16));
  CHECK_EQ(layout->OpenWindowBytes(TokenCount(9)), Bytes(4 * 16));
  CHECK_EQ(layout->AllocatedBytes(TokenCount(3)), Bytes(2 * 16 * 16));
}

}  // namespace cairn
