// The most that one thread of this machine multiplies and reads: loops that do nothing else.
//
// A step multiplies each of kPeakRows chunks of `a` with each of kPeakColumns chunks of `b`,
// element by element, and adds the products up: as many independent sums as the best instruction of
// the target needs to be always busy, on operands from the first-level cache. Every function
// returns the sum of all it did, so that no compiler can leave a part out and a test can tell that
// none is missing. Pure functions; thread-safe.
#ifndef CAIRN_KERNELS_MACHINE_PEAK_H_
#define CAIRN_KERNELS_MACHINE_PEAK_H_

#include <cstddef>
#include <cstdint>
#include <span>

namespace cairn {

inline constexpr int64_t kPeakChunkBytes = 64;
inline constexpr int kPeakRows = 4;
inline constexpr int kPeakColumns = 4;
inline constexpr int64_t kPeakSteps = 16;  // of one pass over the operands
// Of a and of b each: [step][row or column][chunk].
inline constexpr int64_t kPeakOperandBytes = kPeakSteps * kPeakRows * kPeakChunkBytes;
static_assert(kPeakRows == kPeakColumns);

// Multiplications and additions of one pass with elements of a size.
constexpr int64_t PeakOperations(int64_t element_bytes) {
  return 2 * kPeakSteps * kPeakRows * kPeakColumns * kPeakChunkBytes / element_bytes;
}

// REQUIRES: operands of kPeakOperandBytes, aligned to 64 bytes. `passes` passes over them.
//
// Exact modulo 2^32. REQUIRES: elements of a below 128, the largest that one instruction of every
// target adds up without saturating.
uint32_t Int8PeakSum(const uint8_t* a, const int8_t* b, int64_t passes);
// Words of two bf16 numbers; exact while the sums of products are small integers.
float Bf16PeakSum(const uint32_t* a, const uint32_t* b, int64_t passes);
float F32PeakSum(const float* a, const float* b, int64_t passes);

// The sum of the words modulo 2^64, read from the first to the last as fast as they come.
// REQUIRES: aligned to 64 bytes.
uint64_t StreamSum(std::span<const uint64_t> words);

}  // namespace cairn

#endif  // CAIRN_KERNELS_MACHINE_PEAK_H_
