// The server's paths: one table.
#ifndef CAIRN_SERVE_API_ROUTES_H_
#define CAIRN_SERVE_API_ROUTES_H_

#include <cstdint>
#include <string>
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
  kContextMake,
  kContextList,
  kContext,
  kContextRelease,
  kContextFork,
  kContextAppend,
  kContextRewind,
  kContextTouch,
  kPage,        // for browsers
  kNotOffered,  // known from other servers, and answered as they do when it is switched off
};

struct Route {
  std::string_view path;  // "{id}" stands for one step of any name
  std::string_view method;
  Endpoint endpoint = Endpoint::kHealth;
  bool needs_key = true;
  bool is_anthropic = false;  // the shape of its errors
};

struct FoundRoute {
  const Route* route = nullptr;  // null: no such path
  std::string_view id = {};      // what stands in the path for "{id}"
  bool takes_method = false;     // else `route` is the path's with another method
};
// `id` is a part of `path`. HEAD is as GET.
FoundRoute FindRoute(std::string_view path, std::string_view method);
// Those that the path of a route takes, as in "GET, POST".
std::string MethodsOf(const Route& route);

}  // namespace cairn

#endif  // CAIRN_SERVE_API_ROUTES_H_
