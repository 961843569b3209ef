#include "cairn/serve/answer_renderer.h"

#include <algorithm>

namespace cairn {

void AnswerUsage::Add(const GenerationUsage& usage) {
  const auto add = [&](std::string_view tier, int64_t tokens) {
    const auto found =
        std::ranges::find(cached_by_tier, tier, &std::pair<std::string, int64_t>::first);
    if (found != cached_by_tier.end()) {
      found->second += tokens;
    } else {
      cached_by_tier.emplace_back(tier, tokens);
    }
  };
  if (miss_reason.empty()) miss_reason = NameOf(usage.origin.why);
  prompt_tokens += usage.prompt.value();
  add("memory", usage.origin.memory.value());
  if (!usage.origin.tier.empty()) add(usage.origin.tier, usage.origin.loaded.value());
  preemptions += usage.preemptions;
  queued_us = std::max(queued_us, usage.queued_us);
  first_token_us = std::max(first_token_us, usage.first_token_us);
}

std::string ServerSentEvent(std::string_view json, std::string_view name) {
  if (name.empty()) return fmt::format("data: {}\n\n", json);
  return fmt::format("event: {}\ndata: {}\n\n", name, json);
}

}  // namespace cairn
