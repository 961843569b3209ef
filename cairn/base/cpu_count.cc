#include "cairn/base/cpu_count.h"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <set>

#include "cairn/base/env.h"

namespace cairn {
namespace {

constexpr size_t kMaxFileBytes = size_t{1} << 20;
constexpr int kMaxCpu = 65535;

// Empty if it can't be read.
std::string TextOf(const std::string& path) { return ReadFile(path, kMaxFileBytes).value_or(""); }

std::string_view WithoutSpace(std::string_view text) {
  const size_t first = text.find_first_not_of(" \t\n");
  if (first == std::string_view::npos) return "";
  return text.substr(first, text.find_last_not_of(" \t\n") + 1 - first);
}

std::optional<int64_t> Integer(std::string_view text) {
  text = WithoutSpace(text);
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

// What is before the separator, which goes away with it; all of it if there is none.
std::string_view TakePart(std::string_view& text, char separator) {
  const size_t end = text.find(separator);
  const std::string_view part = text.substr(0, end);
  text = end == std::string_view::npos ? "" : text.substr(end + 1);
  return part;
}

// Whole cores, at least 1.
std::optional<int> CoresOf(std::optional<int64_t> quota_us, std::optional<int64_t> period_us) {
  if (!quota_us || !period_us || *quota_us <= 0 || *period_us <= 0) return std::nullopt;
  return static_cast<int>(std::clamp<int64_t>(*quota_us / *period_us, 1, kMaxCpu + 1));
}

// cpu.max: "max 100000" or "150000 100000".
std::optional<int> LimitOfGroup2(const std::string& folder) {
  const std::string text = TextOf(folder + "/cpu.max");
  std::string_view rest = WithoutSpace(text);
  const std::optional<int64_t> quota_us = Integer(TakePart(rest, ' '));
  return CoresOf(quota_us, Integer(rest));
}

// The quota is -1 where there is none.
std::optional<int> LimitOfGroup1(const std::string& folder) {
  return CoresOf(Integer(TextOf(folder + "/cpu.cfs_quota_us")),
                 Integer(TextOf(folder + "/cpu.cfs_period_us")));
}

// Of a group and all above it. Inside a container the path may be the one outside, of which only
// the top is to be seen.
template <class Limit>
int StrictestLimit(const std::string& mount, std::string_view path, Limit limit) {
  int strictest = kMaxCpu + 1;
  while (true) {
    while (path.ends_with('/')) path.remove_suffix(1);
    const std::string folder = mount + std::string(path);
    strictest = std::min(strictest, limit(folder).value_or(strictest));
    if (path.empty()) return strictest;
    path = path.substr(0, path.find_last_of('/') + 1);
  }
}

bool NamesController(std::string_view controllers, std::string_view name) {
  while (!controllers.empty()) {
    if (TakePart(controllers, ',') == name) return true;
  }
  return false;
}

// Lines of /proc/self/cgroup: "0::/path" of cgroup 2, "4:cpu,cpuacct:/path" of cgroup 1.
int LimitOfGroups(const std::string& root) {
  const std::string text = TextOf(root + "/proc/self/cgroup");
  const std::string mounts = root + "/sys/fs/cgroup";
  int strictest = kMaxCpu + 1;
  for (std::string_view rest = text; !rest.empty();) {
    std::string_view path = TakePart(rest, '\n');
    const std::string_view hierarchy = TakePart(path, ':');
    const std::string_view controllers = TakePart(path, ':');
    if (hierarchy == "0" && controllers.empty()) {
      strictest = std::min(strictest, StrictestLimit(mounts, path, LimitOfGroup2));
      strictest = std::min(strictest, StrictestLimit(mounts + "/unified", path, LimitOfGroup2));
    } else if (NamesController(controllers, "cpu")) {
      for (const std::string& name : {std::string(controllers), std::string("cpu")}) {
        const std::string mount = fmt::format("{}/{}", mounts, name);
        strictest = std::min(strictest, StrictestLimit(mount, path, LimitOfGroup1));
      }
    }
  }
  return strictest;
}

// Processors that share a core name the same siblings; who names none is a core.
int PhysicalCores(const std::string& root, std::span<const int> allowed) {
  std::set<std::string> cores;
  for (const int cpu : allowed) {
    const std::string siblings = TextOf(
        fmt::format("{}/sys/devices/system/cpu/cpu{}/topology/thread_siblings_list", root, cpu));
    const std::optional<std::vector<int>> list = ParseCpuList(WithoutSpace(siblings));
    const bool named = list && std::ranges::find(*list, cpu) != list->end();
    cores.insert(named ? siblings : fmt::format("cpu{}", cpu));
  }
  return static_cast<int>(cores.size());
}

}  // namespace

std::optional<std::vector<int>> ParseCpuList(std::string_view text) {
  std::vector<int> cpus;
  if (text.empty()) return std::nullopt;
  while (!text.empty()) {
    std::string_view last_text = TakePart(text, ',');
    const bool range = last_text.find('-') != std::string_view::npos;
    const std::optional<int64_t> first = Integer(range ? TakePart(last_text, '-') : last_text);
    const std::optional<int64_t> last = Integer(last_text);
    if (!first || !last || *first < 0 || *last < *first || *last > kMaxCpu) return std::nullopt;
    for (int64_t cpu = *first; cpu <= *last; ++cpu) cpus.push_back(static_cast<int>(cpu));
    if (cpus.size() > size_t{2} * kMaxCpu) return std::nullopt;
  }
  std::ranges::sort(cpus);
  const auto repeated = std::ranges::unique(cpus);
  cpus.erase(repeated.begin(), repeated.end());
  return cpus;
}

int CoresToUse(const std::string& root, std::span<const int> allowed) {
  return std::max(1, std::min(PhysicalCores(root, allowed), LimitOfGroups(root)));
}

}  // namespace cairn
