#include "cairn/serve/api_embeddings.h"

#include <bit>
#include <cmath>
#include <nlohmann/json.hpp>
#include <utility>

#include "cairn/base/base64.h"
#include "cairn/serve/api_fields.h"

namespace cairn {
namespace {

using Json = nlohmann::ordered_json;

static_assert(std::endian::native == std::endian::little);

constexpr size_t kMaxInputs = 2048;  // OpenAI's
constexpr size_t kMaxNameBytes = 256;
constexpr int64_t kMaxPriority = 1'000'000;

class EmbeddingsRenderer final : public AnswerRenderer {
 public:
  EmbeddingsRenderer(AnswerHeading heading, const EmbeddingsRequest& request)
      : heading_(std::move(heading)),
        dimensions_(request.dimensions),
        as_base64_(request.as_base64),
        embeddings_(request.inputs.size()) {}

  std::string Begin() override { return {}; }
  std::string Piece(int /*choice*/, TextPiece /*piece*/) override { return {}; }
  std::string End(int choice, const ChoiceEnd& end) override {
    embeddings_[static_cast<size_t>(choice)] = NormalizedEmbedding(end.embedding, dimensions_);
    return {};
  }
  std::string Finish(const AnswerUsage& usage) override {
    Json data = Json::array();
    for (size_t i = 0; i < embeddings_.size(); ++i) {
      data.push_back(
          {{"object", "embedding"}, {"index", i}, {"embedding", JsonOf(embeddings_[i])}});
    }
    const Json answer = {
        {"object", "list"},
        {"data", std::move(data)},
        {"model", heading_.model},
        {"usage", {{"prompt_tokens", usage.prompt_tokens}, {"total_tokens", usage.prompt_tokens}}}};
    return answer.dump(-1, ' ', false, Json::error_handler_t::replace);
  }
  std::string StreamError(const ApiError& error) const override { return ErrorJson(error); }
  std::string ErrorJson(const ApiError& error) const override { return OpenAiErrorJson(error); }

 private:
  Json JsonOf(const std::vector<float>& embedding) const {
    if (as_base64_) return Base64(std::as_bytes(std::span(embedding)));
    return embedding;
  }

  const AnswerHeading heading_;
  const int64_t dimensions_;
  const bool as_base64_;
  std::vector<std::vector<float>> embeddings_;
};

}  // namespace

ApiResult<EmbeddingsRequest> ParseEmbeddingsRequest(const JsonNode& body, int64_t vocabulary,
                                                    int64_t width) {
  ApiFields fields(body, "");
  EmbeddingsRequest to;
  to.model = fields.String("model", kMaxNameBytes).value_or("");
  to.inputs = ReadPrompts(fields, "input", {.vocabulary = vocabulary, .most = kMaxInputs});
  to.dimensions = fields.Integer("dimensions", 1, width).value_or(0);
  to.as_base64 = fields.Choice("encoding_format", {"float", "base64"}) == "base64";
  to.priority =
      static_cast<int32_t>(fields.Integer("priority", -kMaxPriority, kMaxPriority).value_or(0));
  fields.String("user", kMaxNameBytes);
  if (!fields.ok()) return std::unexpected(*fields.problem());
  return to;
}

std::vector<float> NormalizedEmbedding(std::vector<float> embedding, int64_t dimensions) {
  if (dimensions > 0) embedding.resize(static_cast<size_t>(dimensions));
  double squares = 0;
  for (const float x : embedding) squares += static_cast<double>(x) * static_cast<double>(x);
  if (squares == 0) return embedding;
  const double length = std::sqrt(squares);
  for (float& x : embedding) x = static_cast<float>(static_cast<double>(x) / length);
  return embedding;
}

std::unique_ptr<AnswerRenderer> MakeEmbeddingsRenderer(AnswerHeading heading,
                                                       const EmbeddingsRequest& request) {
  return std::make_unique<EmbeddingsRenderer>(std::move(heading), request);
}

}  // namespace cairn
