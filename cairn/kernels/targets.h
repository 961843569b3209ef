// Which instruction sets the kernels are compiled for. Include before any header of Highway.
//
// x86: AVX2 with FMA (the least a machine must have), AVX-512 with VNNI (Ice Lake and later Intel),
// and the same with BF16 (Zen 4 and later). Older AVX-512 without VNNI runs the AVX2 code. ARM:
// NEON; vectors without a fixed size (SVE, RVV) are left out, because a stripe is exactly 16 lanes.
// With CAIRN_NATIVE only this machine's set is compiled.
#ifndef CAIRN_KERNELS_TARGETS_H_
#define CAIRN_KERNELS_TARGETS_H_

#define HWY_DISABLED_TARGETS                                                                      \
  (HWY_SSE2 | HWY_SSSE3 | HWY_SSE4 | HWY_AVX3 | HWY_AVX3_SPR | HWY_SVE | HWY_SVE2 | HWY_SVE_256 | \
   HWY_SVE2_128 | HWY_RVV)
#define HWY_WANT_AVX3_DL
#ifdef __AVX512BF16__
#define HWY_WANT_AVX3_ZEN4
#endif

#endif  // CAIRN_KERNELS_TARGETS_H_
