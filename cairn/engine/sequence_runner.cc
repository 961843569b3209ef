#include "cairn/engine/sequence_runner.h"

#include <algorithm>
#include <utility>

#include "cairn/base/check.h"

namespace cairn {
namespace {

// Rows of logits that are in memory at once: large vocabularies have a megabyte to a row.
constexpr int64_t kLogitRows = 16;

}  // namespace

Result<std::unique_ptr<SequenceRunner>> SequenceRunner::Make(Model& model, StateStore& store,
                                                             Options options) {
  CAIRN_CHECK(options.chunk.value() > 0);
  std::unique_ptr<RowWatcher> watcher;
  if (options.policy != nullptr) {
    CAIRN_ASSIGN(watcher, model.WatchRows(*options.policy));
  }
  CAIRN_ASSIGN(const SequenceId id, store.Create());
  std::unique_ptr<SequenceRunner> runner(new SequenceRunner(model, store, options, id));
  runner->watcher_ = std::move(watcher);
  return runner;
}

Result<std::unique_ptr<SequenceRunner>> SequenceRunner::Continue(Model& model, StateStore& store,
                                                                 Options options, SequenceId id,
                                                                 std::vector<TokenId> tokens) {
  CAIRN_CHECK(store.Length(id).value() == static_cast<int64_t>(tokens.size()));
  std::unique_ptr<SequenceRunner> runner(new SequenceRunner(model, store, options, id));
  CAIRN_TRY(runner->CheckAppend(tokens));
  runner->tokens_ = std::move(tokens);
  return runner;
}

SequenceRunner::SequenceRunner(Model& model, StateStore& store, Options options, SequenceId id)
    : model_(model), store_(store), options_(options), id_(id) {
  tokens_.reserve(static_cast<size_t>(std::min<int64_t>(options.context.value(), 1 << 20)));
  logits_.resize(static_cast<size_t>(model.spec().vocabulary));
}

SequenceRunner::~SequenceRunner() { store_.Release(id_); }

Status SequenceRunner::CheckAppend(std::span<const TokenId> tokens) const {
  const auto before = static_cast<int64_t>(tokens_.size());
  const auto added = static_cast<int64_t>(tokens.size());
  if (before + added > options_.context.value()) {
    return Fail(ErrorCode::kInvalidArgument,
                "{} tokens do not fit: {} of the context's {} are taken; a larger context (-c) or "
                "fewer tokens would be right",
                added, before, options_.context.value());
  }
  for (const TokenId id : tokens) {
    if (id.value() >= 0 && id.value() < model_.spec().vocabulary) continue;
    return Fail(ErrorCode::kInvalidArgument, "token id {} is outside the vocabulary of {}",
                id.value(), model_.spec().vocabulary);
  }
  return {};
}

Status SequenceRunner::AppendChunk(std::span<const TokenId> chunk, int64_t wanted) {
  const TokenCount count(static_cast<int64_t>(chunk.size()));
  CAIRN_TRY(store_.Prepare(id_, count));
  const BatchSpan span = {
      .state = store_.View(id_), .tokens = chunk, .logits = wanted, .watcher = watcher_.get()};
  model_.Forward({&span, 1});
  store_.Commit(id_, count);
  tokens_.insert(tokens_.end(), chunk.begin(), chunk.end());
  have_logits_ = false;
  if (!prompt_ || !watcher_) return {};
  const TokenCount read(static_cast<int64_t>(tokens_.size()));
  return options_.policy->settings().NextDrop(*prompt_, read) == read ? DropRows() : Status();
}

Status SequenceRunner::DropRows() {
  const RowsToKeep keep = watcher_->Choose(store_.View(id_));
  CAIRN_TRY(store_.DropRows(id_, keep));
  watcher_->OnDropped(keep);
  // Nobody asks again.
  if (options_.policy->settings().Whole("every") == 0) watcher_.reset();
  return {};
}

Status SequenceRunner::EndPrompt() {
  CAIRN_CHECK(options_.policy != nullptr && !tokens_.empty() && !prompt_);
  prompt_ = TokenCount(static_cast<int64_t>(tokens_.size()));
  return DropRows();
}

int64_t SequenceRunner::UntilDrop(int64_t most) const {
  if (!prompt_ || !watcher_) return most;
  const TokenCount read(static_cast<int64_t>(tokens_.size()));
  const TokenCount drop = options_.policy->settings().NextDrop(*prompt_, read + TokenCount(1));
  return std::min(most, (drop - read).value());
}

Status SequenceRunner::Append(std::span<const TokenId> tokens, const Progress& progress) {
  CAIRN_TRY(CheckAppend(tokens));
  const auto added = static_cast<int64_t>(tokens.size());
  for (int64_t first = 0, count = 0; first < added; first += count) {
    count = UntilDrop(std::min(options_.chunk.value(), added - first));
    const auto part = tokens.subspan(static_cast<size_t>(first), static_cast<size_t>(count));
    const int64_t done = first + count;
    const bool last = done == added;
    CAIRN_TRY(AppendChunk(part, last ? 1 : 0));
    have_logits_ = last;
    if (last) model_.Logits(0, 1, logits_.data());
    if (progress && !progress(TokenCount(done))) {
      return Fail(ErrorCode::kCancelled, "stopped after {} tokens", tokens_.size());
    }
  }
  return {};
}

Status SequenceRunner::AppendForLogits(std::span<const TokenId> tokens, const LogitRows& rows) {
  CAIRN_TRY(CheckAppend(tokens));
  const auto added = static_cast<int64_t>(tokens.size());
  const int64_t vocabulary = model_.spec().vocabulary;
  std::vector<float> buffer(static_cast<size_t>(std::min(added, kLogitRows) * vocabulary));
  for (int64_t first = 0, count = 0; first < added; first += count) {
    count = UntilDrop(std::min(options_.chunk.value(), added - first));
    CAIRN_TRY(
        AppendChunk(tokens.subspan(static_cast<size_t>(first), static_cast<size_t>(count)), count));
    for (int64_t row = 0; row < count; row += kLogitRows) {
      const int64_t some = std::min(kLogitRows, count - row);
      model_.Logits(row, some, buffer.data());
      rows(first + row, std::span(buffer).first(static_cast<size_t>(some * vocabulary)));
      if (first + row + some < added) continue;
      std::copy_n(buffer.begin() + (some - 1) * vocabulary, vocabulary, logits_.begin());
      have_logits_ = true;
    }
  }
  return {};
}

std::span<const float> SequenceRunner::logits() {
  CAIRN_CHECK(have_logits_);
  return logits_;
}

Status SequenceRunner::Rewind(TokenCount tokens) {
  CAIRN_CHECK(tokens.value() >= 0 && tokens.value() <= static_cast<int64_t>(tokens_.size()));
  if (options_.policy != nullptr) {
    return Fail(ErrorCode::kUnsupported, "a sequence under a token policy can't go back");
  }
  CAIRN_TRY(store_.Rewind(id_, tokens));
  tokens_.resize(static_cast<size_t>(tokens.value()));
  have_logits_ = false;
  return {};
}

Bytes StateBytesFor(const StateLayout& layout, const SequenceRunner::Options& options) {
  // Where windows slide, the most blocks are held at some point on the way, not at the end.
  Bytes largest;
  for (int64_t n = 0; n < options.context.value(); ++n) {
    const TokenCount added(std::min(options.chunk.value(), options.context.value() - n));
    largest = std::max(largest, layout.AllocatedBytesWhileAdding(TokenCount(n), added));
  }
  return largest;
}

}  // namespace cairn
