// The definitions of the recurrences: scalar, slow, and what every kernel must equal bit for bit.
#ifndef CAIRN_KERNELS_RECURRENCE_REFERENCE_H_
#define CAIRN_KERNELS_RECURRENCE_REFERENCE_H_

#include <cstdint>

#include "cairn/kernels/causal_conv.h"
#include "cairn/kernels/channel_recurrence.h"
#include "cairn/kernels/delta_rule.h"
#include "cairn/kernels/linear_attention.h"
#include "cairn/kernels/selective_scan.h"

namespace cairn {

void CausalConvReference(const CausalConvTask& task, int64_t tokens);
void LinearAttentionReference(const LinearAttentionHead& head, int64_t tokens);
void Wkv6Reference(const Wkv6Head& head, int64_t tokens);
void DeltaRuleReference(const DeltaRuleHead& head, int64_t tokens);
void Wkv7Reference(const Wkv7Head& head, int64_t tokens);
void SelectiveScanReference(const SelectiveScanTask& task, int64_t tokens);
void Wkv4Reference(const Wkv4Task& task, int64_t tokens);
void RgLruReference(const RgLruTask& task, int64_t tokens);

}  // namespace cairn

#endif  // CAIRN_KERNELS_RECURRENCE_REFERENCE_H_
