// The hidden states of the golden models: their head makes the reference's logits of them.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "cairn/kernels/dequantize.h"
#include "cairn/weights/weight_file.h"
#include "tests/model_for_tests.h"

namespace cairn {
namespace {

// The matrix of the head as the file has it; of tied heads the embedding.
std::vector<float> HeadOf(const std::string& name, const ModelSpec& spec) {
  const auto file = *OpenWeightFile(GoldenFolder(name));
  const std::vector<int64_t> shape = {spec.vocabulary, spec.hidden};
  const TensorInfo* found = nullptr;
  for (const TensorInfo& tensor : file->tensors()) {
    const std::string& tensor_name = tensor.name;
    const bool head = tensor_name.ends_with("lm_head.weight") || tensor_name == "head.weight" ||
                      tensor_name == "output.weight";
    const bool embedding =
        tensor_name.ends_with("embed_tokens.weight") || tensor_name.ends_with("embeddings.weight");
    if (tensor.shape == shape && (spec.tied_head ? embedding : head)) found = &tensor;
  }
  REQUIRE_MESSAGE(found != nullptr, name);
  std::vector<float> matrix(static_cast<size_t>(spec.vocabulary * spec.hidden));
  DequantizeRow(*found->dtype, found->bytes, matrix.data(), spec.vocabulary * spec.hidden);
  return matrix;
}

std::vector<float> HiddenStates(LoadedModel& loaded, std::span<const TokenId> tokens,
                                int64_t chunk) {
  StateStore& store = loaded.store();
  const SequenceId id = *store.Create();
  const int64_t width = loaded.model().spec().hidden;
  std::vector<float> rows;
  for (size_t at = 0; at < tokens.size(); at += static_cast<size_t>(chunk)) {
    const auto piece = tokens.subspan(at, std::min(static_cast<size_t>(chunk), tokens.size() - at));
    const auto count = static_cast<int64_t>(piece.size());
    REQUIRE(store.Prepare(id, TokenCount(count)).has_value());
    const BatchSpan span = {.state = store.View(id), .tokens = piece, .logits = count};
    loaded.model().Forward({&span, 1});
    store.Commit(id, TokenCount(count));
    const size_t before = rows.size();
    rows.resize(before + static_cast<size_t>(count * width));
    loaded.model().HiddenStates(0, count, rows.data() + before);
  }
  store.Release(id);
  return rows;
}

double LogitOf(std::span<const float> hidden, std::span<const float> row, const ModelSpec& spec) {
  double sum = 0;
  for (size_t i = 0; i < hidden.size(); ++i) sum += static_cast<double>(hidden[i]) * row[i];
  sum *= spec.logit_factor;
  return spec.logit_cap != 0 ? spec.logit_cap * std::tanh(sum / spec.logit_cap) : sum;
}

}  // namespace

TEST_CASE("the head makes the reference's logits of the hidden states, and chunks change no bit") {
  for (const std::string& name : GoldenNames()) {
    CAPTURE(name);
    const Golden golden = ReadGolden(name);
    LoadedModel loaded(GoldenFolder(name), {DType::kF32, DType::kF32}, 1);
    const ModelSpec& spec = loaded.model().spec();
    const auto width = static_cast<size_t>(spec.hidden);
    const auto vocabulary = static_cast<size_t>(spec.vocabulary);
    const std::vector<float> head = HeadOf(name, spec);
    const std::vector<float> hidden = HiddenStates(loaded, golden.prompt, 512);
    double largest = 0;
    for (size_t t = 0; t < golden.prompt.size(); ++t) {
      const auto state = std::span(hidden).subspan(t * width, width);
      for (size_t v = 0; v < vocabulary; ++v) {
        const double logit = LogitOf(state, std::span(head).subspan(v * width, width), spec);
        const double expected = golden.logits[t * vocabulary + v];
        largest = std::max(largest, std::abs(logit - expected));
      }
    }
    CHECK(largest <= golden.logit_tolerance);
    CHECK(SameBits(HiddenStates(loaded, golden.prompt, 7), hidden));
  }
}

}  // namespace cairn
