#include "tools/key_standards_file.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <utility>
#include <vector>

#include "cairn/base/env.h"
#include "cairn/engine/sequence_runner.h"
#include "cairn/weights/safetensors.h"
#include "tools/generation.h"
#include "tools/measuring_text.h"
#include "tools/terminal.h"

namespace cairn {
namespace {

constexpr TokenCount kMostTokens{1024};

std::string NameOf(size_t layer, const char* what) {
  return fmt::format("layers.{}.{}", layer, what);
}

// Evenly over the vocabulary, in an order that doesn't repeat.
std::vector<TokenId> AnyTokens(int64_t vocabulary) {
  constexpr int64_t kStride = 7919;  // prime
  std::vector<TokenId> tokens;
  for (int64_t i = 1; i <= kMostTokens.value() / 2; ++i) {
    tokens.emplace_back(static_cast<int32_t>(i * kStride % vocabulary));
  }
  return tokens;
}

Result<std::vector<TokenId>> TokensFor(const WeightFile& file, const ModelArgs& args,
                                       const ModelSpec& spec) {
  const Result<Tokenizer> tokenizer = OpenTokenizer(file, args.model);
  if (!tokenizer) return AnyTokens(spec.vocabulary);
  CAIRN_ASSIGN(std::vector<TokenId> tokens, tokenizer->Encode(kMeasuringText));
  tokens.resize(std::min(tokens.size(), static_cast<size_t>(kMostTokens.value())));
  return tokens;
}

NamedTensor TensorOf(std::string name, const std::vector<float>& values) {
  return {.name = std::move(name),
          .dtype = DType::kF32,
          .shape = {static_cast<int64_t>(values.size())},
          .bytes = std::as_bytes(std::span(values))};
}

Result<std::vector<float>> FloatsOf(const WeightFile& file, const std::string& name) {
  CAIRN_ASSIGN(const TensorInfo* tensor, file.Require(name));
  if (tensor->dtype != DType::kF32) {
    return Fail(ErrorCode::kInvalidArgument, "tensor {} must be float32", name);
  }
  std::vector<float> values(tensor->bytes.size() / sizeof(float));
  std::memcpy(values.data(), tensor->bytes.data(), tensor->bytes.size());
  return values;
}

}  // namespace

Result<KeyStandards> MeasureKeyStandards(const ModelArgs& args, ThreadPool& pool) {
  const ProgressLine progress("measuring keys of " + args.model);
  CAIRN_ASSIGN(DescribedFile described, DescribeFile(args));
  CAIRN_ASSIGN(const std::vector<TokenId> tokens, TokensFor(*described.file, args, described.spec));
  CAIRN_ASSIGN(SequenceRunner::Options runner_options, RunnerOptionsOf(args, described.spec));
  ModelOptions options;
  options.codecs.keys = options.codecs.values = DType::kF32;
  options.context = runner_options.context;
  CAIRN_ASSIGN(const std::unique_ptr<Model> model,
               LoadModel(std::move(described.file), std::move(described.spec), options, pool));
  KeyMeter meter(model->spec(), options.context);
  model->ObserveKeys(&meter);
  runner_options.context = std::min(runner_options.context, kMostTokens);
  runner_options.chunk = std::min(runner_options.chunk, TokenCount(kMostTokens.value() / 2));
  CAIRN_ASSIGN(const auto store, MakeStoreFor(*model, runner_options, 1));
  CAIRN_ASSIGN(const auto runner, SequenceRunner::Make(*model, *store, runner_options));
  const auto count = std::min(tokens.size(), static_cast<size_t>(runner_options.context.value()));
  CAIRN_TRY(runner->Append(std::span(tokens).first(count)));
  return meter.Standards();
}

Result<KeyStandards> ReadKeyStandards(const std::string& path, const ModelSpec& model) {
  CAIRN_ASSIGN(const std::unique_ptr<WeightFile> file, OpenWeightFile(path));
  KeyStandards standards;
  for (size_t i = 0; i < model.layers.size(); ++i) {
    KeyStandards::Layer& layer = standards.layers.emplace_back();
    if (file->Find(NameOf(i, "mean")) == nullptr) continue;
    CAIRN_ASSIGN(layer.mean, FloatsOf(*file, NameOf(i, "mean")));
    CAIRN_ASSIGN(layer.spread, FloatsOf(*file, NameOf(i, "spread")));
  }
  return standards;
}

Status WriteKeyStandards(const std::string& path, const KeyStandards& standards) {
  std::vector<NamedTensor> tensors;
  for (size_t i = 0; i < standards.layers.size(); ++i) {
    const KeyStandards::Layer& layer = standards.layers[i];
    if (layer.mean.empty()) continue;
    tensors.push_back(TensorOf(NameOf(i, "mean"), layer.mean));
    tensors.push_back(TensorOf(NameOf(i, "spread"), layer.spread));
  }
  return WriteSafetensors(path, tensors);
}

Result<KeyStandards> KeyStandardsFor(const ModelArgs& args, const ModelSpec& model,
                                     ThreadPool& pool) {
  const std::string& path = args.key_standards;
  if (!path.empty() && FileExists(path)) return ReadKeyStandards(path, model);
  CAIRN_ASSIGN(KeyStandards standards, MeasureKeyStandards(args, pool));
  if (!path.empty()) CAIRN_TRY(WriteKeyStandards(path, standards));
  return standards;
}

}  // namespace cairn
