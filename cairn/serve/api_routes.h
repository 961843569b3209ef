// The server's paths: one table.
#ifndef CAIRN_SERVE_API_ROUTES_H_
#define CAIRN_SERVE_API_ROUTES_H_

#include <cstdint>
#include <string_view>

namespace cairn {

enum class Endpoint : uint8_t {
  kHealth,
  kModels,
  kProps,
  kMetrics,
  kState,
  kChat,
  kCompletion,
  kMessages,
  kCountTokens,
  kEmbeddings,
  kTokenize,
  kDetokenize,
  kApplyTemplate,
  kPage,        // for browsers
  kNotOffered,  // known from other servers, and answered as they do when it is switched off
};

struct Route {
  std::string_view path;
  std::string_view method;
  Endpoint endpoint = Endpoint::kHealth;
  bool needs_key = true;
  bool is_anthropic = false;  // the shape of its errors
};

// Null: no such path.
const Route* FindRoute(std::string_view path);

}  // namespace cairn

#endif  // CAIRN_SERVE_API_ROUTES_H_
