#include "cairn/serve/engine_service.h"

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <unordered_map>
#include <utility>

#include "cairn/base/env.h"
#include "cairn/base/executor.h"

namespace cairn {
namespace {

// While only reads of lower tiers are on their way.
constexpr std::chrono::microseconds kPollPause(500);

// One answer's text, and the calls in it as its client will find them.
class ReadAnswer {
 public:
  ReadAnswer(AnswerText text, ToolCallReader::Form form) : text_(std::move(text)), calls_(form) {}

  TextPiece Push(const GeneratedToken& token) {
    TextPiece piece = text_.Push(token);
    Note(calls_.Push(piece.text));
    return piece;
  }
  // The rest; only what OnEnd takes may follow.
  bool EndsWithCall() {
    rest_ = text_.Flush();
    Note(calls_.Push(rest_->text));
    Note(calls_.Flush());
    return has_called_;
  }
  TextPiece TakeRest() { return rest_ ? std::move(*rest_) : text_.Flush(); }
  bool stopped() const { return text_.stopped(); }
  const std::string& stop() const { return text_.stop(); }

 private:
  void Note(const ToolCallReader::Piece& piece) { has_called_ |= !piece.calls.empty(); }

  AnswerText text_;
  ToolCallReader calls_;
  bool has_called_ = false;
  std::optional<TextPiece> rest_;
};

}  // namespace

class EngineService::Impl final : public GenerationListener {
 public:
  Impl(Engine& engine, const TokenTable& table, AnswerObserver& observer, Options options)
      : engine_(engine), table_(table), observer_(observer), options_(options), thread_(1) {
    thread_.Run([this] { Loop(); });
  }

  ~Impl() override {
    {
      const std::lock_guard lock(mutex_);
      stopping_ = true;
    }
    changed_.notify_one();
  }

  bool Submit(JobId id, AnswerJob job) {
    if (jobs_.fetch_add(1) >= options_.max_jobs) {
      --jobs_;
      return false;
    }
    Queue([this, id, job = std::move(job)](Engine&) mutable { Take(id, std::move(job)); });
    return true;
  }

  void Cancel(JobId id) {
    Queue([this, id](Engine& engine) {
      const auto found = generations_.find(id);
      if (found != generations_.end()) engine.Cancel(found->second);
    });
  }

  void Queue(std::move_only_function<void(Engine&)> command) {
    {
      const std::lock_guard lock(mutex_);
      commands_.push_back(std::move(command));
    }
    changed_.notify_one();
  }

  int64_t jobs() const { return jobs_; }

  // ---- GenerationListener ----

  bool OnToken(const GeneratedToken& token) override {
    Running& running = running_.at(token.id);
    ReadAnswer& text = running.answers[static_cast<size_t>(token.answer)];
    AnswerEvent event{.kind = AnswerEvent::Kind::kPiece, .job = running.id, .answer = token.answer};
    event.time_us = NowMicroseconds();
    event.piece = text.Push(token);
    if (running.wants_tokens) {
      running.tokens[static_cast<size_t>(token.answer)].push_back(token.token);
    }
    events_.push_back(std::move(event));
    return !text.stopped();
  }

  void OnEmbedding(GenerationId id, std::span<const float> embedding) override {
    running_.at(id).embedding.assign(embedding.begin(), embedding.end());
  }

  bool CallsTool(GenerationId id, int32_t answer) override {
    return running_.at(id).answers[static_cast<size_t>(answer)].EndsWithCall();
  }

  void OnEnd(const GenerationEnded& ended) override {
    Running& running = running_.at(ended.id);
    ReadAnswer& text = running.answers[static_cast<size_t>(ended.answer)];
    AnswerEvent event{.kind = AnswerEvent::Kind::kEnded, .job = running.id, .answer = ended.answer};
    event.time_us = NowMicroseconds();
    event.piece = text.TakeRest();
    event.problem = {ErrorCode::kIo, ended.problem};
    event.end = {ended.reason, text.stop(), std::move(running.embedding)};
    event.tokens = ended.tokens;
    if (running.wants_tokens) {
      event.answer_tokens = std::move(running.tokens[static_cast<size_t>(ended.answer)]);
    }
    event.last = ended.last;
    event.usage = ended.usage;
    events_.push_back(std::move(event));
    if (!ended.last) return;
    generations_.erase(running.id);
    running_.erase(ended.id);
    --jobs_;
  }

 private:
  struct Running {
    JobId id;
    std::vector<ReadAnswer> answers = {};
    std::vector<float> embedding = {};
    bool wants_tokens = false;
    std::vector<std::vector<TokenId>> tokens = {};  // by answer, if wanted
  };

  void Loop() {
    bool idle = false;
    bool waiting = false;
    while (true) {
      std::vector<std::move_only_function<void(Engine&)>> commands;
      {
        std::unique_lock lock(mutex_);
        const auto called = [this] { return stopping_ || !commands_.empty(); };
        if (idle) changed_.wait(lock, called);
        if (waiting) changed_.wait_for(lock, kPollPause, called);
        if (stopping_) return;
        commands.swap(commands_);
      }
      for (auto& command : commands) command(engine_);
      const Engine::Progress progress = engine_.Step();
      idle = progress == Engine::Progress::kIdle;
      waiting = progress == Engine::Progress::kWaiting;
      if (!events_.empty()) observer_.OnAnswerEvents(std::exchange(events_, {}));
    }
  }

  void Take(JobId id, AnswerJob job) {
    Running running{.id = id, .wants_tokens = job.wants_tokens};
    running.tokens.resize(static_cast<size_t>(job.request.answers));
    for (int32_t i = 0; i < job.request.answers; ++i) {
      ApiResult<AnswerText> text = AnswerText::Make(table_, job.text);
      if (!text) return Refuse(id, {ErrorCode::kInvalidArgument, text.error().message});
      running.answers.emplace_back(std::move(*text), job.calls);
    }
    // The engine says it, too, but only in words.
    const Bytes missing = engine_.MissingBytes(job.request);
    const Result<GenerationId> generation = engine_.Submit(std::move(job.request), *this);
    if (!generation) {
      const bool never = generation.error().code == ErrorCode::kUnsupported;
      return Refuse(id, generation.error(), never ? missing : Bytes(0));
    }
    generations_.emplace(id, *generation);
    running_.emplace(*generation, std::move(running));
  }

  void Refuse(JobId id, Error problem, Bytes missing = {}) {
    AnswerEvent event{.kind = AnswerEvent::Kind::kRefused, .job = id};
    event.time_us = NowMicroseconds();
    event.problem = std::move(problem);
    event.missing = missing;
    event.last = true;
    events_.push_back(std::move(event));
    --jobs_;
  }

  Engine& engine_;
  const TokenTable& table_;
  AnswerObserver& observer_;
  const Options options_;
  std::atomic<int64_t> jobs_{0};

  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::move_only_function<void(Engine&)>> commands_;  // guarded by mutex_
  bool stopping_ = false;                                         // likewise

  // The engine's thread's own.
  std::unordered_map<JobId, GenerationId> generations_;
  std::unordered_map<GenerationId, Running> running_;
  std::vector<AnswerEvent> events_;

  IoThreads thread_;  // ends before what it uses
};

EngineService::EngineService(Engine& engine, const TokenTable& table, AnswerObserver& observer,
                             Options options)
    : impl_(std::make_unique<Impl>(engine, table, observer, options)) {}
EngineService::~EngineService() = default;

bool EngineService::Submit(JobId id, AnswerJob job) { return impl_->Submit(id, std::move(job)); }
void EngineService::Cancel(JobId id) { impl_->Cancel(id); }
int64_t EngineService::jobs() const { return impl_->jobs(); }

void EngineService::Inspect(std::move_only_function<void(const Engine&)> look) {
  impl_->Queue([look = std::move(look)](Engine& engine) mutable { look(engine); });
}

void EngineService::Tell(std::move_only_function<void(Engine&)> what) {
  impl_->Queue(std::move(what));
}

void EngineService::Drain(int64_t deadline_us) {
  impl_->Queue([deadline_us](Engine& engine) { engine.Drain(deadline_us); });
}

}  // namespace cairn
