#include "cairn/serve/context_table.h"

#include <algorithm>
#include <utility>

#include "cairn/base/check.h"
#include "cairn/base/env.h"

namespace cairn {
namespace {

std::unexpected<ApiError> NoRoom(std::string why) {
  return std::unexpected(ApiError{.type = ApiErrorType::kRateLimit, .message = std::move(why)});
}

std::string NewId() { return fmt::format("ctx-{:016x}{:016x}", RandomSeed(), RandomSeed()); }

bool IsAlive(const ServedContext& context, int64_t now_us) {
  return context.uses > 0 || now_us < context.expires_us();
}

}  // namespace

int64_t ContextTable::pinned() const {
  return std::ranges::count_if(contexts_, [](const auto& c) { return c.second.pin.has_value(); });
}

ApiResult<void> ContextTable::CheckRoom(int key, int64_t count, int64_t text_bytes) const {
  const auto found = by_key_.find(key);
  const int64_t own = found == by_key_.end() ? 0 : found->second;
  if (own + count > limits_.contexts_per_key) {
    return NoRoom(
        fmt::format("{} contexts are this key's already, and {} more would exceed the {} that a "
                    "key may have; release some",
                    own, count, limits_.contexts_per_key));
  }
  if (size() + count > limits_.contexts) {
    return NoRoom(fmt::format("there are {} contexts, and {} more would exceed the server's {}",
                              size(), count, limits_.contexts));
  }
  if (text_bytes_ + text_bytes > limits_.text_bytes) {
    return NoRoom(
        fmt::format("the contexts' tokens and messages take {} bytes, and {} more would exceed the "
                    "server's {}",
                    text_bytes_, text_bytes, limits_.text_bytes));
  }
  return {};
}

std::string ContextTable::Add(int key, ContextText text, const ContextOptions& options,
                              std::string parent, std::optional<PinId> pin, int64_t now_us) {
  ServedContext made{.id = NewId(),
                     .key = key,
                     .parent = std::move(parent),
                     .text = std::move(text),
                     .options = options,
                     .pin = pin,
                     .created_unix_s = NowUnixSeconds(),
                     .used_us = now_us};
  text_bytes_ += made.text.Bytes();
  ++by_key_[key];
  std::string id = made.id;
  CAIRN_CHECK(contexts_.emplace(id, std::move(made)).second);
  return id;
}

// ---- Finding ----

const ServedContext* ContextTable::Find(int key, std::string_view id, int64_t now_us) const {
  const auto found = contexts_.find(id);
  if (found == contexts_.end()) return nullptr;
  const ServedContext& context = found->second;
  return context.key == key && IsAlive(context, now_us) ? &context : nullptr;
}

std::vector<const ServedContext*> ContextTable::Of(int key, int64_t now_us) const {
  std::vector<const ServedContext*> own;
  for (const auto& [id, context] : contexts_) {
    if (context.key == key && IsAlive(context, now_us)) own.push_back(&context);
  }
  return own;
}

std::vector<std::string> ContextTable::ChildrenOf(const ServedContext& context,
                                                  int64_t now_us) const {
  std::vector<std::string> children;
  for (const ServedContext* other : Of(context.key, now_us)) {
    if (other->parent == context.id) children.push_back(other->id);
  }
  return children;
}

TokenCount ContextTable::SharedTokens(const ServedContext& context) const {
  int64_t shared = 0;
  for (const auto& [id, other] : contexts_) {
    if (id == context.id || other.key != context.key) continue;
    if (other.text.cache_salt != context.text.cache_salt) continue;
    shared = std::max(shared, CommonTokens(context.text.tokens, other.text.tokens));
  }
  return TokenCount(shared);
}

// ---- Using ----

ApiResult<ContextTable::Use> ContextTable::Begin(int key, std::string_view id, UseKind kind,
                                                 int64_t now_us) {
  if (Find(key, id, now_us) == nullptr) {
    return std::unexpected(ApiError{.type = ApiErrorType::kNotFound,
                                    .message = "there is no such context, or not any more",
                                    .param = "context"});
  }
  ServedContext& context = contexts_.find(id)->second;
  if (kind == UseKind::kChanges && context.changing) {
    return std::unexpected(
        ApiError{.type = ApiErrorType::kConflict,
                 .message = "something is being appended to the context already: go on when that "
                            "has ended, or fork it",
                 .param = "context"});
  }
  ++context.uses;
  context.changing = context.changing || kind == UseKind::kChanges;
  context.used_us = now_us;
  return Use{.id = context.id, .kind = kind};
}

void ContextTable::End(const Use& use, int64_t now_us) {
  const auto found = contexts_.find(use.id);
  if (found == contexts_.end()) return;  // it was removed meanwhile
  ServedContext& context = found->second;
  CAIRN_CHECK(context.uses > 0);
  --context.uses;
  context.used_us = now_us;
  if (use.kind == UseKind::kChanges) context.changing = false;
}

ContextTable::Changed ContextTable::Change(const Use& use, ContextText text,
                                           std::optional<PinId> pin) {
  CAIRN_CHECK(use.kind == UseKind::kChanges);
  const auto found = contexts_.find(use.id);
  if (found == contexts_.end()) return {};
  ServedContext& context = found->second;
  CAIRN_CHECK(context.changing);
  text_bytes_ += text.Bytes() - context.text.Bytes();
  context.text = std::move(text);
  if (!pin) return {.there = true, .old_pin = std::nullopt};
  return {.there = true, .old_pin = std::exchange(context.pin, pin)};
}

void ContextTable::Touch(std::string_view id, std::optional<int64_t> ttl_us, int64_t now_us) {
  const auto found = contexts_.find(id);
  CAIRN_CHECK(found != contexts_.end());
  found->second.used_us = now_us;
  if (ttl_us) found->second.options.ttl_us = *ttl_us;
}

// ---- Ends ----

ServedContext ContextTable::Remove(std::string_view id) {
  const auto found = contexts_.find(id);
  CAIRN_CHECK(found != contexts_.end());
  ServedContext removed = std::move(found->second);
  contexts_.erase(found);
  text_bytes_ -= removed.text.Bytes();
  const auto count = by_key_.find(removed.key);
  if (--count->second == 0) by_key_.erase(count);
  return removed;
}

std::vector<ServedContext> ContextTable::Expire(int64_t now_us) {
  std::vector<std::string> over;
  for (const auto& [id, context] : contexts_) {
    if (!IsAlive(context, now_us)) over.push_back(id);
  }
  std::vector<ServedContext> removed;
  removed.reserve(over.size());
  for (const std::string& id : over) removed.push_back(Remove(id));
  return removed;
}

void ContextTable::Audit() const {
  int64_t bytes = 0;
  std::map<int, int64_t> counts;
  for (const auto& [id, context] : contexts_) {
    CAIRN_CHECK(context.id == id && context.uses >= 0);
    CAIRN_CHECK(!context.changing || context.uses > 0);
    bytes += context.text.Bytes();
    ++counts[context.key];
  }
  CAIRN_CHECK(bytes == text_bytes_ && counts == by_key_ && size() <= limits_.contexts);
}

}  // namespace cairn
