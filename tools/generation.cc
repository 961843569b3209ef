#include "tools/generation.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <utility>

#include "cairn/base/env.h"
#include "cairn/engine/state_identity.h"
#include "cairn/state/session_file.h"
#include "cairn/text/stop_strings.h"
#include "cairn/text/stream_decoder.h"
#include "tools/terminal.h"

namespace cairn {
namespace {

// One that is generated, and what waits to be written of it and of what it began with.
constexpr int64_t kSequencesWithTiers = 3;

double Rate(int64_t tokens, int64_t elapsed_us) {
  return elapsed_us > 0 ? 1e6 * static_cast<double>(tokens) / static_cast<double>(elapsed_us) : 0;
}

}  // namespace

void GenerationArgs::AddFlags(CLI::App& command, int64_t default_max_tokens) {
  max_tokens = default_max_tokens;
  command.add_option("-n,--predict", max_tokens, "Tokens to generate at most; 0: until the end")
      ->check(CLI::Range(int64_t{0}, int64_t{1} << 31));
  command.add_option("--temp", sampling.temperature, "Temperature; 0: always the likeliest token");
  command.add_option("--top-k", sampling.top_k, "Sample from the K likeliest; 0: all");
  command.add_option("--top-p", sampling.top_p, "Sample from the likeliest that hold this share");
  command.add_option("--min-p", sampling.min_p,
                     "Leave out what is less likely than this x the best");
  command.add_option("--repeat-penalty", sampling.repetition_penalty,
                     "Lower repeated tokens; 1: off");
  command.add_option("--repeat-last-n", sampling.repetition_window,
                     "Tokens that count as repeated; -1: all");
  command.add_option("-s,--seed", seed, "Seed of the random draws; -1: a fresh one");
  command.add_option("--stop", stop, "End the answer before this text (may be given again)");
  command.add_option("--session", session,
                     "Go on with the conversation in this file, if it exists, and leave it there");
  tiers.AddFlags(command);
  command.add_flag("--ignore-eos", ignore_end, "Go on after the model's end-of-text token");
}

double TextAnswer::PromptTokensPerSecond() const { return Rate(prompt_tokens, prompt_us); }

double TextAnswer::AnswerTokensPerSecond() const {
  // The first token comes out of the prompt's work.
  return Rate(static_cast<int64_t>(tokens.size()) - 1, answer_us);
}

std::string_view NameOf(FinishReason reason) {
  switch (reason) {
    case FinishReason::kEndOfText:
      return "end of text";
    case FinishReason::kLength:
      return "length";
    case FinishReason::kStopString:
      return "stop string";
    case FinishReason::kInterrupted:
      return "interrupted";
  }
  return "";
}

namespace {

// What lost rows is never kept.
Status CheckPolicy(const GenerationArgs& generation) {
  if (generation.token_policy.empty()) return {};
  CAIRN_TRY(PolicySettings::Parse(generation.token_policy));
  if (generation.session.empty() && !generation.tiers.any()) return {};
  return Fail(ErrorCode::kUnsupported,
              "--token-policy drops rows, and such state is never kept; without --session, "
              "--disk-tier and --store would be right");
}

}  // namespace

Result<std::unique_ptr<TextGenerator>> TextGenerator::Open(const ModelArgs& model,
                                                           const GenerationArgs& generation) {
  CAIRN_TRY(CheckSamplingOptions(generation.sampling));
  if (const auto stops = StopStrings::Create(generation.stop); !stops) {
    return Fail(ErrorCode::kInvalidArgument, "--stop: {}", stops.error().message);
  }
  // What is quickly seen to be wrong is said before the weights are loaded.
  CAIRN_ASSIGN(DescribedFile described, DescribeFile(model));
  CAIRN_TRY(StateCodecsOf(model));
  CAIRN_TRY(CheckPolicy(generation));
  CAIRN_TRY(RunnerOptionsOf(model, described.spec));
  CAIRN_ASSIGN(Tokenizer tokenizer, OpenTokenizer(*described.file, model.model));
  ModelArgs to_open = model;
  to_open.fingerprint = !generation.session.empty() || generation.tiers.any();
  CAIRN_ASSIGN(OpenedModel opened, OpenModel(to_open, std::move(described)));
  CAIRN_ASSIGN(const SequenceRunner::Options options, RunnerOptionsOf(model, opened.model->spec()));
  CAIRN_ASSIGN(
      std::unique_ptr<StateStore> store,
      MakeStoreFor(*opened.model, options, generation.tiers.any() ? kSequencesWithTiers : 1));
  const uint64_t seed =
      generation.seed >= 0 ? static_cast<uint64_t>(generation.seed) : RandomSeed() >> 1;
  std::unique_ptr<TextGenerator> generator(new TextGenerator(
      std::move(opened), std::move(tokenizer), std::move(store), generation, seed));
  SequenceRunner::Options own = options;
  if (!generation.token_policy.empty()) {
    generator->policy_ = MakeTokenPolicy(*PolicySettings::Parse(generation.token_policy));
    own.policy = generator->policy_.get();
  }
  CAIRN_TRY(generator->StartSequence(own));
  CAIRN_TRY(generator->OpenManager());
  return generator;
}

TextGenerator::TextGenerator(OpenedModel opened, Tokenizer tokenizer,
                             std::unique_ptr<StateStore> store, const GenerationArgs& args,
                             uint64_t seed)
    : opened_(std::move(opened)),
      tokenizer_(std::move(tokenizer)),
      store_(std::move(store)),
      args_(args),
      seed_(seed),
      sampler_([&] {
        SamplingOptions sampling = args.sampling;
        sampling.seed = seed;
        return sampling;
      }()) {}

StateKey TextGenerator::Key() const {
  const TokenCount context = runner_->options().context;
  const StateIdentity identity = IdentityOf(model().spec(), context, opened_.fingerprint);
  return KeyOf(identity, model().layout().spec());
}

// With what the session file holds, if there is one: its state, or else its tokens computed anew.
Status TextGenerator::StartSequence(const SequenceRunner::Options& options) {
  CAIRN_ASSIGN(runner_, SequenceRunner::Make(*opened_.model, *store_, options));
  if (args_.session.empty() || !FileExists(args_.session)) return {};
  const StateKey key = Key();
  runner_.reset();  // the store has room for one sequence
  CAIRN_ASSIGN(Session session, ReadSession(args_.session, key, *store_));
  note_ = std::move(session.note);
  restored_ = TokenCount(static_cast<int64_t>(session.tokens.size()));
  if (session.state) {
    CAIRN_ASSIGN(runner_, SequenceRunner::Continue(*opened_.model, *store_, options, *session.state,
                                                   std::move(session.tokens)));
    return {};
  }
  fmt::print(stderr, "cairn: {}: the state can't be used ({}); its {} tokens are computed again\n",
             args_.session, session.why_not, restored_.value());
  CAIRN_ASSIGN(runner_, SequenceRunner::Make(*opened_.model, *store_, options));
  return runner_->Append(session.tokens);
}

Result<TokenCount> TextGenerator::KeepCommonPrefix(std::span<const TokenId> tokens) {
  const std::span<const TokenId> have = runner_->tokens();
  const size_t most = tokens.empty() ? 0 : std::min(have.size(), tokens.size() - 1);
  const auto same = std::ranges::mismatch(have.first(most), tokens.first(most)).in1;
  const TokenCount common(same - have.begin());
  if (runner_->Rewind(common)) return common;
  // A window may have dropped rows that the shorter prefix needs; then all starts anew.
  CAIRN_TRY(runner_->Rewind(TokenCount(0)));
  return TokenCount(0);
}

Status TextGenerator::SaveSession(const TextAnswer& answer, std::string_view note) {
  // The last token of an answer that was cut short has been chosen, and not been read yet.
  const std::span<const TokenId> have = runner_->tokens();
  const bool fits = static_cast<int64_t>(have.size()) < runner_->options().context.value();
  if (!answer.is_read && fits) CAIRN_TRY(runner_->Append({&answer.tokens.back(), 1}));
  return WriteSession(args_.session, Key(), runner_->tokens(), note, *store_, runner_->id());
}

Status TextGenerator::OpenManager() {
  if (!args_.tiers.any()) return {};
  CAIRN_ASSIGN(tiers_, OpenTiers(args_.tiers));
  StateManager::Options options;
  options.tiers = tiers_.options;
  CAIRN_ASSIGN(manager_, StateManager::Make(*store_, options));
  return {};
}

// Nothing has been computed yet, so what there is, is read.
Status TextGenerator::ResumeFromTiers(std::span<const TokenId> prompt, TextAnswer& answer) {
  CAIRN_ASSIGN(const LeaseId lease, manager_->Open(Key(), prompt, NowMicroseconds()));
  while (!manager_->Ready(lease)) {
    for (const Tier& tier : manager_->tiers()) tier.store().Flush();
    manager_->Poll(NowMicroseconds());
  }
  answer.origin = manager_->Origin(lease);
  const auto resumed = static_cast<size_t>(answer.origin.resumed().value());
  const Result<SequenceId> id = store_->Fork(manager_->Sequence(lease));
  manager_->Drop(lease);
  if (!id) return std::unexpected(id.error());
  const SequenceRunner::Options options = runner_->options();
  CAIRN_ASSIGN(runner_, SequenceRunner::Continue(
                            *opened_.model, *store_, options, *id,
                            {prompt.begin(), prompt.begin() + std::ptrdiff_t(resumed)}));
  return {};
}

Status TextGenerator::AppendPrompt(std::span<const TokenId> prompt, TextAnswer& answer) {
  const ProgressLine progress("");
  const int64_t start_us = NowMicroseconds();
  const auto show = [&](TokenCount done) {
    progress.Update(
        fmt::format("reading the prompt: {} of {} tokens", done.value(), prompt.size()));
    return !Interrupted();
  };
  if (manager_ != nullptr && runner_->tokens().empty()) {
    CAIRN_TRY(ResumeFromTiers(prompt, answer));
    prompt = prompt.subspan(runner_->tokens().size());
  }
  answer.prompt_tokens = static_cast<int64_t>(prompt.size());
  const TokenCount end(static_cast<int64_t>(runner_->tokens().size() + prompt.size()));
  while (!prompt.empty()) {
    const TokenCount length(static_cast<int64_t>(runner_->tokens().size()));
    const TokenCount next =
        manager_ == nullptr ? end : std::min(manager_->NextKeepAfter(length, end), end);
    const auto count = static_cast<size_t>((next - length).value());
    CAIRN_TRY(runner_->Append(prompt.first(count), show));
    prompt = prompt.subspan(count);
    if (manager_ != nullptr) {
      manager_->KeepSequence(Key(), runner_->tokens(), runner_->id(), NowMicroseconds());
    }
  }
  answer.prompt_us = NowMicroseconds() - start_us;
  return {};
}

Result<TextAnswer> TextGenerator::Generate(std::span<const TokenId> prompt,
                                           const std::function<void(std::string_view)>& emit) {
  TextAnswer answer;
  CAIRN_TRY(AppendPrompt(prompt, answer));
  if (policy_ != nullptr) CAIRN_TRY(runner_->EndPrompt());
  StreamDecoder decoder(tokenizer_.table(), {.skip_special = true, .at_text_start = false});
  CAIRN_ASSIGN(StopStrings stops, StopStrings::Create(args_.stop));
  const auto pass_on = [&](std::string_view text) {
    answer.text += text;
    if (!text.empty()) emit(text);
  };
  const int64_t start_us = NowMicroseconds();
  const int64_t limit =
      args_.max_tokens > 0 ? args_.max_tokens : runner_->options().context.value();
  while (static_cast<int64_t>(answer.tokens.size()) < limit) {
    const TokenId token = sampler_.Sample(runner_->logits(), runner_->tokens());
    if (!args_.ignore_end && tokenizer_.IsEndOfGeneration(token)) {
      answer.finish = FinishReason::kEndOfText;
      break;
    }
    answer.tokens.push_back(token);
    answer.is_read = false;
    pass_on(stops.Push(decoder.Push(token)));
    if (stops.stopped()) {
      answer.finish = FinishReason::kStopString;
      break;
    }
    if (Interrupted()) {
      answer.finish = FinishReason::kInterrupted;
      break;
    }
    const auto held = static_cast<int64_t>(runner_->tokens().size());
    if (static_cast<int64_t>(answer.tokens.size()) == limit ||
        held == runner_->options().context.value())
      break;
    CAIRN_TRY(runner_->Append({&token, 1}));
    answer.is_read = true;
  }
  answer.answer_us = NowMicroseconds() - start_us;
  if (!stops.stopped()) pass_on(stops.Push(decoder.Flush()));
  if (!stops.stopped()) pass_on(stops.Flush());
  if (manager_ != nullptr) {
    manager_->KeepSequence(Key(), runner_->tokens(), runner_->id(), NowMicroseconds());
    manager_->Flush(NowMicroseconds());
    manager_->MakeRoom(store_->stats().budget);
  }
  return answer;
}

}  // namespace cairn
