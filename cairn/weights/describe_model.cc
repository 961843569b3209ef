#include "cairn/weights/describe_model.h"

#include <filesystem>
#include <utility>

#include "cairn/base/env.h"
#include "cairn/kernels/dequantize.h"
#include "cairn/spec/families.h"

namespace cairn {
namespace {

constexpr size_t kMaxConfigBytes = size_t{16} << 20;
constexpr std::string_view kRopeDivisors = "rope_freqs.weight";

Result<std::vector<float>> ReadRopeDivisors(const WeightFile& file) {
  std::vector<float> divisors;
  if (file.Find(kRopeDivisors) == nullptr) return divisors;
  CAIRN_ASSIGN(const TensorInfo* tensor, file.Require(kRopeDivisors));
  if (tensor->dtype != DType::kF32 || tensor->shape.size() != 1) {
    return Fail(ErrorCode::kCorrupt, "{}: tensor {} must be one row of f32", file.where(),
                kRopeDivisors);
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
    CAIRN_ASSIGN(tensors.rope_divisors, ReadRopeDivisors(file));
    return ModelSpecFromGguf(file.metadata(), tensors);
  }
  CAIRN_ASSIGN(const std::string json, ReadConfigOf(file, path));
  return ModelSpecFromConfig(json, ConfigPath(path));
}

}  // namespace cairn
