#include <doctest/doctest.h>

#include <string>
#include <variant>

#include "cairn/sizing/bounds.h"
#include "cairn/sizing/bounds_flops.h"

namespace cairn {
namespace {

// 32 layers, 8 KV heads of 128: 128 KiB a token.
BoundsQuestion Llama8B(int64_t context) {
  BoundsQuestion question;
  ModelSpec& model = question.model;
  model.family = "llama";
  model.vocabulary = 128'256;
  model.hidden = 4096;
  AttentionSpec attention;
  attention.heads = 32;
  attention.kv_heads = 8;
  attention.key_width = attention.value_width = 128;
  model.layers.assign(32,
                      {.mixer = attention, .feed_forward = GatedMlpSpec{.intermediate = 14'336}});
  question.codecs = {.keys = DType::kBF16, .values = DType::kBF16};
  question.context = TokenCount(context);
  question.gpu = ParseGpu("H100")->gpu;
  question.weights =
      *WeighModel(model, {}, StorageOf(model, *WeightFormatFromName("bf16")), std::nullopt);
  return question;
}

Cell CellIn(const Section& section, const std::string& link, std::string_view column) {
  const Table& table = section.tables.front();
  for (const auto& row : table.rows) {
    if (std::get<std::string>(row[0]) != link) continue;
    for (size_t i = 0; i < row.size(); ++i) {
      if (table.columns[i].key == column) return row[i];
    }
  }
  FAIL("no cell " << link << " " << column);
  return {};
}

}  // namespace

TEST_CASE("a request of 16 Ki tokens is 2 GiB, and takes 2 GiB over the link's rate") {
  const auto section = TransfersSection(Llama8B(16'384));
  REQUIRE_MESSAGE(section.has_value(), section.error().message);
  CHECK_EQ(std::get<int64_t>(section->fields[0].value), int64_t{2} << 30);
  const double gib2 = 2147483648.0;
  CHECK_EQ(std::get<double>(CellIn(*section, "pcie5", "load_ms")),
           doctest::Approx(gib2 / 63.015e9 * 1e3));
  CHECK_EQ(std::get<double>(CellIn(*section, "nvme4", "store_ms")),
           doctest::Approx(gib2 / 6.9e9 * 1e3));
  CHECK_EQ(section->tables.front().rows.size(), Links().size());
}

TEST_CASE("one link may be chosen, which the hand-over takes too") {
  BoundsQuestion question = Llama8B(16'384);
  question.link = *FindLink("100gbe");
  question.batch = 3;
  const auto section = TransfersSection(question);
  REQUIRE(section.has_value());
  REQUIRE_EQ(section->tables.front().rows.size(), 1);
  CHECK_EQ(std::get<std::string>(section->fields[1].value), "100 Gb Ethernet");
  CHECK_EQ(std::get<double>(section->fields[2].value),
           doctest::Approx(2147483648.0 / 12.5e9 * 1e3));
  CHECK_EQ(std::get<double>(CellIn(*section, "100gbe", "batch_ms")),
           doctest::Approx(3 * 2147483648.0 / 12.5e9 * 1e3));
}

TEST_CASE("loading beats computing from the break-even on and not before") {
  // So slow a link that attention's square decides.
  BoundsQuestion question = Llama8B(1024);
  const Link slow = {
      .name = "slow", .label = "slow", .aliases = "", .read_gbs = 4, .write_gbs = 4, .source = ""};
  const auto tokens = LoadBeatsRecompute(question, slow);
  REQUIRE(tokens.has_value());
  REQUIRE(tokens->has_value());
  const auto wins = [&](int64_t prefix) {
    const double load_s = static_cast<double>(prefix) * 131'072 / 4e9;
    const Flops flops = PrefillFlops(question.model, *question.weights->multiplied,
                                     TokenCount(prefix), TokenCount(0));
    return load_s < flops.Total() / 989e12;
  };
  CHECK_GT((*tokens)->value(), 1);
  CHECK(wins((*tokens)->value()));
  CHECK_FALSE(wins((*tokens)->value() - 1));
}

TEST_CASE("over a fast link loading always wins, over a hopeless one never") {
  const BoundsQuestion question = Llama8B(1024);
  CHECK_EQ((*LoadBeatsRecompute(question, **FindLink("nvlink4")))->value(), 1);
  const Link hopeless = {
      .name = "x", .label = "x", .aliases = "", .read_gbs = 1e-6, .write_gbs = 1e-6, .source = ""};
  CHECK_FALSE(LoadBeatsRecompute(question, hopeless)->has_value());
}

TEST_CASE("without compute there is no break-even, and the section says why") {
  BoundsQuestion question = Llama8B(1024);
  question.gpu = nullptr;
  const auto section = TransfersSection(question);
  REQUIRE(section.has_value());
  CHECK(std::holds_alternative<std::monostate>(CellIn(*section, "pcie5", "break_even_tokens")));
  CHECK_EQ(section->notes.size(), 3);
}

}  // namespace cairn
