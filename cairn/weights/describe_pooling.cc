#include "cairn/weights/describe_pooling.h"

#include <filesystem>

#include "cairn/base/env.h"

namespace cairn {
namespace {

constexpr size_t kMaxConfigBytes = size_t{1} << 20;

}  // namespace

Result<std::optional<Pooling>> DescribePooling(const WeightFile& file, const std::string& path) {
  if (file.metadata().Has("general.architecture")) return PoolingFromGguf(file.metadata());
  const std::filesystem::path given(path);
  const std::filesystem::path folder = IsDirectory(path) ? given : given.parent_path();
  const Result<std::string> modules = ReadFile((folder / "modules.json").string(), kMaxConfigBytes);
  if (!modules && modules.error().code == ErrorCode::kNotFound) return std::nullopt;
  if (!modules) return std::unexpected(modules.error());
  CAIRN_ASSIGN(const std::string pooling,
               ReadFile((folder / "1_Pooling" / "config.json").string(), kMaxConfigBytes));
  return PoolingFromModules(*modules, pooling, folder.string());
}

}  // namespace cairn
