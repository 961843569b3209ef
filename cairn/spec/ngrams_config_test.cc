#include "cairn/spec/ngrams_config.h"

#include <doctest/doctest.h>

#include <string>

#include "cairn/spec/families_for_tests.h"

namespace cairn {
namespace {

HfConfig Config(const std::string& json) {
  auto config = HfConfig::Parse(json, "config.json");
  REQUIRE(config.has_value());
  return *std::move(config);
}

// Of two streams.
ModelSpec Model() {
  ModelSpec model;
  model.hidden = 64;
  model.residual = GatedStreamsSpec{.streams = 2, .rank = 8};
  model.layers.resize(4);
  return model;
}

std::string Ngrams(const std::string& layers, const std::string& more = "") {
  return R"({"ngram_size": 3, "ngram_vocab_size_base": 97, "heads_per_ngram": 2,
      "ple_embed_dim": 32, "make_ngram_vocab_size_divisible_by": 8, "ple_layer_ids": )" +
         layers + more + "}";
}

std::string Message(const std::string& json) {
  ModelSpec model = Model();
  const Status status = AddNgrams(Config(json), model);
  REQUIRE_FALSE(status.has_value());
  return status.error().message;
}

}  // namespace

TEST_CASE("each layer's tables are primes after those of the layers before, together rounded up") {
  ModelSpec model = Model();
  REQUIRE(AddNgrams(Config(Ngrams("[4, 2]")), model).has_value());
  CHECK_FALSE(model.layers[0].ngram.has_value());
  REQUIRE(model.layers[1].ngram.has_value());
  CHECK_EQ(model.layers[1].ngram->rows, 408);  // 97 + 101 + 103 + 107
  CHECK_EQ(model.layers[3].ngram->rows, 480);  // 109 + 113 + 127 + 131
  const NgramSpec& ngram = *model.layers[1].ngram;
  CHECK_EQ(ngram.Tables(), 4);
  CHECK_EQ(ngram.history, 2);
  CHECK_EQ(ngram.channels, 128);
  CHECK_EQ(ngram.conv_history, 9);
  CHECK_EQ(model.layers[3].other_parameters - model.layers[1].other_parameters, 72 * 8);
}

TEST_CASE("no list, and an empty one, are no n-grams") {
  ModelSpec model = Model();
  CHECK(AddNgrams(Config("{}"), model).has_value());
  CHECK(AddNgrams(Config(Ngrams("[]")), model).has_value());
  for (const LayerSpec& layer : model.layers) CHECK_FALSE(layer.ngram.has_value());
}

TEST_CASE("layers that there aren't, or twice, tables without channels and too many are errors") {
  CHECK_EQ(Message(Ngrams("[5]")),
           "config.json: ple_layer_ids[0] is 5, expected an integer from 1 to 4");
  CHECK_EQ(Message(Ngrams("[2, 1, 2]")),
           "config.json: ple_layer_ids is a list of 3, expected each layer at most once");
  CHECK_EQ(Message(Ngrams("[1]", R"(, "ple_embed_dim": 30)")),
           "config.json: ple_embed_dim is 30, expected a multiple of 4 tables");
  CHECK_EQ(Message(Ngrams("[1, 2]", R"(, "heads_per_ngram": 512, "ple_embed_dim": 1024)")),
           "config.json: heads_per_ngram is 512, expected at most 1024 tables in all");
}

TEST_CASE("n-grams end at the first token that ends an answer") {
  CHECK_EQ(EndTokenOfNgrams(Config(R"({"eos_token_id": 7})")).value(), 7);
  CHECK_EQ(EndTokenOfNgrams(Config(R"({"eos_token_id": [5, 2]})")).value(), 5);
  CHECK_FALSE(EndTokenOfNgrams(Config(R"({"eos_token_id": []})")).has_value());
  CHECK_FALSE(EndTokenOfNgrams(Config("{}")).has_value());
}

}  // namespace cairn
