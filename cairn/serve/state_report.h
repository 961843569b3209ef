// What the process's state is made of at one moment, and as the JSON of GET /state.
//
// Plain numbers: whoever owns the state fills them in between two steps; serve knows no more of it.
#ifndef CAIRN_SERVE_STATE_REPORT_H_
#define CAIRN_SERVE_STATE_REPORT_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cairn/engine/engine.h"

namespace cairn {

struct StateFigures {
  // Occupancy.
  int64_t budget_bytes = 0;
  int64_t live_bytes = 0;
  int64_t live_max_bytes = 0;
  int64_t free_bytes = 0;
  int64_t warm_bytes = 0;  // free, and still the system's to us
  int64_t sequences = 0;
  int64_t bytes_per_token = 0;  // what one more token of a sequence takes
  struct BlockClass {
    std::string kind = {};  // "rows" of all tokens, of a "window", of a "chunk"; "fixed"
    int64_t tokens = 0;     // of the window or the chunk
    int64_t block_bytes = 0;
    int64_t live_blocks = 0;
  };
  std::vector<BlockClass> classes;
  // What the live bytes are for; absent where looking would take too long.
  struct Use {
    int64_t pinned_bytes = 0;    // kept, and stay: rows and points
    int64_t running_bytes = 0;   // of answers alone
    int64_t in_use_bytes = 0;    // kept, and answers go on from it
    int64_t kept_bytes = 0;      // kept, and may go
    int64_t snapshot_bytes = 0;  // kept points to resume from
    int64_t waiting_bytes = 0;   // only to be written to a tier
  };
  std::optional<Use> use;

  // The tree of what is kept.
  std::string policy;
  int64_t nodes = 0;
  int64_t points = 0;
  int64_t evictions = 0;
  int64_t evicted_tokens = 0;
  // A bounded picture of it, parents first; no tokens and no owners.
  struct Node {
    int64_t parent = -1;  // in this list
    int64_t tokens = 0;
    int64_t bytes = 0;
    int64_t points = 0;
    int64_t children = 0;
    bool locked = false;
    // How many of its tokens each tier has, too; absent where looking would take too long.
    std::optional<std::vector<int64_t>> tier_tokens = {};
  };
  std::vector<Node> shown_nodes;

  struct Contexts {
    int64_t count = 0;
    int64_t pinned = 0;  // of these
    int64_t pinned_bytes = 0;
    int64_t pinned_bytes_max = 0;
  };
  Contexts contexts;

  // Where prompts' state came from.
  int64_t opened = 0;
  int64_t opened_tokens = 0;
  int64_t memory_tokens = 0;
  int64_t loaded_tokens = 0;
  int64_t refused = 0;

  // Tiers below memory.
  struct Tier {
    std::string name;
    int64_t objects = 0;
    int64_t bytes = 0;
    int64_t tokens_loaded = 0;  // of prompts
  };
  std::vector<Tier> tiers;
  int64_t loads = 0;
  int64_t loads_failed = 0;
  int64_t loads_late = 0;
  int64_t loads_declined = 0;
  int64_t written = 0;
  int64_t written_bytes = 0;
  int64_t write_waiting = 0;
  int64_t write_failed = 0;
  int64_t write_given_up = 0;
  std::string problem;  // the last one of a tier
};

std::string StateReportJson(const StateFigures& state, const EngineStats& engine);

}  // namespace cairn

#endif  // CAIRN_SERVE_STATE_REPORT_H_
