// Hadamard rotation of a head's channels: spreads a large channel over all, keeps every product.
//
// The orthonormal Sylvester matrix H = H^T = H^-1, in blocks of the largest power of two that
// divides the width (256 at most): 64 of 64 or 192 channels, 32 of 96, 16 of 80. Sums run in the
// butterflies' fixed order: the same bits for any vector width. Thread-safe.
#ifndef CAIRN_KERNELS_HADAMARD_H_
#define CAIRN_KERNELS_HADAMARD_H_

#include <cstdint>

namespace cairn {

// Channels that are mixed with one another. REQUIRES: width > 0.
int64_t HadamardBlock(int64_t width);

// Rotates `count` heads of `width` channels, one behind the other; twice is where they were, up to
// rounding.
void RotateHeads(float* heads, int64_t count, int64_t width);

// The same by the definition, for tests.
void RotateHeadsReference(float* heads, int64_t count, int64_t width);

}  // namespace cairn

#endif  // CAIRN_KERNELS_HADAMARD_H_
