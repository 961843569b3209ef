// /v1/embeddings: what is asked, and the answer.
//
// Pure functions; thread-safe.
#ifndef CAIRN_SERVE_API_EMBEDDINGS_H_
#define CAIRN_SERVE_API_EMBEDDINGS_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "cairn/serve/answer_renderer.h"
#include "cairn/serve/api_completion.h"

namespace cairn {

struct EmbeddingsRequest {
  std::string model;                     // as the request named it; empty: it didn't
  std::vector<CompletionPrompt> inputs;  // at least one
  int64_t dimensions = 0;                // the first so many of them; 0: all
  bool as_base64 = false;                // of floats of 32 bits, little-endian
  int32_t priority = 0;
};
// `width` is how many dimensions the model's embeddings have.
ApiResult<EmbeddingsRequest> ParseEmbeddingsRequest(const JsonNode& body, int64_t vocabulary,
                                                    int64_t width);

// The first `dimensions` numbers (0: all), of length 1 together. Zeros stay zeros.
std::vector<float> NormalizedEmbedding(std::vector<float> embedding, int64_t dimensions);

// Answers without a stream; each of `inputs` has one choice, whose end brings its embedding.
std::unique_ptr<AnswerRenderer> MakeEmbeddingsRenderer(AnswerHeading heading,
                                                       const EmbeddingsRequest& request);

}  // namespace cairn

#endif  // CAIRN_SERVE_API_EMBEDDINGS_H_
