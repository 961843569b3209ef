#include "cairn/models/tensor_loader.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>
#include <cstring>
#include <utility>

#include "cairn/kernels/dequantize.h"

namespace cairn {
namespace {

// Sizes of 1 say nothing: a vector may be stored as [1, 1, heads, 1].
std::vector<int64_t> WithoutOnes(std::span<const int64_t> shape) {
  std::vector<int64_t> kept;
  for (const int64_t size : shape) {
    if (size != 1) kept.push_back(size);
  }
  return kept;
}

int64_t Product(std::span<const int64_t> shape) {
  int64_t product = 1;
  for (const int64_t size : shape) product *= size;
  return product;
}

// The chosen rows of one matrix [total, columns] one behind the other, in the source's type.
std::vector<std::byte> GatherRows(std::span<const std::byte> matrix, const RowChoice& rows,
                                  size_t row_bytes) {
  std::vector<std::byte> gathered(static_cast<size_t>(rows.count) * row_bytes);
  for (int64_t i = 0; i < rows.count; ++i) {
    const auto from = static_cast<size_t>(rows.Source(i)) * row_bytes;
    std::memcpy(gathered.data() + static_cast<size_t>(i) * row_bytes, matrix.data() + from,
                row_bytes);
  }
  return gathered;
}

// The same of a matrix [columns, total].
std::vector<std::byte> GatherColumns(std::span<const std::byte> matrix, const RowChoice& rows,
                                     int64_t columns, size_t element_bytes) {
  std::vector<std::byte> gathered(static_cast<size_t>(rows.count * columns) * element_bytes);
  for (int64_t i = 0; i < rows.count; ++i) {
    const int64_t row = rows.Source(i);
    for (int64_t k = 0; k < columns; ++k) {
      std::memcpy(gathered.data() + static_cast<size_t>(i * columns + k) * element_bytes,
                  matrix.data() + static_cast<size_t>(k * rows.total + row) * element_bytes,
                  element_bytes);
    }
  }
  return gathered;
}

}  // namespace

Result<const TensorInfo*> TensorLoader::Read(const std::string& name,
                                             std::span<const int64_t> shape) {
  CAIRN_ASSIGN(const TensorInfo* tensor, file_.Require(name));
  if (WithoutOnes(tensor->shape) != WithoutOnes(shape)) {
    return Fail(ErrorCode::kCorrupt, "{}: tensor {} has shape [{}], the model's config needs [{}]",
                where(), name, fmt::join(tensor->shape, ", "), fmt::join(shape, ", "));
  }
  read_.insert(tensor);
  return tensor;
}

PackedMatrix TensorLoader::Pack(DType dtype, std::span<const std::byte> source, int64_t rows,
                                int64_t columns) {
  PackedMatrix matrix =
      PackedMatrix::Pack(dtype, source, rows, columns, pool_, &arena_, file_.FileOf(source));
  packed_bytes_ += matrix.bytes();
  return matrix;
}

Result<Linear> TensorLoader::Rows(const std::string& name, const RowChoice& rows, int64_t columns) {
  std::vector<int64_t> shape = {rows.total, columns};
  if (rows.transposed) std::swap(shape[0], shape[1]);
  if (rows.stack > 0) shape.insert(shape.begin(), rows.stack);
  CAIRN_ASSIGN(const TensorInfo* tensor, Read(name, shape));
  const DType dtype = *tensor->dtype;
  if (!IsWeightFormat(dtype) || (rows.transposed && InfoOf(dtype).block_elements != 1)) {
    return Fail(ErrorCode::kUnsupported, "{}: tensor {} of type {} can't be used as a matrix",
                where(), name, tensor->type_name);
  }
  const auto matrix_bytes =
      static_cast<size_t>(BytesOf(dtype, ElementCount(rows.total * columns)).value());
  const std::span<const std::byte> matrix =
      tensor->bytes.subspan(static_cast<size_t>(rows.index) * matrix_bytes, matrix_bytes);
  const size_t row_bytes = matrix_bytes / static_cast<size_t>(rows.total);
  Linear linear;
  if (rows.transposed) {
    const std::vector<std::byte> gathered = GatherColumns(
        matrix, rows, columns, static_cast<size_t>(BytesOf(dtype, ElementCount(1)).value()));
    linear.matrix = Pack(dtype, gathered, rows.count, columns);
  } else if (rows.step == rows.group) {
    linear.matrix = Pack(dtype,
                         matrix.subspan(static_cast<size_t>(rows.first) * row_bytes,
                                        static_cast<size_t>(rows.count) * row_bytes),
                         rows.count, columns);
  } else {
    linear.matrix = Pack(dtype, GatherRows(matrix, rows, row_bytes), rows.count, columns);
  }
  return linear;
}

Status TensorLoader::CheckAllRead() const {
  for (const TensorInfo& tensor : file_.tensors()) {
    if (read_.contains(&tensor) || names_.MayStayUnread(tensor.name)) continue;
    return Fail(ErrorCode::kUnsupported,
                "{}: tensor {} isn't part of a {} model as it is known here", where(), tensor.name,
                spec_.family);
  }
  return {};
}

std::string PartLoader::NameOf(std::string_view role) const {
  if (layer_) return loader_.names().Layer(*layer_, role);
  return role == "lm_head" ? loader_.names().Head() : loader_.names().Global(role);
}

bool PartLoader::Has(std::string_view role) const {
  return loader_.Find(NameOf(role) + ".weight") != nullptr;
}

bool PartLoader::HasRaw(std::string_view role) const {
  return loader_.Find(NameOf(role)) != nullptr;
}

int64_t PartLoader::ElementsOf(std::string_view role) const {
  const TensorInfo* tensor = loader_.Find(NameOf(role));
  return tensor == nullptr ? 0 : Product(tensor->shape);
}

Result<Linear> PartLoader::Matrix(std::string_view role, int64_t rows, int64_t columns,
                                  bool bias) const {
  return Rows(role, {.total = rows, .count = rows}, columns, bias);
}

Result<Linear> PartLoader::Rows(std::string_view role, const RowChoice& rows, int64_t columns,
                                bool bias) const {
  const std::string name = NameOf(role);
  CAIRN_ASSIGN(Linear linear, loader_.Rows(name + ".weight", rows, columns));
  if (!bias) return linear;
  CAIRN_ASSIGN(const std::vector<float> all, Raw(std::string(role) + ".bias", rows.total));
  for (int64_t i = 0; i < rows.count; ++i) {
    linear.bias.push_back(all[static_cast<size_t>(rows.Source(i))]);
  }
  return linear;
}

Result<Linear> PartLoader::RawRows(std::string_view role, const RowChoice& rows,
                                   int64_t columns) const {
  return loader_.Rows(NameOf(role), rows, columns);
}

Result<Linear> PartLoader::MatrixOrRows(std::string_view role, std::string_view fused,
                                        const RowChoice& rows, int64_t columns, bool bias) const {
  if (Has(role) || !Has(fused)) return Matrix(role, rows.count, columns, bias);
  return Rows(fused, rows, columns, bias);
}

Linear PartLoader::Computed(std::span<const float> values, int64_t rows, int64_t columns) const {
  Linear linear;
  linear.matrix = loader_.Pack(DType::kF32, std::as_bytes(values), rows, columns);
  return linear;
}

Result<std::vector<float>> PartLoader::Vector(std::string_view role, int64_t width) const {
  const std::array<int64_t, 1> shape = {width};
  return Raw(std::string(role) + ".weight", shape);
}

Result<Norm> PartLoader::NormOf(std::string_view role, int64_t width, std::optional<double> epsilon,
                                bool plus_one) const {
  Norm norm;
  norm.kind = spec().norm;
  norm.epsilon = epsilon.value_or(spec().norm_epsilon);
  CAIRN_ASSIGN(norm.weight, Vector(role, width));
  if (spec().norm_weight_plus_one && plus_one) {
    for (float& w : norm.weight) w += 1.0f;
  }
  if (norm.kind == NormKind::kLayer && HasRaw(std::string(role) + ".bias")) {
    CAIRN_ASSIGN(norm.bias, Raw(std::string(role) + ".bias", width));
  }
  return norm;
}

Result<std::vector<float>> PartLoader::Raw(std::string_view role,
                                           std::span<const int64_t> shape) const {
  CAIRN_ASSIGN(const TensorInfo* tensor, loader_.Read(NameOf(role), shape));
  if (!IsWeightFormat(*tensor->dtype)) {
    return Fail(ErrorCode::kUnsupported, "{}: tensor {} is of type {}, expected numbers", where(),
                tensor->name, tensor->type_name);
  }
  std::vector<float> values(static_cast<size_t>(Product(shape)));
  DequantizeRow(*tensor->dtype, tensor->bytes, values.data(), Product(shape));
  return values;
}

Result<std::vector<int64_t>> PartLoader::Integers(std::string_view role,
                                                  std::span<const int64_t> shape) const {
  CAIRN_ASSIGN(const TensorInfo* tensor, loader_.Read(NameOf(role), shape));
  const auto count = static_cast<size_t>(Product(shape));
  std::vector<int64_t> values(count);
  if (tensor->dtype == DType::kI64) {
    std::memcpy(values.data(), tensor->bytes.data(), count * sizeof(int64_t));
    return values;
  }
  if (tensor->dtype != DType::kI32) {
    return Fail(ErrorCode::kUnsupported, "{}: tensor {} is of type {}, expected integers", where(),
                tensor->name, tensor->type_name);
  }
  std::vector<int32_t> narrow(count);
  std::memcpy(narrow.data(), tensor->bytes.data(), count * sizeof(int32_t));
  values.assign(narrow.begin(), narrow.end());
  return values;
}

int64_t PartLoader::RowsOf(std::string_view role) const {
  const TensorInfo* tensor = loader_.Find(NameOf(role) + ".weight");
  return tensor == nullptr || tensor->shape.empty() ? 0 : tensor->shape.front();
}

Result<const TensorInfo*> PartLoader::Table(std::string_view role, int64_t rows,
                                            int64_t columns) const {
  const std::array<int64_t, 2> shape = {rows, columns};
  return Table(role, shape);
}

Result<const TensorInfo*> PartLoader::Table(std::string_view role,
                                            std::span<const int64_t> shape) const {
  CAIRN_ASSIGN(const TensorInfo* tensor, loader_.Read(NameOf(role) + ".weight", shape));
  if (IsWeightFormat(*tensor->dtype)) return tensor;
  return Fail(ErrorCode::kUnsupported, "{}: tensor {} of type {} can't be read as numbers", where(),
              tensor->name, tensor->type_name);
}

}  // namespace cairn
