#include "cairn/serve/metrics.h"

#include <prometheus/histogram.h>
#include <prometheus/text_serializer.h>

#include <map>
#include <utility>
#include <vector>

namespace cairn {
namespace {

using prometheus::MetricFamily;
using prometheus::MetricType;

// From one token on a fast machine to a long prompt on a slow one.
const prometheus::Histogram::BucketBoundaries kSeconds = {
    0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300};

double SecondsOf(int64_t us) { return static_cast<double>(us) / 1e6; }

struct Labelled {
  std::vector<std::pair<std::string, std::string>> labels;
  int64_t value;
};

class Writer {
 public:
  void Counter(const char* name, const char* help, int64_t value) {
    Counters(name, help, {{{}, value}});
  }
  void Counters(const char* name, const char* help, const std::vector<Labelled>& values) {
    Add(name, help, MetricType::Counter, values);
  }
  void Gauge(const char* name, const char* help, int64_t value) {
    Gauges(name, help, {{{}, value}});
  }
  void Gauges(const char* name, const char* help, const std::vector<Labelled>& values) {
    Add(name, help, MetricType::Gauge, values);
  }
  void Histogram(const char* name, const char* help, const prometheus::Histogram& histogram) {
    MetricFamily family{name, help, MetricType::Histogram, {}};
    family.metric.push_back(histogram.Collect());
    families_.push_back(std::move(family));
  }
  std::string Text() const { return prometheus::TextSerializer().Serialize(families_); }

 private:
  void Add(const char* name, const char* help, MetricType type,
           const std::vector<Labelled>& values) {
    MetricFamily family{name, help, type, {}};
    for (const Labelled& each : values) {
      prometheus::ClientMetric metric;
      for (const auto& [key, label] : each.labels) metric.label.push_back({key, label});
      const auto value = static_cast<double>(each.value);
      if (type == MetricType::Counter) metric.counter.value = value;
      if (type == MetricType::Gauge) metric.gauge.value = value;
      family.metric.push_back(std::move(metric));
    }
    if (!values.empty()) families_.push_back(std::move(family));
  }

  std::vector<MetricFamily> families_;
};

const char* NameOfEnd(GenerationEnd reason) {
  switch (reason) {
    case GenerationEnd::kEnd:
      return "end";
    case GenerationEnd::kLength:
      return "length";
    case GenerationEnd::kContext:
      return "context";
    case GenerationEnd::kStopped:
      return "stop";
    case GenerationEnd::kCancelled:
      return "cancelled";
    case GenerationEnd::kDeadline:
      return "deadline";
    case GenerationEnd::kFailed:
      return "failed";
  }
  return "failed";
}

void WriteEngine(Writer& to, const EngineStats& engine, int64_t jobs) {
  to.Gauge("cairn_jobs", "Prompts taken from clients and not answered yet", jobs);
  to.Gauge("cairn_generations_waiting", "Prompts that wait for the engine", engine.waiting);
  to.Gauge("cairn_answers_running", "Answers that have a sequence", engine.running);
  to.Counter("cairn_preemptions_total", "Answers that had to give their state back and go on later",
             engine.preemptions);
  to.Counter("cairn_engine_steps_total", "Batches computed", engine.steps);
  to.Counter("cairn_engine_busy_microseconds_total", "Time inside the model", engine.busy_us);
  to.Counter("cairn_prompt_tokens_computed_total", "Tokens of prompts that the model has read",
             engine.prompt_tokens);
  to.Counter("cairn_generations_refused_total", "Prompts that the engine wouldn't take",
             engine.refused);
}

void WriteState(Writer& to, const StateFigures& state) {
  to.Gauges("cairn_state_bytes", "Bytes of inference state",
            {{{{"kind", "budget"}}, state.budget_bytes},
             {{{"kind", "live"}}, state.live_bytes},
             {{{"kind", "free"}}, state.free_bytes},
             {{{"kind", "warm"}}, state.warm_bytes}});
  to.Gauge("cairn_state_sequences", "Sequences that hold state", state.sequences);
  to.Gauge("cairn_state_tree_nodes", "Runs of tokens that are kept", state.nodes);
  to.Gauge("cairn_state_tree_points", "Lengths that sequences can resume from", state.points);
  to.Counter("cairn_state_evictions_total", "Kept pieces of state that had to go", state.evictions);
  to.Counter("cairn_state_evicted_tokens_total", "Tokens whose rows went with them",
             state.evicted_tokens);
  to.Counter("cairn_state_refused_total", "Times that there were no bytes and nothing to drop",
             state.refused);
  to.Gauges("cairn_contexts", "Contexts that clients have made",
            {{{{"pin", "true"}}, state.contexts.pinned},
             {{{"pin", "false"}}, state.contexts.count - state.contexts.pinned}});
  to.Gauge("cairn_context_pinned_bytes", "Bytes of state that they hold",
           state.contexts.pinned_bytes);
  std::vector<Labelled> objects, bytes;
  for (const StateFigures::Tier& tier : state.tiers) {
    objects.push_back({{{"tier", tier.name}}, tier.objects});
    bytes.push_back({{{"tier", tier.name}}, tier.bytes});
  }
  to.Gauges("cairn_tier_objects", "Objects on a tier below memory", objects);
  to.Gauges("cairn_tier_bytes", "Their bytes", bytes);
  if (state.tiers.empty()) return;
  to.Counters("cairn_tier_loads_total", "Reads of state from tiers",
              {{{{"result", "done"}}, state.loads},
               {{{"result", "failed"}}, state.loads_failed},
               {{{"result", "late"}}, state.loads_late},
               {{{"result", "declined"}}, state.loads_declined}});
  to.Counters("cairn_tier_writes_total", "Objects for tiers",
              {{{{"result", "done"}}, state.written},
               {{{"result", "failed"}}, state.write_failed},
               {{{"result", "given_up"}}, state.write_given_up}});
  to.Counter("cairn_tier_written_bytes_total", "Bytes that tiers have acknowledged",
             state.written_bytes);
  to.Gauge("cairn_tier_writes_waiting", "Objects that wait for a tier", state.write_waiting);
}

void WriteHttp(Writer& to, const HttpStats& http) {
  to.Gauge("cairn_http_connections", "Open connections", http.connections);
  to.Counter("cairn_http_connections_total", "Connections accepted", http.accepted);
  to.Counters("cairn_http_faults_total", "Requests that didn't come to a proper end",
              {{{{"kind", "refused"}}, http.refused},
               {{{"kind", "timed_out"}}, http.timed_out},
               {{{"kind", "left"}}, http.left}});
}

}  // namespace

struct ServeMetrics::Impl {
  prometheus::Histogram first_token{kSeconds};
  prometheus::Histogram gap{kSeconds};
  prometheus::Histogram queue{kSeconds};
  prometheus::Histogram request{kSeconds};
  std::map<std::pair<std::string, std::string>, int64_t> requests;  // by route and status
  std::map<std::string, int64_t> answers;                           // by how they ended
  std::map<std::string, int64_t> prompt_tokens;                     // by where they came from
  std::map<std::string, int64_t> misses;                            // by reason
  int64_t answer_tokens = 0;
  int64_t embeddings = 0;
};

ServeMetrics::ServeMetrics() : impl_(std::make_unique<Impl>()) {}
ServeMetrics::~ServeMetrics() = default;

void ServeMetrics::CountRequest(std::string_view route, int status) {
  ++impl_->requests[{std::string(route), std::to_string(status)}];
}

void ServeMetrics::ObserveFirstToken(int64_t us) { impl_->first_token.Observe(SecondsOf(us)); }
void ServeMetrics::ObserveGap(int64_t us) { impl_->gap.Observe(SecondsOf(us)); }
void ServeMetrics::ObserveQueue(int64_t us) { impl_->queue.Observe(SecondsOf(us)); }
void ServeMetrics::ObserveRequest(int64_t us) { impl_->request.Observe(SecondsOf(us)); }

void ServeMetrics::CountAnswer(GenerationEnd reason, int64_t tokens) {
  ++impl_->answers[NameOfEnd(reason)];
  impl_->answer_tokens += tokens;
}

void ServeMetrics::CountEmbedding(int64_t tokens) {
  ++impl_->embeddings;
  impl_->prompt_tokens["computed"] += tokens;
}

void ServeMetrics::CountPrompt(const GenerationUsage& usage) {
  const StateOrigin& origin = usage.origin;
  impl_->prompt_tokens["memory"] += origin.memory.value();
  if (!origin.tier.empty()) impl_->prompt_tokens[origin.tier] += origin.loaded.value();
  impl_->prompt_tokens["computed"] += (usage.prompt - origin.resumed()).value();
  ++impl_->misses[std::string(NameOf(origin.why))];
}

std::string ServeMetrics::Render(const EngineStats& engine, const StateFigures& state,
                                 const HttpStats& http, int64_t jobs) const {
  Writer to;
  std::vector<Labelled> requests;
  for (const auto& [key, count] : impl_->requests) {
    requests.push_back({{{"route", key.first}, {"status", key.second}}, count});
  }
  to.Counters("cairn_requests_total", "Requests answered", requests);
  const auto by = [](const char* label, const std::map<std::string, int64_t>& counts) {
    std::vector<Labelled> values;
    for (const auto& [name, count] : counts) values.push_back({{{label, name}}, count});
    return values;
  };
  to.Counters("cairn_answers_total", "Answers, by how they ended", by("end", impl_->answers));
  to.Counter("cairn_embeddings_total", "Texts embedded", impl_->embeddings);
  to.Counter("cairn_answer_tokens_total", "Tokens of answers", impl_->answer_tokens);
  to.Counters("cairn_prompt_tokens_total", "Tokens of prompts, by where their state came from",
              by("origin", impl_->prompt_tokens));
  to.Counters("cairn_prefixes_total", "Prompts, by why no more of their state was at hand",
              by("miss", impl_->misses));
  to.Histogram("cairn_time_to_first_token_seconds", "From request to first token",
               impl_->first_token);
  to.Histogram("cairn_inter_token_seconds", "Between two tokens of an answer", impl_->gap);
  to.Histogram("cairn_queue_seconds", "From request to first batch", impl_->queue);
  to.Histogram("cairn_request_seconds", "From request to the answer's end", impl_->request);
  WriteEngine(to, engine, jobs);
  WriteState(to, state);
  WriteHttp(to, http);
  return to.Text();
}

}  // namespace cairn
