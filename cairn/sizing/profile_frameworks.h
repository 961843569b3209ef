// The frameworks behind ProfileSection, and the words their sections share.
//
// Each answers for a whole model and one rank of it. Pure functions; thread-safe.
#ifndef CAIRN_SIZING_PROFILE_FRAMEWORKS_H_
#define CAIRN_SIZING_PROFILE_FRAMEWORKS_H_

#include <string>
#include <utility>

#include "cairn/sizing/profile.h"

namespace cairn {

Result<Section> VllmSection(const ModelSpec& model, const ProfileQuestion& question);
Result<Section> SglangSection(const ModelSpec& model, const ProfileQuestion& question);
Result<Section> LlamaCppSection(const ModelSpec& model, const ProfileQuestion& question);
Result<Section> LmcacheSection(const ModelSpec& model, const ProfileQuestion& question);
Result<Section> OpenVinoSection(const ModelSpec& model, const ProfileQuestion& question);

inline constexpr double kBytesOfGib = 1024.0 * 1024.0 * 1024.0;
inline constexpr double kBytesOfMib = 1024.0 * 1024.0;

inline double GibOf(int64_t bytes) { return static_cast<double>(bytes) / kBytesOfGib; }
inline double MibOf(int64_t bytes) { return static_cast<double>(bytes) / kBytesOfMib; }

inline void AddField(Section& section, std::string key, std::string label, Cell value,
                     Unit unit = Unit::kNone, std::string formula = "") {
  section.fields.push_back(
      {std::move(key), std::move(label), std::move(value), unit, std::move(formula)});
}

inline int64_t CeilDiv(int64_t a, int64_t b) { return a / b + (a % b != 0 ? 1 : 0); }
inline int64_t RoundUp(int64_t a, int64_t b) { return CeilDiv(a, b) * b; }

// INT64_MAX where the product has no room.
inline int64_t Saturated(int64_t a, int64_t b) {
  int64_t product = 0;
  return __builtin_mul_overflow(a, b, &product) ? INT64_MAX : product;
}
inline int64_t SaturatedSum(int64_t a, int64_t b) {
  int64_t sum = 0;
  return __builtin_add_overflow(a, b, &sum) ? INT64_MAX : sum;
}

// The table of lines that a log would show, word for word as far as known.
inline Table LogTable() {
  return {.key = "log", .label = "log lines", .columns = {{.key = "line", .label = "line"}}};
}
inline void AddLine(Table& table, std::string line) {
  table.rows.push_back({Cell(std::move(line))});
}

}  // namespace cairn

#endif  // CAIRN_SIZING_PROFILE_FRAMEWORKS_H_
