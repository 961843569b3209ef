// Flags of `cairn serve`, and what they stand for.
#ifndef CAIRN_TOOLS_SERVE_ARGS_H_
#define CAIRN_TOOLS_SERVE_ARGS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "cairn/base/status.h"
#include "cairn/engine/sampler.h"
#include "cairn/serve/api_keys.h"
#include "cairn/serve/context_table.h"
#include "cairn/serve/http_server.h"
#include "cairn/state/eviction.h"
#include "tools/model_args.h"
#include "tools/tier_args.h"

namespace CLI {
class App;
}

namespace cairn {

struct ServeArgs {
  ModelArgs model;
  std::string alias;  // empty: the model's file name
  HttpServerOptions http;
  std::vector<std::string> api_keys;
  std::string api_key_file;
  int64_t parallel = 64;
  int64_t queue = 1024;
  uint64_t state_bytes = uint64_t{4} << 30;
  std::string pooling;  // empty: as the model's files say
  std::string eviction{kDefaultEvictionPolicy};
  TierArgs tiers;
  SamplingOptions sampling;
  int64_t max_tokens = 0;
  std::string token_policy;  // of requests that name none; empty: none
  int workers = 2;
  double timeout_s = 3600;
  double request_timeout_s = 60;
  double idle_timeout_s = 75;
  double write_timeout_s = 60;
  double drain_timeout_s = 30;
  int64_t contexts = ContextLimits().contexts;
  int64_t contexts_per_key = ContextLimits().contexts_per_key;
  uint64_t context_bytes = static_cast<uint64_t>(ContextLimits().text_bytes);
  double context_pin_share = 0.5;  // of state_bytes
  double context_ttl_s = 600;
  double context_max_ttl_s = 86'400;

  void AddFlags(CLI::App& command);
  Result<ApiKeys> Keys() const;
  // With the timeouts in the server's unit.
  HttpServerOptions HttpOptions() const;
  ContextLimits Contexts() const;
};

inline int64_t MicrosecondsOf(double seconds) { return static_cast<int64_t>(seconds * 1e6); }

}  // namespace cairn

#endif  // CAIRN_TOOLS_SERVE_ARGS_H_
