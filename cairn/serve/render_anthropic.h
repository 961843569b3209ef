// Answers in the shape of Anthropic's /v1/messages.
#ifndef CAIRN_SERVE_RENDER_ANTHROPIC_H_
#define CAIRN_SERVE_RENDER_ANTHROPIC_H_

#include <memory>

#include "cairn/serve/answer_renderer.h"

namespace cairn {

std::unique_ptr<AnswerRenderer> MakeMessageRenderer(AnswerHeading heading);

}  // namespace cairn

#endif  // CAIRN_SERVE_RENDER_ANTHROPIC_H_
