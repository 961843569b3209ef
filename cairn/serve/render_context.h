// Contexts as the JSON of /v1/contexts. Pure.
#ifndef CAIRN_SERVE_RENDER_CONTEXT_H_
#define CAIRN_SERVE_RENDER_CONTEXT_H_

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cairn/engine/engine.h"
#include "cairn/serve/answer_renderer.h"
#include "cairn/serve/context_table.h"

namespace cairn {

// A context at one moment, without its text.
struct ContextFacts {
  std::string id = {};
  std::string parent = {};
  std::vector<std::string> children = {};
  bool is_chat = false;
  int64_t tokens = 0;
  int64_t messages = 0;
  bool pin = false;
  std::optional<PinId> pin_id = std::nullopt;
  StateManager::PinUse pinned = {};  // whoever has the engine fills it in
  int64_t created_unix_s = 0;
  int64_t ttl_us = 0;
  int64_t expires_in_us = 0;
  int64_t idle_us = 0;
};
ContextFacts FactsOf(const ContextTable& table, const ServedContext& context, int64_t now_us);

// What reading its text took, and how much of it was there: of one that was made or appended to.
struct ContextReading {
  AnswerUsage usage;
  int64_t kept_tokens = 0;
};
std::string ContextJson(const ContextFacts& facts, const ContextReading* reading = nullptr);
std::string ContextListJson(const std::vector<ContextFacts>& facts);

struct ContextGone {
  std::string id;
  int64_t unpinned_bytes = 0;   // that nobody else has pinned
  int64_t forgotten_bytes = 0;  // that are free now
};
std::string ContextGoneJson(const ContextGone& gone);

}  // namespace cairn

#endif  // CAIRN_SERVE_RENDER_CONTEXT_H_
