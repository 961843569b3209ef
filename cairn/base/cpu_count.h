// How many cores to compute on: what the processor has, less what others forbid.
//
// Two hyper-threads of one core share the units that matrix products are made of, so they count as
// one core. A container's share of processor time (cpu.max of cgroup 2, cpu.cfs_quota_us of
// cgroup 1, of any group on the way up) counts in whole cores: a thread more would make all of them
// wait at the end of each period. Pure but for the files it reads; thread-safe.
#ifndef CAIRN_BASE_CPU_COUNT_H_
#define CAIRN_BASE_CPU_COUNT_H_

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace cairn {

// "0-3,8" as numbers, as the kernel writes lists of processors; nothing if it is something else, is
// empty or has a number above 65,535.
std::optional<std::vector<int>> ParseCpuList(std::string_view text);

// Cores among the processors `allowed`, at least 1. `root` is put before /proc and /sys; what can't
// be read there forbids nothing.
int CoresToUse(const std::string& root, std::span<const int> allowed);

}  // namespace cairn

#endif  // CAIRN_BASE_CPU_COUNT_H_
