#include "cairn/weights/weight_file.h"

#include <utility>

#include "cairn/spec/quoted.h"
#include "cairn/weights/gguf.h"
#include "cairn/weights/safetensors.h"

namespace cairn {
namespace {

std::string SupportedTypes() {
  std::string names;
  for (int i = 0; i < kDTypeCount; ++i) {
    if (i > 0) names += ' ';
    names += InfoOf(static_cast<DType>(i)).name;
  }
  return names;
}

std::string_view TextOf(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

}  // namespace

Result<std::unique_ptr<WeightFile>> WeightFile::Make(Parts parts) {
  std::unique_ptr<WeightFile> file(new WeightFile(std::move(parts)));
  for (const TensorInfo& tensor : file->parts_.tensors) {
    if (!file->by_name_.emplace(tensor.name, &tensor).second) {
      return Fail(ErrorCode::kCorrupt, "{}: there are two tensors {}", file->where(),
                  Quoted(tensor.name));
    }
  }
  return file;
}

const TensorInfo* WeightFile::Find(std::string_view name) const {
  const auto found = by_name_.find(name);
  return found == by_name_.end() ? nullptr : found->second;
}

Result<const TensorInfo*> WeightFile::Require(std::string_view name) const {
  const TensorInfo* tensor = Find(name);
  if (tensor == nullptr) {
    CAIRN_ASSIGN(const int64_t parts, metadata().IntOr("split.count", 1));
    if (parts > 1) {
      return Fail(ErrorCode::kUnsupported,
                  "{}: tensor {} is missing; this is one part of a model split into {} files, "
                  "merge them into one GGUF file first",
                  where(), name, parts);
    }
    return Fail(ErrorCode::kNotFound, "{}: tensor {} is missing", where(), name);
  }
  if (!tensor->dtype) {
    return Fail(ErrorCode::kUnsupported,
                "{}: tensor {} has type {}, which is not supported; supported are {}", where(),
                name, Quoted(tensor->type_name), SupportedTypes());
  }
  return tensor;
}

const MappedFile* WeightFile::FileOf(std::span<const std::byte> bytes) const {
  for (const MappedFile& file : parts_.files) {
    const std::span<const std::byte> whole = file.bytes();
    if (bytes.data() >= whole.data() && bytes.data() < whole.data() + whole.size()) return &file;
  }
  return nullptr;
}

std::vector<std::span<const std::byte>> WeightFile::FileBytes() const {
  std::vector<std::span<const std::byte>> bytes;
  for (const MappedFile& file : parts_.files) bytes.push_back(file.bytes());
  return bytes;
}

void WeightFile::DropPages() const {
  for (const MappedFile& file : parts_.files) file.DropPages();
}

Result<std::unique_ptr<WeightFile>> OpenWeightFile(const std::string& path) {
  if (IsDirectory(path)) return OpenSafetensorsFolder(path);
  CAIRN_ASSIGN(MappedFile file, MappedFile::Open(path));
  if (IsGguf(file.bytes())) return OpenGguf(std::move(file), path);
  if (path.ends_with(".safetensors") || LooksLikeSafetensors(file.bytes())) {
    return OpenSafetensors(std::move(file), path);
  }
  if (TextOf(file.bytes()).starts_with("version https://git-lfs")) {
    return Fail(ErrorCode::kCorrupt,
                "{}: is a Git LFS pointer and not the model itself, fetch it with git lfs pull",
                path);
  }
  return Fail(ErrorCode::kUnsupported,
              "{}: is neither a GGUF file nor a safetensors file (it starts with {})", path,
              Quoted(TextOf(file.bytes()).substr(0, 8)));
}

}  // namespace cairn
