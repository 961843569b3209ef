// TensorLoader: finds, checks and converts the tensors of one file, and knows which were read.
//
// PartLoader is the same at one place of the model, a layer or outside of the layers; parts are
// made from it and name tensors by their roles (tensor_names.h). Errors name the tensor: missing,
// of the wrong shape, or of a type that can't be used. Thread safety: none.
#ifndef CAIRN_MODELS_TENSOR_LOADER_H_
#define CAIRN_MODELS_TENSOR_LOADER_H_

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "cairn/base/status.h"
#include "cairn/base/thread_pool.h"
#include "cairn/kernels/pack_arena.h"
#include "cairn/models/linear.h"
#include "cairn/models/norm.h"
#include "cairn/models/tensor_names.h"
#include "cairn/spec/model_spec.h"
#include "cairn/weights/weight_file.h"

namespace cairn {

// Rows of a tensor that make a matrix: from all `total` those at first, first + step, ..., each
// with the `group` - 1 rows after it, `count` in all; in the matrix `index` of a stack of `stack`
// such (stack 0: the tensor is no stack).
struct RowChoice {
  int64_t total = 0;
  int64_t first = 0;
  int64_t count = 0;
  int64_t step = 1;
  int64_t group = 1;
  int64_t stack = 0;
  int64_t index = 0;
  bool transposed = false;  // the file holds [columns, total] instead of [total, columns]

  // Row `i` of the matrix in the tensor.
  int64_t Source(int64_t i) const { return first + i / group * step + i % group; }
};

class TensorLoader {
 public:
  // Packed matrices lie in the arena.
  TensorLoader(const WeightFile& file, const ModelSpec& spec, PackArena& arena, ThreadPool& pool)
      : file_(file), spec_(spec), names_(file, spec), arena_(arena), pool_(pool) {}

  const ModelSpec& spec() const { return spec_; }
  const TensorNames& names() const { return names_; }
  const std::string& where() const { return file_.where(); }
  int64_t packed_bytes() const { return packed_bytes_; }

  // The whole name of a tensor, its suffix with it.
  const TensorInfo* Find(const std::string& name) const { return file_.Find(name); }
  // Marks it as read.
  Result<const TensorInfo*> Read(const std::string& name, std::span<const int64_t> shape);
  Result<Linear> Rows(const std::string& name, const RowChoice& rows, int64_t columns);
  PackedMatrix Pack(DType dtype, std::span<const std::byte> source, int64_t rows, int64_t columns);
  // A part packed as many by itself.
  void CountPacked(int64_t bytes) { packed_bytes_ += bytes; }
  // An error that names the first tensor that nobody read and that isn't known to be unneeded.
  Status CheckAllRead() const;

 private:
  const WeightFile& file_;
  const ModelSpec& spec_;
  const TensorNames names_;
  PackArena& arena_;
  ThreadPool& pool_;
  std::unordered_set<const TensorInfo*> read_;
  int64_t packed_bytes_ = 0;
};

// Roles are without ".weight" and ".bias", except in Raw and Integers.
class PartLoader {
 public:
  explicit PartLoader(TensorLoader& loader) : loader_(loader) {}
  PartLoader(TensorLoader& loader, LayerIndex layer) : loader_(loader), layer_(layer) {}

  const ModelSpec& spec() const { return loader_.spec(); }
  const std::string& where() const { return loader_.where(); }
  const TensorNames& names() const { return loader_.names(); }
  PartLoader Global() const { return PartLoader(loader_); }
  // The tensor's whole name but for its suffix.
  std::string NameOf(std::string_view role) const;
  bool Has(std::string_view role) const;            // role + ".weight"
  bool HasRaw(std::string_view role) const;         // as it stands
  int64_t ElementsOf(std::string_view role) const;  // the same; 0: the file doesn't have it

  // [rows, columns], and with `bias` [rows].
  Result<Linear> Matrix(std::string_view role, int64_t rows, int64_t columns,
                        bool bias = false) const;
  // Some rows of a matrix, and of its bias.
  Result<Linear> Rows(std::string_view role, const RowChoice& rows, int64_t columns,
                      bool bias = false) const;
  // The same of a tensor under its whole role.
  Result<Linear> RawRows(std::string_view role, const RowChoice& rows, int64_t columns) const;
  // The first of the roles that the file has: a matrix of its own, or rows of a fused one.
  Result<Linear> MatrixOrRows(std::string_view role, std::string_view fused, const RowChoice& rows,
                              int64_t columns, bool bias) const;
  // A matrix that the part computed.
  Linear Computed(std::span<const float> values, int64_t rows, int64_t columns) const;
  void CountPacked(int64_t bytes) const { loader_.CountPacked(bytes); }
  Result<std::vector<float>> Vector(std::string_view role, int64_t width) const;
  // Of the model's kind and epsilon, unless `epsilon` says otherwise; with weights around 0 the 1
  // is added unless `plus_one` is false.
  Result<Norm> NormOf(std::string_view role, int64_t width,
                      std::optional<double> epsilon = std::nullopt, bool plus_one = true) const;
  // A tensor of that shape as floats, or as integers, under its whole role.
  Result<std::vector<float>> Raw(std::string_view role, std::span<const int64_t> shape) const;
  Result<std::vector<float>> Raw(std::string_view role, int64_t width) const {
    return Raw(role, std::span(&width, 1));
  }
  Result<std::vector<int64_t>> Integers(std::string_view role,
                                        std::span<const int64_t> shape) const;
  // Rows of the matrix; 0: there is no such tensor, or it is none.
  int64_t RowsOf(std::string_view role) const;
  // As it lies in the file, for tables that are read row by row.
  Result<const TensorInfo*> Table(std::string_view role, std::span<const int64_t> shape) const;
  Result<const TensorInfo*> Table(std::string_view role, int64_t rows, int64_t columns) const;

 private:
  TensorLoader& loader_;
  std::optional<LayerIndex> layer_;
};

}  // namespace cairn

#endif  // CAIRN_MODELS_TENSOR_LOADER_H_
