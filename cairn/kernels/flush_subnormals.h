// FlushSubnormals: while it lives, its thread's floating-point operations read and write numbers
// too small for a full mantissa as zero.
//
// The bf16 dot product of x86 does so always; other instructions must do so to give the same bits.
// Thread safety: a mode of the calling thread alone.
#ifndef CAIRN_KERNELS_FLUSH_SUBNORMALS_H_
#define CAIRN_KERNELS_FLUSH_SUBNORMALS_H_

#include <cstdint>

#include "hwy/detect_targets.h"

namespace cairn {

class FlushSubnormals {
 public:
  FlushSubnormals() : before_(Mode()) { SetMode(before_ | kFlush); }
  ~FlushSubnormals() { SetMode(before_); }
  FlushSubnormals(const FlushSubnormals&) = delete;
  FlushSubnormals& operator=(const FlushSubnormals&) = delete;

 private:
#if HWY_ARCH_X86
  using Word = uint32_t;
  static constexpr Word kFlush = 0x8040;  // flush to zero, denormals are zero
  static Word Mode() {
    Word mode;
    asm volatile("stmxcsr %0" : "=m"(mode));
    return mode;
  }
  static void SetMode(Word mode) { asm volatile("ldmxcsr %0" : : "m"(mode) : "memory"); }
#elif HWY_ARCH_ARM_A64
  using Word = uint64_t;
  static constexpr Word kFlush = uint64_t{1} << 24;  // FPCR.FZ
  static Word Mode() {
    Word mode;
    asm volatile("mrs %0, fpcr" : "=r"(mode));
    return mode;
  }
  static void SetMode(Word mode) { asm volatile("msr fpcr, %0" : : "r"(mode) : "memory"); }
#else
#error "say how this architecture flushes subnormal numbers"
#endif

  const Word before_;
};

}  // namespace cairn

#endif  // CAIRN_KERNELS_FLUSH_SUBNORMALS_H_
