// From the body of a request to jobs for the engine and a renderer for what they will bring.
//
// The costly part of a request before the model runs: parsing, the chat template, the tokenizer.
// Thread-safe: everything here is const.
#ifndef CAIRN_SERVE_PREPARE_ANSWER_H_
#define CAIRN_SERVE_PREPARE_ANSWER_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cairn/serve/answer_options.h"
#include "cairn/serve/answer_renderer.h"
#include "cairn/serve/api_error.h"
#include "cairn/serve/context_plan.h"
#include "cairn/serve/engine_service.h"
#include "cairn/serve/served_model.h"

namespace cairn {

// Of the request as it came.
struct RequestFacts {
  int key = 0;  // api_keys.h
  int64_t deadline_us = 0;
  // The one that the request goes on from, once somebody has found it.
  const ContextText* context = nullptr;
};

struct PreparedAnswer {
  std::unique_ptr<AnswerRenderer> renderer;
  std::vector<AnswerJob> jobs;  // each with so many answers
  int32_t answers_per_job = 1;
  bool stream = false;
  bool embeds = false;  // the jobs' ends bring embeddings, and are nothing without
  // What the request wants of a context. Without jobs: it has to be prepared again, with
  // RequestFacts::context.
  std::optional<ContextPlan> context = std::nullopt;
};

ApiResult<PreparedAnswer> PrepareChat(const ServedModel& model, std::string_view body,
                                      const RequestFacts& facts);
ApiResult<PreparedAnswer> PrepareCompletion(const ServedModel& model, std::string_view body,
                                            const RequestFacts& facts);

ApiResult<PreparedAnswer> PrepareMessages(const ServedModel& model, std::string_view body,
                                          const RequestFacts& facts);

// /v1/embeddings: a job for each input.
ApiResult<PreparedAnswer> PrepareEmbeddings(const ServedModel& model, std::string_view body,
                                            const RequestFacts& facts);

// The small endpoints: the body of the answer.
ApiResult<std::string> AnswerTokenize(const ServedModel& model, std::string_view body);
ApiResult<std::string> AnswerDetokenize(const ServedModel& model, std::string_view body);
ApiResult<std::string> AnswerCountTokens(const ServedModel& model, std::string_view body);
ApiResult<std::string> AnswerApplyTemplate(const ServedModel& model, std::string_view body);

}  // namespace cairn

#endif  // CAIRN_SERVE_PREPARE_ANSWER_H_
