// cairn logits: the model's next-token distributions for given tokens, for tests and comparisons.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstring>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include "cairn/kernels/ops.h"
#include "cairn/weights/safetensors.h"
#include "tools/commands.h"
#include "tools/model_args.h"
#include "tools/state_tensors.h"
#include "tools/terminal.h"

namespace cairn {
namespace {

struct LogitsArgs {
  ModelArgs model;
  std::string tokens_path;
  std::string out_path;
  std::string state_path;
  std::string state_tensors_path;
  std::string layers_path;
  int64_t top = 64;
  int64_t chunk = 512;
  int64_t fork_at = -1;
  bool full = false;
};

// Rows of logits computed at once: bounds memory for large vocabularies.
constexpr int64_t kRowsAtOnce = 16;

Result<std::vector<TokenId>> ReadTokens(const std::string& path, int64_t vocabulary) {
  CAIRN_ASSIGN(const std::unique_ptr<WeightFile> file, OpenWeightFile(path));
  CAIRN_ASSIGN(const TensorInfo* tensor, file->Require("tokens"));
  if (tensor->dtype != DType::kI32 || tensor->shape.size() != 1 || tensor->shape[0] == 0) {
    return Fail(ErrorCode::kInvalidArgument, "{}: tensor tokens must be int32 of shape [tokens]",
                path);
  }
  std::vector<int32_t> values(static_cast<size_t>(tensor->shape[0]));
  std::memcpy(values.data(), tensor->bytes.data(), values.size() * sizeof(int32_t));
  std::vector<TokenId> ids;
  for (const int32_t value : values) {
    if (value < 0 || value >= vocabulary) {
      return Fail(ErrorCode::kInvalidArgument, "{}: token id {} is outside the vocabulary of {}",
                  path, value, vocabulary);
    }
    ids.emplace_back(value);
  }
  return ids;
}

// What the output file holds, filled row by row.
class Output {
 public:
  Output(const LogitsArgs& args, std::vector<TokenId> tokens, int64_t vocabulary)
      : full_(args.full),
        top_(std::min(args.top, vocabulary)),
        vocabulary_(vocabulary),
        tokens_(std::move(tokens)) {
    const size_t rows = tokens_.size();
    if (full_) {
      logits_.resize(rows * static_cast<size_t>(vocabulary));
      return;
    }
    next_logprob_.resize(rows - 1);
    top_ids_.resize(rows * static_cast<size_t>(top_));
    top_logprob_.resize(rows * static_cast<size_t>(top_));
  }

  // `logits` of the token at `row`; rows may come from several threads.
  void SetRow(int64_t row, const float* logits) {
    if (full_) {
      std::copy_n(logits, vocabulary_, logits_.begin() + row * vocabulary_);
      return;
    }
    const double normaliser = LogSumExp(logits, vocabulary_);
    const auto logprob = [&](int64_t id) { return static_cast<float>(logits[id] - normaliser); };
    const auto at = static_cast<size_t>(row);
    if (at + 1 < tokens_.size()) next_logprob_[at] = logprob(tokens_[at + 1].value());
    std::vector<int32_t> ids(static_cast<size_t>(vocabulary_));
    std::iota(ids.begin(), ids.end(), 0);
    std::partial_sort(ids.begin(), ids.begin() + top_, ids.end(), [&](int32_t a, int32_t b) {
      return logits[a] > logits[b] || (logits[a] == logits[b] && a < b);
    });
    for (int64_t i = 0; i < top_; ++i) {
      const auto to = static_cast<size_t>(row * top_ + i);
      top_ids_[to] = ids[static_cast<size_t>(i)];
      top_logprob_[to] = logprob(top_ids_[to]);
    }
  }

  Status Write(const std::string& path) const {
    const auto rows = static_cast<int64_t>(tokens_.size());
    std::vector<NamedTensor> tensors;
    if (full_) {
      tensors.push_back(
          {"logits", DType::kF32, {rows, vocabulary_}, std::as_bytes(std::span(logits_))});
    } else {
      const std::string prefix = fmt::format("top{}", top_);
      tensors.push_back(
          {"next_token_logprob", DType::kF32, {rows - 1}, std::as_bytes(std::span(next_logprob_))});
      tensors.push_back(
          {prefix + "_ids", DType::kI32, {rows, top_}, std::as_bytes(std::span(top_ids_))});
      tensors.push_back(
          {prefix + "_logprob", DType::kF32, {rows, top_}, std::as_bytes(std::span(top_logprob_))});
    }
    return WriteSafetensors(path, tensors);
  }

 private:
  const bool full_;
  const int64_t top_;
  const int64_t vocabulary_;
  const std::vector<TokenId> tokens_;
  std::vector<float> logits_;
  std::vector<float> next_logprob_;
  std::vector<int32_t> top_ids_;
  std::vector<float> top_logprob_;
};

// Feeds tokens [first, end) of `tokens` to the sequence, chunk by chunk.
Status Feed(Model& model, StateStore& store, ThreadPool& pool, SequenceId id,
            std::span<const TokenId> tokens, int64_t first, int64_t end, int64_t chunk,
            Output* output, const ProgressLine& progress) {
  const int64_t vocabulary = model.spec().vocabulary;
  std::vector<float> logits(static_cast<size_t>(kRowsAtOnce * vocabulary));
  while (first < end) {
    const int64_t count = std::min(chunk, end - first);
    CAIRN_TRY(store.Prepare(id, TokenCount(count)));
    const BatchSpan span = {
        .state = store.View(id),
        .tokens = tokens.subspan(static_cast<size_t>(first), static_cast<size_t>(count)),
        .logits = output == nullptr ? 0 : count};
    model.Forward({&span, 1});
    store.Commit(id, TokenCount(count));
    for (int64_t row = 0; row < model.logit_rows(); row += kRowsAtOnce) {
      const int64_t rows = std::min(kRowsAtOnce, model.logit_rows() - row);
      model.Logits(row, rows, logits.data());
      auto body = [&](int64_t i, int) {
        output->SetRow(first + row + i, logits.data() + i * vocabulary);
      };
      pool.ParallelFor(rows, body);
    }
    first += count;
    progress.Update(fmt::format("{} of {} tokens", first, tokens.size()));
  }
  return {};
}

// All blocks of a sequence, by class and position.
Status WriteState(const StateStore& store, SequenceId id, const std::string& path) {
  std::vector<NamedTensor> tensors;
  store.ForEachBlock(
      id, [&](ClassIndex block_class, int64_t block, std::span<const std::byte> bytes) {
        tensors.push_back({fmt::format("class{}.block{}", block_class.value(), block),
                           DType::kU8,
                           {static_cast<int64_t>(bytes.size())},
                           bytes});
      });
  return WriteSafetensors(path, tensors);
}

// What the layers put out, token by token: "layer_out.LAYER" [tokens, width].
class LayerOutputs {
 public:
  void Add(size_t layer, std::span<const float> rows, int64_t width) {
    if (layers_.size() <= layer) layers_.resize(layer + 1);
    layers_[layer].insert(layers_[layer].end(), rows.begin(), rows.end());
    width_ = width;
  }
  Status Write(const std::string& path) const {
    std::vector<NamedTensor> tensors;
    for (size_t i = 0; i < layers_.size(); ++i) {
      tensors.push_back({fmt::format("layer_out.{}", i),
                         DType::kF32,
                         {static_cast<int64_t>(layers_[i].size()) / width_, width_},
                         std::as_bytes(std::span(layers_[i]))});
    }
    return WriteSafetensors(path, tensors);
  }

 private:
  std::vector<std::vector<float>> layers_;
  int64_t width_ = 1;
};

Status RunLogits(const LogitsArgs& args) {
  CAIRN_ASSIGN(DescribedFile described, DescribeFile(args.model));
  const int64_t vocabulary = described.spec.vocabulary;
  CAIRN_ASSIGN(const std::vector<TokenId> tokens, ReadTokens(args.tokens_path, vocabulary));
  const auto count = static_cast<int64_t>(tokens.size());
  const int64_t context = described.spec.context_length.value();
  if (context > 0 && count > context) {
    return Fail(ErrorCode::kInvalidArgument, "{}: {} tokens, but {} was made for a context of {}",
                args.tokens_path, count, args.model.model, context);
  }
  ModelArgs model_args = args.model;
  model_args.context = count;
  CAIRN_ASSIGN(OpenedModel opened, OpenModel(model_args, std::move(described)));
  Model& model = *opened.model;
  const SequenceRunner::Options options = {.context = TokenCount(count),
                                           .chunk = TokenCount(std::min(args.chunk, count))};
  CAIRN_ASSIGN(const std::unique_ptr<StateStore> store, MakeStoreFor(model, options, 2));
  CAIRN_ASSIGN(SequenceId id, store->Create());
  Output output(args, tokens, vocabulary);
  LayerOutputs layers;
  if (!args.layers_path.empty()) {
    model.ObserveLayers([&](size_t layer, std::span<const float> rows, int64_t width) {
      layers.Add(layer, rows, width);
    });
  }
  const ProgressLine progress("computing");
  int64_t done = 0;
  if (args.fork_at >= 0) {
    done = std::min(args.fork_at, count);
    CAIRN_TRY(
        Feed(model, *store, *opened.pool, id, tokens, 0, done, args.chunk, &output, progress));
    CAIRN_ASSIGN(const SequenceId fork, store->Fork(id));
    // The parent goes its own way, so that whatever is shared and should not be shows.
    const std::vector<TokenId> other(tokens.rbegin(), tokens.rend());
    CAIRN_TRY(
        Feed(model, *store, *opened.pool, id, other, done, count, args.chunk, nullptr, progress));
    id = fork;
  }
  CAIRN_TRY(
      Feed(model, *store, *opened.pool, id, tokens, done, count, args.chunk, &output, progress));
  if (!args.state_path.empty()) CAIRN_TRY(WriteState(*store, id, args.state_path));
  if (!args.state_tensors_path.empty()) {
    CAIRN_TRY(WriteStateTensors(*store, id, args.state_tensors_path));
  }
  if (!args.layers_path.empty()) CAIRN_TRY(layers.Write(args.layers_path));
  return output.Write(args.out_path);
}

}  // namespace

void AddLogitsCommand(CLI::App& app, ChosenCommand& chosen) {
  static LogitsArgs args;  // the parser writes into it after this function has returned
  CLI::App& command =
      *app.add_subcommand("logits", "Write next-token distributions of given tokens");
  args.model.AddModelFlag(command);
  args.model.AddThreadFlag(command);
  args.model.AddStateFlags(command);
  command.add_option("--tokens", args.tokens_path, "A .safetensors file with int32 tokens")
      ->required();
  command.add_option("--out", args.out_path, "The .safetensors file to write")->required();
  command.add_option("--top", args.top, "How many of the likeliest tokens to write")
      ->check(CLI::Range(1, 1 << 20));
  command.add_option("--chunk", args.chunk, "Tokens computed at once; changes no bit")
      ->check(CLI::Range(1, 1 << 20));
  command
      .add_option("--fork-at", args.fork_at,
                  "Fork the sequence after so many tokens and go on with the fork; changes no bit")
      ->check(CLI::Range(0, 1 << 30));
  command.add_option("--state-out", args.state_path,
                     "Also write the state's blocks to this .safetensors file");
  command.add_option("--state-tensors-out", args.state_tensors_path,
                     "Also write the state as tensors of plain numbers, layer by layer");
  command.add_option("--layers-out", args.layers_path, "Also write what each layer puts out");
  command.add_flag("--full", args.full, "Write all logits [tokens, vocabulary] instead");
  command.callback([&chosen] {
    chosen = [] {
      const Status status = RunLogits(args);
      return status ? 0 : ExitCodeOf(status.error());
    };
  });
}

}  // namespace cairn
