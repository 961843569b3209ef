#include "cairn/serve/api_routes.h"

#include <algorithm>

namespace cairn {
namespace {

// What needs no key says nothing of requests and state.
constexpr Route kRoutes[] = {
    {"/", "GET", Endpoint::kPage, false},
    {"/size", "GET", Endpoint::kPage, false},
    {"/health", "GET", Endpoint::kHealth, false},
    {"/v1/health", "GET", Endpoint::kHealth, false},
    {"/models", "GET", Endpoint::kModels, false},
    {"/v1/models", "GET", Endpoint::kModels, false},
    {"/metrics", "GET", Endpoint::kMetrics},
    {"/state", "GET", Endpoint::kState},
    {"/chat/completions", "POST", Endpoint::kChat},
    {"/v1/chat/completions", "POST", Endpoint::kChat},
    {"/v1/completions", "POST", Endpoint::kCompletion},
    {"/embeddings", "POST", Endpoint::kEmbeddings},
    {"/v1/embeddings", "POST", Endpoint::kEmbeddings},
    {"/tokenize", "POST", Endpoint::kTokenize},
    {"/detokenize", "POST", Endpoint::kDetokenize},
    {"/apply-template", "POST", Endpoint::kApplyTemplate},
    {"/v1/messages", "POST", Endpoint::kMessages, true, true},
    {"/v1/messages/count_tokens", "POST", Endpoint::kCountTokens, true, true},
    {"/slots", "GET", Endpoint::kNotOffered},
    {"/props", "GET", Endpoint::kProps},
};

}  // namespace

const Route* FindRoute(std::string_view path) {
  const auto* found = std::ranges::find(kRoutes, path, &Route::path);
  return found == std::end(kRoutes) ? nullptr : found;
}

}  // namespace cairn
