// WeightFile: the named tensors and the metadata of a model, read-only in mapped memory.
//
// One class for every format: gguf.h and safetensors.h make it. Opening reads the table of
// contents only and checks that each tensor lies inside its file; a tensor of a type that can't be
// computed with is in the table all the same, and its use is what fails. Immutable; thread-safe.
#ifndef CAIRN_WEIGHTS_WEIGHT_FILE_H_
#define CAIRN_WEIGHTS_WEIGHT_FILE_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "cairn/base/dtype.h"
#include "cairn/base/env.h"
#include "cairn/base/status.h"
#include "cairn/spec/metadata.h"

namespace cairn {

struct TensorInfo {
  std::string name;
  std::optional<DType> dtype;  // absent: not supported
  std::string type_name;       // what the file calls the type: "q4_k", "iq2_xxs", "F8_E4M3"
  std::vector<int64_t> shape;  // outermost first
  // Rows in order, the innermost dimension contiguous; no alignment promised. With a dtype, exactly
  // as many bytes as the shape needs.
  std::span<const std::byte> bytes;
};

class WeightFile {
 public:
  struct Parts {
    Metadata metadata;
    std::vector<TensorInfo> tensors;
    std::vector<MappedFile> files;  // own the tensors' bytes; empty: the caller does
  };
  // Errors: two tensors of one name.
  static Result<std::unique_ptr<WeightFile>> Make(Parts parts);

  // The path, for errors.
  const std::string& where() const { return parts_.metadata.where(); }
  const Metadata& metadata() const { return parts_.metadata; }
  std::span<const TensorInfo> tensors() const { return parts_.tensors; }

  // Null if there is none.
  const TensorInfo* Find(std::string_view name) const;
  // A tensor that can be computed with: it has a dtype. Errors: missing, type not supported.
  Result<const TensorInfo*> Require(std::string_view name) const;

  // The file that holds a tensor's bytes; null if the caller owns them.
  const MappedFile* FileOf(std::span<const std::byte> bytes) const;

  // All bytes of the files; empty if the caller owns the tensors' bytes.
  std::vector<std::span<const std::byte>> FileBytes() const;

  // Gives the memory of all pages back; they are read again when used.
  void DropPages() const;

 private:
  explicit WeightFile(Parts parts) : parts_(std::move(parts)) {}

  Parts parts_;
  std::unordered_map<std::string_view, const TensorInfo*> by_name_;
};

// Chooses by content: a GGUF file, a .safetensors file, or a folder with model.safetensors or
// model.safetensors.index.json.
Result<std::unique_ptr<WeightFile>> OpenWeightFile(const std::string& path);

}  // namespace cairn

#endif  // CAIRN_WEIGHTS_WEIGHT_FILE_H_
