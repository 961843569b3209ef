#include "cairn/serve/state_report.h"

#include <nlohmann/json.hpp>
#include <utility>

namespace cairn {
namespace {

using Json = nlohmann::ordered_json;

double Share(int64_t part, int64_t whole) {
  return whole > 0 ? static_cast<double>(part) / static_cast<double>(whole) : 0;
}

Json OccupancyJson(const StateFigures& state) {
  Json classes = Json::array();
  for (const StateFigures::BlockClass& each : state.classes) {
    classes.push_back({{"kind", each.kind},
                       {"tokens", each.tokens > 0 ? Json(each.tokens) : Json()},
                       {"block_bytes", each.block_bytes},
                       {"live_blocks", each.live_blocks},
                       {"live_bytes", each.block_bytes * each.live_blocks}});
  }
  return {{"budget_bytes", state.budget_bytes},       {"live_bytes", state.live_bytes},
          {"live_max_bytes", state.live_max_bytes},   {"free_bytes", state.free_bytes},
          {"warm_bytes", state.warm_bytes},           {"sequences", state.sequences},
          {"bytes_per_token", state.bytes_per_token}, {"classes", std::move(classes)}};
}

Json UseJson(const StateFigures& state) {
  if (!state.use) return nullptr;
  return {{"running", state.use->running_bytes},
          {"in_use", state.use->in_use_bytes},
          {"kept", state.use->kept_bytes},
          {"snapshots", state.use->snapshot_bytes},
          {"waiting_to_be_written", state.use->waiting_bytes},
          {"pinned", state.use->pinned_bytes}};
}

// By the tiers' names.
Json OnTiersJson(const StateFigures& state, const StateFigures::Node& node) {
  if (!node.tier_tokens) return nullptr;
  Json on = Json::object();
  for (size_t i = 0; i < state.tiers.size(); ++i) {
    on[state.tiers[i].name] = node.tier_tokens->at(i);
  }
  return on;
}

Json HitsJson(const StateFigures& state) {
  const int64_t hits = state.memory_tokens + state.loaded_tokens;
  Json origins = {{"memory", state.memory_tokens}};
  for (const StateFigures::Tier& tier : state.tiers) origins[tier.name] = tier.tokens_loaded;
  return {{"sequences_opened", state.opened},
          {"tokens_asked", state.opened_tokens},
          {"tokens_by_origin", std::move(origins)},
          {"tokens_from_memory", state.memory_tokens},
          {"tokens_loaded", state.loaded_tokens},
          {"rate_memory", Share(state.memory_tokens, state.opened_tokens)},
          {"rate", Share(hits, state.opened_tokens)}};
}

Json TreeJson(const StateFigures& state) {
  Json shown = Json::array();
  for (const StateFigures::Node& node : state.shown_nodes) {
    shown.push_back({{"parent", node.parent},
                     {"tokens", node.tokens},
                     {"bytes", node.bytes},
                     {"points", node.points},
                     {"children", node.children},
                     {"locked", node.locked},
                     {"on_tiers", OnTiersJson(state, node)}});
  }
  return {{"policy", state.policy},
          {"nodes", state.nodes},
          {"points", state.points},
          {"evictions", state.evictions},
          {"evicted_tokens", state.evicted_tokens},
          {"shown", std::move(shown)}};
}

Json TiersJson(const StateFigures& state) {
  Json tiers = Json::array();
  for (const StateFigures::Tier& tier : state.tiers) {
    tiers.push_back({{"name", tier.name},
                     {"objects", tier.objects},
                     {"bytes", tier.bytes},
                     {"tokens_loaded", tier.tokens_loaded}});
  }
  return tiers;
}

Json EngineJson(const EngineStats& engine) {
  return {{"waiting", engine.waiting},
          {"running", engine.running},
          {"submitted", engine.submitted},
          {"finished", engine.finished},
          {"failed", engine.failed},
          {"cancelled", engine.cancelled},
          {"refused", engine.refused},
          {"preemptions", engine.preemptions},
          {"steps", engine.steps},
          {"prompt_tokens_computed", engine.prompt_tokens},
          {"prompt_tokens_resumed", engine.resumed_tokens},
          {"answer_tokens", engine.answer_tokens},
          {"dropped_tokens", engine.dropped_tokens},
          {"busy_ms", static_cast<double>(engine.busy_us) / 1e3},
          {"last_batch_tokens", engine.last_batch_tokens}};
}

}  // namespace

std::string StateReportJson(const StateFigures& state, const EngineStats& engine) {
  const Json report = {{"object", "cairn.state"},
                       {"occupancy", OccupancyJson(state)},
                       {"bytes_by_use", UseJson(state)},
                       {"tree", TreeJson(state)},
                       {"contexts",
                        {{"count", state.contexts.count},
                         {"pinned", state.contexts.pinned},
                         {"pinned_bytes", state.contexts.pinned_bytes},
                         {"pinned_bytes_max", state.contexts.pinned_bytes_max}}},
                       {"hits", HitsJson(state)},
                       {"tiers", TiersJson(state)},
                       {"loads",
                        {{"done", state.loads},
                         {"failed", state.loads_failed},
                         {"late", state.loads_late},
                         {"declined", state.loads_declined}}},
                       {"writes",
                        {{"done", state.written},
                         {"bytes", state.written_bytes},
                         {"waiting", state.write_waiting},
                         {"failed", state.write_failed},
                         {"given_up", state.write_given_up}}},
                       {"refused", state.refused},
                       {"problem", state.problem.empty() ? Json() : Json(state.problem)},
                       {"engine", EngineJson(engine)}};
  return report.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace cairn
