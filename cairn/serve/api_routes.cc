#include "cairn/serve/api_routes.h"

#include <fmt/core.h>

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
    {"/v1/contexts", "POST", Endpoint::kContextMake},
    {"/v1/contexts", "GET", Endpoint::kContextList},
    {"/v1/contexts/{id}", "GET", Endpoint::kContext},
    {"/v1/contexts/{id}", "DELETE", Endpoint::kContextRelease},
    {"/v1/contexts/{id}/fork", "POST", Endpoint::kContextFork},
    {"/v1/contexts/{id}/append", "POST", Endpoint::kContextAppend},
    {"/v1/contexts/{id}/rewind", "POST", Endpoint::kContextRewind},
    {"/v1/contexts/{id}/touch", "POST", Endpoint::kContextTouch},
    {"/slots", "GET", Endpoint::kNotOffered},
    {"/props", "GET", Endpoint::kProps},
};

constexpr std::string_view kId = "{id}";

// Whether `path` is the pattern's, and what stands in it for kId.
bool Matches(std::string_view pattern, std::string_view path, std::string_view& id) {
  const size_t at = pattern.find(kId);
  if (at == std::string_view::npos) return pattern == path;
  if (!path.starts_with(pattern.substr(0, at))) return false;
  const std::string_view rest = path.substr(at);
  const std::string_view found = rest.substr(0, rest.find('/'));
  if (found.empty() || rest.substr(found.size()) != pattern.substr(at + kId.size())) return false;
  id = found;
  return true;
}

}  // namespace

FoundRoute FindRoute(std::string_view path, std::string_view method) {
  FoundRoute found;
  for (const Route& route : kRoutes) {
    if (!Matches(route.path, path, found.id)) continue;
    found.route = &route;
    found.takes_method = route.method == method || (method == "HEAD" && route.method == "GET");
    if (found.takes_method) break;
  }
  return found;
}

std::string MethodsOf(const Route& route) {
  std::string methods;
  for (const Route& each : kRoutes) {
    if (each.path != route.path) continue;
    methods += fmt::format("{}{}", methods.empty() ? "" : ", ", each.method);
  }
  return methods;
}

}  // namespace cairn
