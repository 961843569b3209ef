// What must hold for the size of any model, tried on every golden and on every real config there
// is.
#include <doctest/doctest.h>

#include <filesystem>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "cairn/sizing/report.h"
#include "cairn/sizing/request.h"
#include "cairn/spec/families_for_tests.h"

namespace cairn {
namespace {

const std::vector<int64_t> kLengths = {0, 1, 5, 127, 128, 1000, 4096, 40'000};

// All config.json files of the project, and real ones where they are at hand.
std::vector<std::filesystem::path> ConfigFiles() {
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator("tests/golden")) {
    if (std::filesystem::exists(entry.path() / "config.json")) {
      files.push_back(entry.path() / "config.json");
    }
  }
  const std::filesystem::path real = "../shared/data/configs";
  if (!std::filesystem::exists(real)) return files;
  for (const auto& entry : std::filesystem::directory_iterator(real)) {
    if (entry.path().extension() == ".json") files.push_back(entry.path());
  }
  return files;
}

void ForEachModel(const std::function<void(const std::string&, const ModelSpec&)>& check) {
  int models = 0;
  for (const std::filesystem::path& file : ConfigFiles()) {
    CAPTURE(file.string());
    const auto model = ModelSpecFromConfig(ReadFileForTest(file), file.string());
    if (!model) continue;  // out of scope; other tests say which may be
    check(file.string(), *model);
    ++models;
  }
  CHECK_GE(models, 8);
}

SizeReport MustAnswer(const std::string& name, const ModelSpec& model, const SizeRequest& request) {
  auto report = AnswerSizeRequest({.name = name, .spec = model}, request);
  REQUIRE_MESSAGE(report.has_value(), report.error().message);
  return *std::move(report);
}

SizeRequest Ask(int64_t batch, const std::vector<int64_t>& lengths, int64_t prefix = 0) {
  SizeRequest request;
  request.question.batch = batch;
  request.question.shared_prefix = TokenCount(prefix);
  for (const int64_t tokens : lengths) request.question.tokens.emplace_back(tokens);
  return request;
}

}  // namespace

TEST_CASE("a longer context never takes less, whatever the model") {
  ForEachModel([](const std::string& name, const ModelSpec& model) {
    const SizeReport report = MustAnswer(name, model, Ask(1, kLengths));
    for (size_t i = 1; i < report.sizing.answers.size(); ++i) {
      CHECK_GE(report.sizing.answers[i].total.kv_bytes,
               report.sizing.answers[i - 1].total.kv_bytes);
      CHECK_EQ(report.sizing.answers[i].total.state_bytes,
               report.sizing.answers[0].total.state_bytes);
    }
  });
}

TEST_CASE("requests that share nothing add up, and layers add up to the model") {
  ForEachModel([](const std::string& name, const ModelSpec& model) {
    const SizeReport one = MustAnswer(name, model, Ask(1, kLengths));
    const SizeReport seven = MustAnswer(name, model, Ask(7, kLengths));
    for (size_t i = 0; i < kLengths.size(); ++i) {
      CHECK_EQ(seven.sizing.answers[i].total.TotalBytes(),
               one.sizing.answers[i].total.TotalBytes() * 7);
      Bytes layers;
      for (const LayerGroup& group : one.sizing.groups) layers += group.amounts[i].TotalBytes();
      CHECK_EQ(layers, one.sizing.answers[i].total.TotalBytes());
    }
  });
}

TEST_CASE("sharing a prefix never costs more than not sharing, and saves at most all of it") {
  ForEachModel([](const std::string& name, const ModelSpec& model) {
    const SizeReport one = MustAnswer(name, model, Ask(1, kLengths));
    const SizeReport alone = MustAnswer(name, model, Ask(5, kLengths));
    for (const int64_t prefix : {1, 100, 4096, 100'000}) {
      const SizeReport shared = MustAnswer(name, model, Ask(5, kLengths, prefix));
      for (size_t i = 0; i < kLengths.size(); ++i) {
        const StateAmount& amount = shared.sizing.answers[i].total;
        CHECK_LE(amount.kv_bytes, alone.sizing.answers[i].total.kv_bytes);
        CHECK_LE(amount.allocated_bytes, alone.sizing.answers[i].total.allocated_bytes);
        CHECK_GE(amount.kv_bytes, one.sizing.answers[i].total.kv_bytes);
      }
    }
  });
}

TEST_CASE("cards that divide a model hold all of it together") {
  ForEachModel([](const std::string& name, const ModelSpec& model) {
    const SizeReport whole = MustAnswer(name, model, Ask(2, kLengths));
    for (const Parallelism& parallel :
         {Parallelism{.tp = 2}, Parallelism{.tp = 8}, Parallelism{.tp = 3, .pp = 2},
          Parallelism{.tp = 4, .dcp = 2}, Parallelism{.tp = 2, .dp = 2}}) {
      if (std::cmp_less(model.layers.size(), parallel.pp)) continue;
      SizeRequest request = Ask(2, kLengths);
      request.parallel = parallel;
      const auto answered = AnswerSizeRequest({.name = name, .spec = model}, request);
      if (!answered) {  // some models have no rows that --dcp could divide
        CHECK_MESSAGE(parallel.dcp > 1, answered.error().message);
        continue;
      }
      const SizeReport& divided = *answered;
      for (size_t i = 0; i < kLengths.size(); ++i) {
        Bytes cards;
        for (const StageSizing& stage : divided.stages) {
          cards += stage.sizing.answers[i].total.TotalBytes() * (parallel.tp * parallel.dp);
        }
        CHECK_GE(cards, whole.sizing.answers[i].total.TotalBytes());
      }
    }
  });
}

TEST_CASE("the JSON of a report holds its numbers and reads back as the same text") {
  ForEachModel([](const std::string& name, const ModelSpec& model) {
    const SizeReport report = MustAnswer(name, model, Ask(3, {4096}));
    const std::string text = ReportJson(report, 2);
    const auto json = nlohmann::ordered_json::parse(text);
    CHECK_EQ(json.dump(2) + "\n", text);
    CHECK_EQ(json.at("total_bytes"), report.sizing.answers[0].total.TotalBytes().value());
    CHECK_EQ(json.at("bytes_per_token"), report.sizing.bytes_per_token.value());
    int64_t layers = 0;
    for (const auto& group : json.at("layers")) {
      layers += group.at("sizes").at(0).at("total_bytes").get<int64_t>();
    }
    CHECK_EQ(layers, json.at("total_bytes"));
  });
}

}  // namespace cairn
