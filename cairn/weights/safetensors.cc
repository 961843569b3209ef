#include "cairn/weights/safetensors.h"

#include <algorithm>
#include <array>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "cairn/base/check.h"
#include "cairn/spec/quoted.h"
#include "cairn/weights/byte_reader.h"
#include "cairn/weights/safetensors_json.h"
#include "cairn/weights/tensor_ranges.h"

namespace cairn {
namespace {

constexpr size_t kMaxShards = 4096;

struct TypeName {
  std::string_view name;
  DType dtype;
};
constexpr std::array<TypeName, 7> kTypes = {{{"F32", DType::kF32},
                                             {"F16", DType::kF16},
                                             {"BF16", DType::kBF16},
                                             {"I32", DType::kI32},
                                             {"I64", DType::kI64},
                                             {"I8", DType::kI8},
                                             {"U8", DType::kU8}}};

std::optional<DType> DTypeOf(std::string_view name) {
  const auto found = std::ranges::find(kTypes, name, &TypeName::name);
  return found == kTypes.end() ? std::nullopt : std::optional(found->dtype);
}

std::optional<std::string_view> NameOf(DType dtype) {
  const auto found = std::ranges::find(kTypes, dtype, &TypeName::dtype);
  return found == kTypes.end() ? std::nullopt : std::optional(found->name);
}

Result<TensorInfo> Place(SafetensorsEntry entry, std::span<const std::byte> data,
                         const std::string& where) {
  if (entry.begin > entry.end || entry.end > data.size()) {
    return Fail(ErrorCode::kCorrupt,
                "{}: tensor {} has data_offsets {} to {}, but there are {} bytes of data", where,
                Quoted(entry.name), entry.begin, entry.end, data.size());
  }
  TensorInfo tensor = {.name = std::move(entry.name),
                       .dtype = DTypeOf(entry.type),
                       .type_name = std::move(entry.type),
                       .shape = std::move(entry.shape),
                       .bytes = data.subspan(entry.begin, entry.end - entry.begin)};
  const std::optional<int64_t> elements = ElementsOf(tensor.shape);
  if (!elements) {
    return Fail(ErrorCode::kCorrupt, "{}: tensor {} has more than 2^63 elements", where,
                Quoted(tensor.name));
  }
  if (tensor.dtype && BytesIn(*tensor.dtype, *elements) != tensor.bytes.size()) {
    return Fail(ErrorCode::kCorrupt, "{}: tensor {} has {} elements of {} in {} bytes", where,
                Quoted(tensor.name), *elements, tensor.type_name, tensor.bytes.size());
  }
  return tensor;
}

Result<WeightFile::Parts> ParseParts(std::span<const std::byte> bytes, const std::string& where) {
  ByteReader reader(bytes);
  uint64_t header_bytes = 0;
  std::string_view header;
  if (!reader.Read(header_bytes) || header_bytes > kMaxSafetensorsHeaderBytes ||
      !reader.ReadText(header_bytes, header)) {
    return Fail(ErrorCode::kCorrupt,
                "{}: is truncated or not a safetensors file: it has {} bytes, its header {} "
                "(at most {})",
                where, bytes.size(), header_bytes, kMaxSafetensorsHeaderBytes);
  }
  WeightFile::Parts parts = {.metadata = Metadata(where), .tensors = {}, .files = {}};
  CAIRN_ASSIGN(std::vector<SafetensorsEntry> entries,
               ParseSafetensorsHeader(header, parts.metadata));
  const std::span<const std::byte> data = bytes.subspan(reader.offset());
  std::vector<TensorRange> ranges;
  parts.tensors.reserve(entries.size());
  for (SafetensorsEntry& entry : entries) {
    const uint64_t begin = entry.begin;
    const uint64_t end = entry.end;
    CAIRN_ASSIGN(TensorInfo tensor, Place(std::move(entry), data, where));
    parts.tensors.push_back(std::move(tensor));
    ranges.push_back({parts.tensors.back().name, begin, end});
  }
  CAIRN_TRY(CheckNoOverlap(std::move(ranges), where));
  return parts;
}

// A file of the folder itself: no path may lead out of it.
Status CheckShardName(const std::string& name, const std::string& where) {
  if (!name.empty() && name.front() != '.' && name.find('/') == std::string::npos &&
      name.find('\0') == std::string::npos) {
    return {};
  }
  return Fail(ErrorCode::kCorrupt, "{}: {} is not the name of a file beside it", where,
              Quoted(name));
}

// Adds the tensors of a shard. The index says that `expected` are among them.
Status AddShard(const std::string& path, const std::vector<std::string_view>& expected,
                WeightFile::Parts& all) {
  CAIRN_ASSIGN(MappedFile file, MappedFile::Open(path));
  CAIRN_ASSIGN(WeightFile::Parts parts, ParseParts(file.bytes(), path));
  std::set<std::string_view> found;
  for (const TensorInfo& tensor : parts.tensors) found.insert(tensor.name);
  for (const std::string_view name : expected) {
    if (!found.contains(name)) {
      return Fail(ErrorCode::kCorrupt, "{}: tensor {} is missing, the index says it is here", path,
                  Quoted(name));
    }
  }
  for (const auto& [key, value] : parts.metadata.values()) all.metadata.Set(key, value);
  std::ranges::move(parts.tensors, std::back_inserter(all.tensors));
  all.files.push_back(std::move(file));
  return {};
}

Result<std::unique_ptr<WeightFile>> OpenShards(const std::string& folder,
                                               const std::string& index_path) {
  CAIRN_ASSIGN(const std::string json, ReadFile(index_path, kMaxSafetensorsHeaderBytes));
  CAIRN_ASSIGN(const auto file_of, ParseSafetensorsIndex(json, index_path));
  std::map<std::string, std::vector<std::string_view>> shards;
  for (const auto& [tensor, shard] : file_of) {
    CAIRN_TRY(CheckShardName(shard, index_path));
    shards[shard].push_back(tensor);
  }
  if (shards.empty() || shards.size() > kMaxShards) {
    return Fail(ErrorCode::kCorrupt, "{}: names {} files in weight_map, expected 1 to {}",
                index_path, shards.size(), kMaxShards);
  }
  WeightFile::Parts all = {.metadata = Metadata(folder), .tensors = {}, .files = {}};
  for (const auto& [shard, tensors] : shards) {
    CAIRN_TRY(AddShard(fmt::format("{}/{}", folder, shard), tensors, all));
  }
  return WeightFile::Make(std::move(all));
}

// Length and JSON, padded so that the data starts on a multiple of 8.
std::string HeaderOf(std::span<const NamedTensor> tensors) {
  std::string json = "{";
  uint64_t offset = 0;
  for (const NamedTensor& tensor : tensors) {
    const std::optional<int64_t> elements = ElementsOf(tensor.shape);
    CAIRN_CHECK(elements && BytesIn(tensor.dtype, *elements) == tensor.bytes.size());
    const nlohmann::ordered_json entry = {{"dtype", NameOf(tensor.dtype).value_or("")},
                                          {"shape", tensor.shape},
                                          {"data_offsets", {offset, offset + tensor.bytes.size()}}};
    using Json = nlohmann::ordered_json;
    json += json.size() > 1 ? "," : "";
    json += Json(tensor.name).dump(-1, ' ', false, Json::error_handler_t::replace);
    json += ':' + entry.dump();
    offset += tensor.bytes.size();
  }
  json += '}';
  while (json.size() % 8 != 0) json += ' ';
  const uint64_t size = json.size();
  return std::string(reinterpret_cast<const char*>(&size), sizeof(size)) + json;
}

}  // namespace

bool LooksLikeSafetensors(std::span<const std::byte> bytes) {
  ByteReader reader(bytes);
  uint64_t header_bytes = 0;
  std::string_view header;
  return reader.Read(header_bytes) && header_bytes <= kMaxSafetensorsHeaderBytes &&
         reader.ReadText(header_bytes, header) && header.starts_with('{');
}

Result<std::unique_ptr<WeightFile>> ParseSafetensors(std::span<const std::byte> bytes,
                                                     const std::string& where) {
  CAIRN_ASSIGN(WeightFile::Parts parts, ParseParts(bytes, where));
  return WeightFile::Make(std::move(parts));
}

Result<std::unique_ptr<WeightFile>> OpenSafetensors(MappedFile file, const std::string& path) {
  CAIRN_ASSIGN(WeightFile::Parts parts, ParseParts(file.bytes(), path));
  parts.files.push_back(std::move(file));
  return WeightFile::Make(std::move(parts));
}

Result<std::unique_ptr<WeightFile>> OpenSafetensorsFolder(const std::string& folder) {
  const std::string single = folder + "/model.safetensors";
  const std::string index = folder + "/model.safetensors.index.json";
  if (FileExists(single)) {
    CAIRN_ASSIGN(MappedFile file, MappedFile::Open(single));
    return OpenSafetensors(std::move(file), single);
  }
  if (FileExists(index)) return OpenShards(folder, index);
  return Fail(ErrorCode::kNotFound,
              "{}: the folder has neither model.safetensors nor model.safetensors.index.json",
              folder);
}

Status WriteSafetensors(const std::string& path, std::span<const NamedTensor> tensors) {
  std::set<std::string_view> names;
  for (const NamedTensor& tensor : tensors) {
    if (!NameOf(tensor.dtype)) {
      return Fail(ErrorCode::kUnsupported, "{}: safetensors can't hold {} (tensor {})", path,
                  InfoOf(tensor.dtype).name, Quoted(tensor.name));
    }
    CAIRN_CHECK(names.insert(tensor.name).second);
  }
  const std::string header = HeaderOf(tensors);
  std::vector<std::span<const std::byte>> pieces = {std::as_bytes(std::span(header))};
  for (const NamedTensor& tensor : tensors) pieces.push_back(tensor.bytes);
  return WriteFileAtomically(path, pieces);
}

}  // namespace cairn
