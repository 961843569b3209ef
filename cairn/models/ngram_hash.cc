#include "cairn/models/ngram_hash.h"

#include <fmt/core.h>

#include "cairn/base/check.h"

namespace cairn {

std::string NgramHash::Problem(int64_t rows) const {
  for (size_t i = 0; i < sizes.size(); ++i) {
    if (sizes[i] < 1) return fmt::format("table {} has {} rows", i, sizes[i]);
    if (offsets[i] < 0 || offsets[i] > rows || sizes[i] > rows - offsets[i]) {
      return fmt::format("table {} doesn't lie within {} rows", i, rows);
    }
  }
  return "";
}

void NgramHash::Rows(std::span<const int64_t> ids, int64_t* rows) const {
  CAIRN_DCHECK(ids.size() == multipliers.size() && ids.size() > 1);
  const size_t heads = sizes.size() / (ids.size() - 1);
  const auto times = [](int64_t id, int64_t multiplier) {
    return static_cast<uint64_t>(id) * static_cast<uint64_t>(multiplier);
  };
  uint64_t mixed = times(ids.back(), multipliers[0]);
  bool ended = false;
  size_t table = 0;
  for (size_t back = 1; back < ids.size(); ++back) {
    const int64_t id = ids[ids.size() - 1 - back];
    ended = ended || id == end_token;
    mixed ^= times(ended ? end_token : id, multipliers[back]);
    for (size_t h = 0; h < heads; ++h, ++table) {
      const int64_t rest = static_cast<int64_t>(mixed) % sizes[table];
      rows[table] = offsets[table] + (rest < 0 ? rest + sizes[table] : rest);
    }
  }
}

}  // namespace cairn
