#include "tools/serve_args.h"

#include <CLI/CLI.hpp>
#include <algorithm>

#include "cairn/base/env.h"

namespace cairn {
namespace {

constexpr size_t kMaxKeyFileBytes = size_t{1} << 20;

void AddSeconds(CLI::App& command, const char* name, double& to, const char* what) {
  command.add_option(name, to, what)->check(CLI::Range(0.001, 1e9))->capture_default_str();
}

template <class Integer>
void AddBytes(CLI::App& command, const char* name, Integer& to, const char* what) {
  command.add_option(name, to, what)->transform(CLI::AsSizeValue(true))->capture_default_str();
}

// What requests may name and needn't.
void AddAnswerDefaults(CLI::App& command, ServeArgs& to) {
  command.add_option("-n,--predict", to.max_tokens,
                     "Tokens of an answer whose request names no limit; 0: the context's rest");
  command
      .add_option("--temp", to.sampling.temperature, "Of requests that name none; so the next ones")
      ->capture_default_str();
  command.add_option("--token-policy", to.token_policy,
                     "Which tokens' rows stay behind a prompt, as snapkv:keep=0.25; of requests "
                     "that name none (default: all)");
  command.add_option("--top-k", to.sampling.top_k, "0: all")->capture_default_str();
  command.add_option("--top-p", to.sampling.top_p)->capture_default_str();
  command.add_option("--min-p", to.sampling.min_p)->capture_default_str();
}

}  // namespace

void ServeArgs::AddFlags(CLI::App& command) {
  model.AddModelFlag(command);
  model.AddThreadFlag(command);
  model.AddStateFlags(command);
  model.AddContextFlags(command);
  command.add_option("-a,--alias", alias, "The model's name for clients (default: its file's)");
  command.add_option("--host", http.host, "The address to listen on")->capture_default_str();
  command.add_option("--port", http.port, "The port; 0: any free one")
      ->check(CLI::Range(0, 65535))
      ->capture_default_str();
  command.add_option("--api-key", api_keys, "A key that clients must have (may be given again)");
  command.add_option("--api-key-file", api_key_file, "A file with one key a line");
  command.add_option("--parallel", parallel, "-np: answers computed at once")
      ->check(CLI::Range(1, 65536))
      ->capture_default_str();
  command.add_option("--max-queue", queue, "Prompts that may wait or run; more are refused (503)")
      ->check(CLI::Range(1, 1 << 20))
      ->capture_default_str();
  AddBytes(command, "--state-bytes", state_bytes, "Budget of inference state, as in 4GiB");
  command
      .add_option("--pooling", pooling,
                  "Of embeddings: last or mean (default: what the model's files say, else last)")
      ->check(CLI::IsMember({"last", "mean"}));
  command.add_option("--eviction", eviction, "Which kept state goes first when bytes are short")
      ->capture_default_str();
  tiers.AddFlags(command);
  AddAnswerDefaults(command, *this);
  command.add_option("--http-workers", workers, "Threads that read requests")
      ->check(CLI::Range(1, 64))
      ->capture_default_str();
  command.add_option("--max-connections", http.max_connections, "More are refused (503)")
      ->check(CLI::Range(1, 1 << 20))
      ->capture_default_str();
  AddBytes(command, "--max-body", http.limits.body_bytes, "Of one request, in bytes (413)");
  AddBytes(command, "--max-header", http.limits.header_bytes, "Likewise (431)");
  AddBytes(command, "--max-bodies", http.max_bodies_bytes, "Of all requests on their way (503)");
  AddBytes(command, "--max-unsent", http.max_unsent_bytes,
           "Bytes that a client may leave unread before it is left");
  command.add_option("--max-contexts", contexts, "Contexts; more are refused (429)")
      ->check(CLI::Range(0, 1 << 20))
      ->capture_default_str();
  command.add_option("--max-contexts-per-key", contexts_per_key, "Likewise, of one API key")
      ->check(CLI::Range(0, 1 << 20))
      ->capture_default_str();
  AddBytes(command, "--max-context-bytes", context_bytes,
           "Of all contexts' tokens and messages (429)");
  command
      .add_option("--context-pin-share", context_pin_share,
                  "The part of --state-bytes that contexts may pin (429)")
      ->check(CLI::Range(0.0, 1.0))
      ->capture_default_str();
  AddSeconds(command, "--context-ttl", context_ttl_s,
             "Seconds after its last use that a context stays, if it names none");
  AddSeconds(command, "--context-max-ttl", context_max_ttl_s, "The most that it may name");
  AddSeconds(command, "--timeout", timeout_s, "Seconds for an answer, queue included");
  AddSeconds(command, "--request-timeout", request_timeout_s, "For a request to arrive (408)");
  AddSeconds(command, "--idle-timeout", idle_timeout_s, "Between a connection's requests");
  AddSeconds(command, "--write-timeout", write_timeout_s, "Without the client reading");
  AddSeconds(command, "--drain-timeout", drain_timeout_s,
             "For answers to end after SIGINT or SIGTERM");
}

Result<ApiKeys> ServeArgs::Keys() const {
  std::vector<std::string> keys = api_keys;
  if (!api_key_file.empty()) {
    CAIRN_ASSIGN(const std::string text, ReadFile(api_key_file, kMaxKeyFileBytes));
    const std::vector<std::string> lines = ApiKeys::LinesOf(text);
    if (lines.empty()) {
      return Fail(ErrorCode::kInvalidArgument, "{}: no API key in it; one a line would be right",
                  api_key_file);
    }
    keys.insert(keys.end(), lines.begin(), lines.end());
  }
  return ApiKeys::Make(keys);
}

ContextLimits ServeArgs::Contexts() const {
  return {
      .contexts = contexts,
      .contexts_per_key = contexts_per_key,
      .text_bytes = static_cast<int64_t>(context_bytes),
      .pinned_bytes = static_cast<int64_t>(static_cast<double>(state_bytes) * context_pin_share),
      .ttl_us = MicrosecondsOf(std::min(context_ttl_s, context_max_ttl_s)),
      .ttl_max_us = MicrosecondsOf(context_max_ttl_s)};
}

HttpServerOptions ServeArgs::HttpOptions() const {
  HttpServerOptions options = http;
  options.request_timeout_us = MicrosecondsOf(request_timeout_s);
  options.idle_timeout_us = MicrosecondsOf(idle_timeout_s);
  options.write_timeout_us = MicrosecondsOf(write_timeout_s);
  return options;
}

}  // namespace cairn
