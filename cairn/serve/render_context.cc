#include "cairn/serve/render_context.h"

#include <algorithm>
#include <nlohmann/json.hpp>

namespace cairn {
namespace {

using Json = nlohmann::ordered_json;

double SecondsOf(int64_t us) { return static_cast<double>(us) / 1e6; }

Json FactsJson(const ContextFacts& facts) {
  return {{"id", facts.id},
          {"object", "context"},
          {"created", facts.created_unix_s},
          {"kind", facts.is_chat ? "chat" : "text"},
          {"tokens", facts.tokens},
          {"messages", facts.is_chat ? Json(facts.messages) : Json()},
          {"parent", facts.parent.empty() ? Json() : Json(facts.parent)},
          {"children", facts.children},
          {"pin", facts.pin},
          {"pinned_tokens", facts.pinned.tokens.value()},
          {"pinned_bytes", facts.pinned.bytes.value()},
          {"own_pinned_bytes", facts.pinned.alone.value()},
          {"ttl_s", SecondsOf(facts.ttl_us)},
          {"expires_in_s", SecondsOf(facts.expires_in_us)},
          {"idle_s", SecondsOf(facts.idle_us)}};
}

}  // namespace

ContextFacts FactsOf(const ContextTable& table, const ServedContext& context, int64_t now_us) {
  return {.id = context.id,
          .parent = context.parent,
          .children = table.ChildrenOf(context, now_us),
          .is_chat = context.text.is_chat,
          .tokens = context.text.size(),
          .messages = context.text.messages,
          .pin = context.options.pin,
          .pin_id = context.pin,
          .created_unix_s = context.created_unix_s,
          .ttl_us = context.options.ttl_us,
          .expires_in_us = std::max<int64_t>(context.expires_us() - now_us, 0),
          .idle_us = now_us - context.used_us};
}

std::string ContextJson(const ContextFacts& facts, const ContextReading* reading) {
  Json json = FactsJson(facts);
  if (reading != nullptr) {
    Json tiers = Json::object();
    for (const auto& [tier, tokens] : reading->usage.cached_by_tier) tiers[tier] = tokens;
    json["kept_tokens"] = reading->kept_tokens;
    json["usage"] = {{"prompt_tokens", reading->usage.prompt_tokens},
                     {"cached_tokens", reading->usage.cached_tokens()},
                     {"cached_tokens_by_tier", std::move(tiers)},
                     {"miss_reason", reading->usage.miss_reason}};
  }
  return json.dump();
}

std::string ContextListJson(const std::vector<ContextFacts>& facts) {
  Json list = Json::array();
  for (const ContextFacts& each : facts) list.push_back(FactsJson(each));
  return Json{{"object", "list"}, {"data", std::move(list)}}.dump();
}

std::string ContextGoneJson(const ContextGone& gone) {
  return Json{{"id", gone.id},
              {"object", "context.released"},
              {"released", true},
              {"unpinned_bytes", gone.unpinned_bytes},
              {"forgotten_bytes", gone.forgotten_bytes}}
      .dump();
}

}  // namespace cairn
