// ServeMetrics: what the server counts and measures, in Prometheus' text form.
//
// docs/metrics.md lists every name. Counters of the engine and the state are theirs and are read
// when somebody asks. Thread-compatible: the server's loop has it.
#ifndef CAIRN_SERVE_METRICS_H_
#define CAIRN_SERVE_METRICS_H_

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "cairn/engine/engine.h"
#include "cairn/serve/http_server.h"
#include "cairn/serve/state_report.h"

namespace cairn {

class ServeMetrics {
 public:
  ServeMetrics();
  ~ServeMetrics();

  // `route` is one of the server's own paths, or "other": a client mustn't make up names.
  void CountRequest(std::string_view route, int status);
  void ObserveFirstToken(int64_t us);
  void ObserveGap(int64_t us);  // between two tokens of an answer
  void ObserveQueue(int64_t us);
  void ObserveRequest(int64_t us);
  void CountAnswer(GenerationEnd reason, int64_t tokens);
  void CountEmbedding(int64_t tokens);
  void CountPrompt(const GenerationUsage& usage);

  std::string Render(const EngineStats& engine, const StateFigures& state, const HttpStats& http,
                     int64_t jobs) const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace cairn

#endif  // CAIRN_SERVE_METRICS_H_
