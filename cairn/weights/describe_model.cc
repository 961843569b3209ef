#include "cairn/weights/describe_model.h"

#include <filesystem>
#include <optional>
#include <string_view>
#include <utility>

#include "cairn/base/env.h"
#include "cairn/kernels/dequantize.h"
#include "cairn/spec/families.h"

namespace cairn {
namespace {

constexpr size_t kMaxConfigBytes = size_t{16} << 20;

// Divisors of the rotation's frequencies; empty without that tensor.
Result<std::vector<float>> ReadDivisors(const WeightFile& file, std::string_view name) {
  std::vector<float> divisors;
  if (file.Find(name) == nullptr) return divisors;
  CAIRN_ASSIGN(const TensorInfo* tensor, file.Require(name));
  if (tensor->dtype != DType::kF32 || tensor->shape.size() != 1) {
    return Fail(ErrorCode::kCorrupt, "{}: tensor {} must be one row of f32", file.where(), name);
  }
  divisors.resize(static_cast<size_t>(tensor->shape[0]));
  DequantizeRow(DType::kF32, tensor->bytes, divisors.data(), tensor->shape[0]);
  return divisors;
}

bool DescribesItself(const WeightFile& file) {
  return file.metadata().Find("general.architecture") != nullptr;
}

std::string ConfigPath(const std::string& path) {
  const std::filesystem::path given(path);
  return ((IsDirectory(path) ? given : given.parent_path()) / "config.json").string();
}

}  // namespace

Result<std::string> ReadConfigOf(const WeightFile& file, const std::string& path) {
  if (DescribesItself(file)) return std::string();
  return ReadFile(ConfigPath(path), kMaxConfigBytes);
}

Result<ModelSpec> DescribeModel(const WeightFile& file, const std::string& path) {
  if (DescribesItself(file)) {
    GgufTensors tensors;
    tensors.has = [&](std::string_view name) { return file.Find(name) != nullptr; };
    tensors.rows = [&](std::string_view name) -> std::optional<int64_t> {
      const TensorInfo* tensor = file.Find(name);
      if (tensor == nullptr || tensor->shape.empty()) return std::nullopt;
      return tensor->shape.front();
    };
    CAIRN_ASSIGN(tensors.rope_divisors, ReadDivisors(file, "rope_freqs.weight"));
    CAIRN_ASSIGN(tensors.rope_short_divisors, ReadDivisors(file, "rope_factors_short.weight"));
    CAIRN_ASSIGN(tensors.rope_long_divisors, ReadDivisors(file, "rope_factors_long.weight"));
    return ModelSpecFromGguf(file.metadata(), tensors);
  }
  CAIRN_ASSIGN(const std::string json, ReadConfigOf(file, path));
  return ModelSpecFromConfig(json, ConfigPath(path));
}

}  // namespace cairn
