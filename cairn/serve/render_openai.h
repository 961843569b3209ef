// Answers in the shape of OpenAI's /v1/chat/completions and /v1/completions, with the members that
// llama-server adds (timings) and where the prompt's state came from.
#ifndef CAIRN_SERVE_RENDER_OPENAI_H_
#define CAIRN_SERVE_RENDER_OPENAI_H_

#include <memory>
#include <string>
#include <vector>

#include "cairn/serve/answer_renderer.h"

namespace cairn {

std::unique_ptr<AnswerRenderer> MakeChatRenderer(AnswerHeading heading, int choices);

// `echoes` are the texts in front of each choice; empty: none.
std::unique_ptr<AnswerRenderer> MakeCompletionRenderer(AnswerHeading heading, int choices,
                                                       std::vector<std::string> echoes);

}  // namespace cairn

#endif  // CAIRN_SERVE_RENDER_OPENAI_H_
