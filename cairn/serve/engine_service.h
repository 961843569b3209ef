// EngineService: an Engine on a thread of its own, and the tokens of its answers as text.
//
// Jobs come from any thread and wait in a bounded queue; between two steps the engine's thread
// takes them in, with what is to be cancelled. What a step brought is handed to the observer at
// once, on the engine's thread. A cancelled job ends with the next step.
//
// Invariants: a job that Submit took ends exactly once, by kRefused or by kEnded with `last`,
// unless the service is destroyed before. No more than max_jobs are there at a time. Thread safety:
// all members from any thread; the engine is touched by its own thread alone.
#ifndef CAIRN_SERVE_ENGINE_SERVICE_H_
#define CAIRN_SERVE_ENGINE_SERVICE_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "cairn/base/ids.h"
#include "cairn/base/status.h"
#include "cairn/engine/engine.h"
#include "cairn/serve/answer_renderer.h"
#include "cairn/serve/answer_text.h"
#include "cairn/serve/tool_calls.h"
#include "cairn/text/token_table.h"

namespace cairn {

// Chosen by whoever submits; never used twice.
using JobId = Id<struct JobTag, int64_t>;

struct AnswerJob {
  GenerationRequest request;
  AnswerTextOptions text;
  // The form of calls that its client will see in the answers: the engine is told of them, too.
  ToolCallReader::Form calls = ToolCallReader::Form::kNone;
  bool wants_tokens = false;  // with the end of each answer
};

struct AnswerEvent {
  enum class Kind : uint8_t { kRefused, kPiece, kEnded };
  Kind kind = Kind::kPiece;
  JobId job;
  int32_t answer = 0;
  int64_t time_us = 0;
  TextPiece piece = {};  // of kPiece: one token's text, perhaps none; of kEnded: the rest
  Error problem = {};    // of kRefused, and of kEnded with kFailed
  Bytes missing = {};  // of kRefused: what the budget of state lacks for it, whoever else is there
  ChoiceEnd end = {};  // of kEnded, as the rest
  int64_t tokens = 0;
  std::vector<TokenId> answer_tokens = {};  // if wanted
  bool last = false;                        // of the job's answers
  GenerationUsage usage = {};
};

class AnswerObserver {
 public:
  virtual ~AnswerObserver() = default;
  // What one step brought, in order. On the engine's thread; must return soon.
  virtual void OnAnswerEvents(std::vector<AnswerEvent> events) = 0;
};

class EngineService {
 public:
  struct Options {
    int64_t max_jobs = 1024;
  };

  // All must outlive the service. The engine must not be used by anybody else meanwhile.
  EngineService(Engine& engine, const TokenTable& table, AnswerObserver& observer, Options options);
  // Ends after the step that is under way; jobs that are left have no end.
  ~EngineService();
  EngineService(const EngineService&) = delete;
  EngineService& operator=(const EngineService&) = delete;

  // False: as many jobs as may be are there.
  bool Submit(JobId id, AnswerJob job);
  // A job that has ended, or isn't known, is ignored.
  void Cancel(JobId id);
  // Runs between two steps, on the engine's thread.
  void Inspect(std::move_only_function<void(const Engine&)> look);
  // Likewise, for what an engine may be told between steps: pins, forgetting.
  void Tell(std::move_only_function<void(Engine&)> what);
  // As Engine::Drain.
  void Drain(int64_t deadline_us);

  int64_t jobs() const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace cairn

#endif  // CAIRN_SERVE_ENGINE_SERVICE_H_
