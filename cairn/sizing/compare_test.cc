#include "cairn/sizing/compare.h"

#include <doctest/doctest.h>

#include <string>
#include <variant>

#include "cairn/spec/catalog.h"

namespace cairn {
namespace {

Sizing SizingOf(const char* name) {
  const auto model = ModelFromName(name);
  REQUIRE_MESSAGE(model.has_value(), model.error().message);
  SizingQuestion question;
  question.codecs = {.keys = DType::kBF16, .values = DType::kBF16};
  question.tokens = {TokenCount(1024), TokenCount(32768)};
  auto sizing = SizeModel(*model, question, std::nullopt);
  REQUIRE_MESSAGE(sizing.has_value(), sizing.error().message);
  return *std::move(sizing);
}

const Cell& At(const Table& table, size_t row, const std::string& column) {
  for (size_t i = 0; i < table.columns.size(); ++i) {
    if (table.columns[i].key == column) return table.rows[row][i];
  }
  FAIL(column);
  return table.rows[row].front();
}

}  // namespace

TEST_CASE("models stand side by side with shares of the first") {
  const Sizing all = SizingOf("layers=32,kv_heads=4,head_dim=256");
  const Sizing few = SizingOf("Qwen3.5-9B");
  const Section section =
      CompareSection({{"all", &all, TokenCount(0)}, {"few", &few, TokenCount(30000)}});
  REQUIRE_EQ(section.tables.size(), 2);
  const Table& models = section.tables[0];
  REQUIRE_EQ(models.rows.size(), 2);
  CHECK(At(models, 0, "parameters") == Cell());
  CHECK(At(models, 0, "context_length") == Cell());
  CHECK(At(models, 0, "kinds") == Cell(std::string("32 full")));
  CHECK(At(models, 1, "layer_count") == Cell(int64_t{32}));
  CHECK(At(models, 1, "attention_layers") == Cell(int64_t{8}));
  CHECK(At(models, 1, "bytes_per_token") == Cell(int64_t{32768}));
  CHECK(At(models, 1, "bytes_per_token_share") == Cell(0.25));
  CHECK(At(models, 1, "context_length") == Cell(int64_t{30000}));
  const Table& lengths = section.tables[1];
  REQUIRE_EQ(lengths.rows.size(), 4);
  CHECK(At(lengths, 3, "tokens") == Cell(int64_t{32768}));
  CHECK(At(lengths, 3, "kv_bytes") == Cell(int64_t{1} << 30));
  CHECK(At(lengths, 3, "kv_share") == Cell(0.25));
  CHECK_EQ(section.warnings.size(), 1);
  CHECK_NE(section.warnings[0].find("few is made for 30000 tokens"), std::string::npos);
}

TEST_CASE("layers of a kind are counted together") {
  const Sizing sizing = SizingOf("layers=6,kv_heads=1,head_dim=8,window=16,full_every=3");
  CHECK_EQ(LayerKinds(sizing), "4 sliding, 2 full");
}

TEST_CASE("a share of nothing has no value") {
  const Sizing none = SizingOf("layers=2,kv_heads=1,head_dim=8,window=16");
  const Section section = CompareSection({{"none", &none, TokenCount(0)}});
  CHECK(At(section.tables[0], 0, "bytes_per_token_share") == Cell());
}

}  // namespace cairn
