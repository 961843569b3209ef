// Bounds on what a model description may say. No released model comes near one; a file that passes
// them can be multiplied out in 64 bits and allocates no more than a few megabytes of description.
#ifndef CAIRN_SPEC_LIMITS_H_
#define CAIRN_SPEC_LIMITS_H_

#include <cstdint>

namespace cairn {

inline constexpr int64_t kMaxLayers = 512;
inline constexpr int64_t kMaxHidden = int64_t{1} << 20;
inline constexpr int64_t kMaxIntermediate = int64_t{1} << 22;
inline constexpr int64_t kMaxHeads = int64_t{1} << 14;
inline constexpr int64_t kMaxHeadWidth = int64_t{1} << 14;
// heads x width of one projection.
inline constexpr int64_t kMaxProjection = int64_t{1} << 22;
inline constexpr int64_t kMaxVocabulary = int64_t{1} << 24;
// Tokens of one sequence: also the largest window.
inline constexpr int64_t kMaxContext = int64_t{1} << 28;

}  // namespace cairn

#endif  // CAIRN_SPEC_LIMITS_H_
