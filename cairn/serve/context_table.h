// ContextTable: the contexts of all who have some: who owns them, what they stand for, how long
// they stay, and which pins hold their state.
//
// A context belongs to the API key that made it; to others it isn't there. Its id is drawn from 128
// random bits. It is gone `ttl` after its last use, but not while it is used. One use at a time may
// change it; changes come all at once, when that use ends.
// Invariants: no more contexts than the limits say, in all and for each key; their texts take no
// more bytes than that; a context that is gone has given its pin to whoever removed it.
// Thread-compatible; times come from the caller and may be virtual.
#ifndef CAIRN_SERVE_CONTEXT_TABLE_H_
#define CAIRN_SERVE_CONTEXT_TABLE_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cairn/engine/engine.h"
#include "cairn/serve/api_error.h"
#include "cairn/serve/context_text.h"

namespace cairn {

struct ContextLimits {
  int64_t contexts = 1024;
  int64_t contexts_per_key = 128;
  int64_t text_bytes = int64_t{256} << 20;  // of all contexts' tokens and messages
  int64_t pinned_bytes = INT64_MAX;         // of state, of all pins
  int64_t ttl_us = 600 * int64_t{1'000'000};
  int64_t ttl_max_us = 86'400 * int64_t{1'000'000};
};

// How a context is to be made.
struct ContextOptions {
  int64_t ttl_us = 0;
  bool pin = false;
};

struct ServedContext {
  std::string id;
  int key = 0;
  std::string parent;  // its id, perhaps of one that is gone
  ContextText text;
  ContextOptions options;
  std::optional<PinId> pin;
  int64_t created_unix_s = 0;
  int64_t used_us = 0;
  int64_t uses = 0;       // going on now
  bool changing = false;  // by one of them

  int64_t expires_us() const { return used_us + options.ttl_us; }
};

class ContextTable {
 public:
  explicit ContextTable(ContextLimits limits) : limits_(limits) {}

  const ContextLimits& limits() const { return limits_; }
  int64_t size() const { return static_cast<int64_t>(contexts_.size()); }
  int64_t pinned() const;  // how many have a pin
  int64_t text_bytes() const { return text_bytes_; }

  // Error (429, with the numbers): so many more can't be had.
  ApiResult<void> CheckRoom(int key, int64_t count, int64_t text_bytes) const;
  // REQUIRES CheckRoom. Returns its id.
  std::string Add(int key, ContextText text, const ContextOptions& options, std::string parent,
                  std::optional<PinId> pin, int64_t now_us);

  // Null: it isn't there, or is another key's. Valid until the table changes.
  const ServedContext* Find(int key, std::string_view id, int64_t now_us) const;
  std::vector<const ServedContext*> Of(int key, int64_t now_us) const;
  std::vector<std::string> ChildrenOf(const ServedContext& context, int64_t now_us) const;
  // The longest beginning that its text shares with another context of its key and salt.
  TokenCount SharedTokens(const ServedContext& context) const;

  enum class UseKind : uint8_t { kReads, kChanges };
  struct Use {
    std::string id;
    UseKind kind = UseKind::kReads;
  };
  // Errors: 404, and 409 for a second one that changes.
  ApiResult<Use> Begin(int key, std::string_view id, UseKind kind, int64_t now_us);
  void End(const Use& use, int64_t now_us);
  // The other half of a change, before End. Returns the pin that held its state before, if `pin`
  // replaces it. False in `there`: it was removed meanwhile, and nothing has changed.
  struct Changed {
    bool there = false;
    std::optional<PinId> old_pin;
  };
  Changed Change(const Use& use, ContextText text, std::optional<PinId> pin);

  // Lives on for another time, from now; REQUIRES Find.
  void Touch(std::string_view id, std::optional<int64_t> ttl_us, int64_t now_us);
  // REQUIRES Find. The caller unpins.
  ServedContext Remove(std::string_view id);
  // Those whose time is up.
  std::vector<ServedContext> Expire(int64_t now_us);

  void Audit() const;

 private:
  const ContextLimits limits_;
  std::map<std::string, ServedContext, std::less<>> contexts_;
  std::map<int, int64_t> by_key_;
  int64_t text_bytes_ = 0;
};

}  // namespace cairn

#endif  // CAIRN_SERVE_CONTEXT_TABLE_H_
