#include "cairn/base/cpu_count.h"

#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>

#include "cairn/base/env.h"
#include "cairn/base/temp_folder_for_tests.h"

namespace cairn {
namespace {

constexpr int kFour[] = {0, 1, 2, 3};

// A root with files of its own.
class FakeRoot {
 public:
  void Write(const std::string& path, const std::string& text) const {
    const std::filesystem::path full = root() + path;
    std::filesystem::create_directories(full.parent_path());
    std::ofstream(full) << text;
  }
  void Siblings(int cpu, const std::string& list) const {
    Write("/sys/devices/system/cpu/cpu" + std::to_string(cpu) + "/topology/thread_siblings_list",
          list + "\n");
  }
  std::string root() const { return folder_.File("root"); }
  int Cores(std::span<const int> allowed = kFour) const { return CoresToUse(root(), allowed); }

 private:
  TempFolder folder_;
};

}  // namespace

TEST_CASE("where nothing can be read every processor is a core, and there is always one") {
  const FakeRoot fake;
  CHECK_EQ(fake.Cores(), 4);
  CHECK_EQ(fake.Cores({}), 1);
}

TEST_CASE("hyper-threads of one core count once, and only those that are allowed") {
  const FakeRoot fake;
  for (const int cpu : {0, 2}) fake.Siblings(cpu, "0,2");
  for (const int cpu : {1, 3}) fake.Siblings(cpu, "1,3");
  CHECK_EQ(fake.Cores(), 2);
  constexpr int kOne[] = {2};
  CHECK_EQ(fake.Cores(kOne), 1);
  // Lists that don't name the processor itself are not believed.
  for (const int cpu : kFour) fake.Siblings(cpu, "9");
  CHECK_EQ(fake.Cores(), 4);
}

TEST_CASE("cgroup 2: the strictest limit on the way up counts, in whole cores") {
  const FakeRoot fake;
  fake.Write("/proc/self/cgroup", "0::/a/b\n");
  fake.Write("/sys/fs/cgroup/a/b/cpu.max", "max 100000\n");
  CHECK_EQ(fake.Cores(), 4);
  fake.Write("/sys/fs/cgroup/a/cpu.max", "250000 100000\n");
  CHECK_EQ(fake.Cores(), 2);
  fake.Write("/sys/fs/cgroup/cpu.max", "50000 100000\n");
  CHECK_EQ(fake.Cores(), 1);
}

TEST_CASE("cgroup 2 in a container: the path may lead outside, the top is what counts") {
  const FakeRoot fake;
  fake.Write("/proc/self/cgroup", "0::/docker/0123456789\n");
  fake.Write("/sys/fs/cgroup/cpu.max", "300000 100000\n");
  CHECK_EQ(fake.Cores(), 3);
}

TEST_CASE("cgroup 1: the quota of the cpu controller, under either name of its folder") {
  for (const char* folder : {"cpu,cpuacct", "cpu"}) {
    CAPTURE(folder);
    const FakeRoot fake;
    const std::string group = std::string("/sys/fs/cgroup/") + folder + "/docker/x";
    fake.Write("/proc/self/cgroup",
               "5:cpuset:/\n4:cpu,cpuacct:/docker/x\n1:name=systemd:/docker/x\n0::/\n");
    fake.Write(group + "/cpu.cfs_quota_us", "-1\n");
    fake.Write(group + "/cpu.cfs_period_us", "100000\n");
    CHECK_EQ(fake.Cores(), 4);
    fake.Write(group + "/cpu.cfs_quota_us", "299999\n");
    CHECK_EQ(fake.Cores(), 2);
  }
}

TEST_CASE("nonsense in those files forbids nothing") {
  const FakeRoot fake;
  for (const char* limit : {"", "max", "x y", "0 100000", "100000 0", "-5 -5", "1e9 1", "7"}) {
    CAPTURE(limit);
    for (const char* groups : {"0::/\n", "0::no/slash", "::::", "0", "\n\n", "4:cpu:"}) {
      CAPTURE(groups);
      fake.Write("/proc/self/cgroup", groups);
      fake.Write("/sys/fs/cgroup/cpu.max", limit);
      fake.Write("/sys/fs/cgroup/cpu/cpu.cfs_quota_us", limit);
      CHECK_EQ(fake.Cores(), 4);
    }
  }
}

TEST_CASE("lists of processors") {
  using List = std::vector<int>;
  CHECK(ParseCpuList("0") == List{0});
  CHECK(ParseCpuList("0-3") == List{0, 1, 2, 3});
  CHECK(ParseCpuList("8,0-1,1") == List{0, 1, 8});
  for (const char* wrong : {"", "a", "-1", "3-1", "1-", "-", "0-65536", "1,,2", "0-1-2"}) {
    CAPTURE(wrong);
    CHECK_FALSE(ParseCpuList(wrong).has_value());
  }
}

TEST_CASE("this machine has at least one core") { CHECK(CpuCount() >= 1); }

}  // namespace cairn
