#include "cairn/weights/describe_for_sizing.h"

#include <array>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <utility>

#include "cairn/base/env.h"
#include "cairn/base/file_reader.h"
#include "cairn/spec/hf_config.h"
#include "cairn/weights/describe_gguf.h"
#include "cairn/weights/gguf.h"
#include "cairn/weights/safetensors.h"
#include "cairn/weights/stored_weights.h"
#include "cairn/weights/tensor_ranges.h"
#include "cairn/weights/weight_file.h"

namespace cairn {
namespace {

constexpr size_t kMaxFolderEntries = 10'000;
constexpr size_t kMaxIndexBytes = size_t{64} << 20;

Result<DescribedWeights> DescribeConfig(const std::string& path) {
  CAIRN_ASSIGN(std::string json, ReadFile(path, HfConfig::kMaxBytes));
  DescribedWeights described;
  described.description = {.where = path, .config = std::move(json)};
  CAIRN_ASSIGN(described.model, ModelSpecOf(described.description));
  return described;
}

Result<StoredWeights> CountWeights(const WeightFile& file) {
  WeightCounter counter;
  for (const TensorInfo& tensor : file.tensors()) {
    const std::optional<int64_t> elements = ElementsOf(tensor.shape);
    if (!elements) {
      return Fail(ErrorCode::kCorrupt, "{}: a tensor has more than 2^63 elements", file.where());
    }
    CAIRN_TRY(counter.Add(file.where(), tensor.type_name, *elements, tensor.bytes.size()));
  }
  return counter.Sum();
}

// metadata.total_size of an index: the bytes of all shards' tensors.
std::optional<Bytes> BytesOfIndex(const std::string& path) {
  const Result<std::string> text = ReadFile(path, kMaxIndexBytes);
  if (!text) return std::nullopt;
  const auto json = nlohmann::json::parse(*text, nullptr, /*allow_exceptions=*/false);
  if (!json.is_object()) return std::nullopt;
  const auto metadata = json.find("metadata");
  if (metadata == json.end() || !metadata->is_object()) return std::nullopt;
  const auto size = metadata->find("total_size");
  if (size == metadata->end() || !size->is_number_integer()) return std::nullopt;
  if (size->is_number_unsigned() && size->get<uint64_t>() > INT64_MAX) return std::nullopt;
  const auto bytes = size->get<int64_t>();
  return bytes < 0 ? std::nullopt : std::optional(Bytes(bytes));
}

// Counted where they are complete, else as the index states them; never a reason not to size.
void AddFolderWeights(const std::string& folder, DescribedWeights& described) {
  const auto file = OpenWeightFile(folder);
  if (file) {
    Result<StoredWeights> weights = CountWeights(**file);
    if (weights) {
      described.weights = *std::move(weights);
    } else {
      described.notes.push_back("The weights aren't counted: " + weights.error().message + ".");
    }
    return;
  }
  const std::string index = folder + "/model.safetensors.index.json";
  const bool any = FileExists(index) || FileExists(folder + "/model.safetensors");
  if (const std::optional<Bytes> bytes = BytesOfIndex(index)) {
    described.weights = StoredWeights{.parameters = std::nullopt, .bytes = *bytes, .by_type = {}};
    described.notes.emplace_back(
        "The weights' bytes are those that model.safetensors.index.json states; its files aren't "
        "all there to count.");
  } else if (any) {
    described.notes.push_back("The weights aren't counted: " + file.error().message + ".");
  }
}

Result<DescribedWeights> DescribeModelFolder(const std::string& folder) {
  CAIRN_ASSIGN(DescribedWeights described, DescribeConfig(folder + "/config.json"));
  AddFolderWeights(folder, described);
  return described;
}

// The snapshot that refs/main of a cache folder names, else the only one.
Result<std::string> SnapshotOf(const std::string& folder) {
  const std::string snapshots = folder + "/snapshots";
  if (const Result<std::string> text = ReadFile(folder + "/refs/main", 256)) {
    const std::string revision = text->substr(0, text->find_first_of("\r\n"));
    const bool plain = revision.find('/') == std::string::npos && !revision.starts_with('.');
    const std::string named = snapshots + "/" + revision;
    if (plain && !revision.empty() && IsDirectory(named)) return named;
  }
  CAIRN_ASSIGN(const auto names, ListFolder(snapshots, kMaxFolderEntries));
  if (names.size() == 1) return snapshots + "/" + names.front();
  return Fail(ErrorCode::kInvalidArgument,
              "{}: has {} snapshots and no refs/main that names one; give the folder of one",
              folder, names.size());
}

// The only GGUF model of a folder, by its first part if it is split.
Result<std::optional<std::string>> OnlyGgufOf(const std::string& folder) {
  CAIRN_ASSIGN(const auto names, ListFolder(folder, kMaxFolderEntries));
  std::vector<std::string> models;
  for (const std::string& name : names) {
    if (!name.ends_with(".gguf") || name.starts_with("mmproj")) continue;
    const auto part = ParseGgufPartName(name);
    const bool later = part && part->number > 1 && !models.empty() &&
                       ParseGgufPartName(models.back()).value_or(GgufPartName{}).stem == part->stem;
    if (!later) models.push_back(name);
  }
  if (models.empty()) return std::nullopt;
  if (models.size() == 1) return folder + "/" + models.front();
  return Fail(ErrorCode::kInvalidArgument, "{}: has {} GGUF models, {} and {} among them; give one",
              folder, models.size(), models[0], models[1]);
}

Result<DescribedWeights> DescribeFolder(const std::string& folder) {
  if (FileExists(folder + "/config.json")) return DescribeModelFolder(folder);
  if (IsDirectory(folder + "/snapshots")) {
    CAIRN_ASSIGN(const std::string snapshot, SnapshotOf(folder));
    if (FileExists(snapshot + "/config.json")) return DescribeModelFolder(snapshot);
    CAIRN_ASSIGN(const auto model, OnlyGgufOf(snapshot));
    if (model) return DescribeGgufForSizing(*model);
  } else {
    CAIRN_ASSIGN(const auto model, OnlyGgufOf(folder));
    if (model) return DescribeGgufForSizing(*model);
  }
  return Fail(ErrorCode::kNotFound,
              "{}: no config.json in this folder; a model's folder, a config.json or a .gguf file "
              "would be right",
              folder);
}

Result<bool> StartsAsGguf(const std::string& path) {
  CAIRN_ASSIGN(const FileReader file, FileReader::Open(path));
  std::array<std::byte, 4> start = {};
  CAIRN_ASSIGN(const size_t got, file.ReadAt(0, start));
  return IsGguf(std::span(start).first(got));
}

// With the config.json beside it.
Result<DescribedWeights> DescribeSafetensors(const std::string& path) {
  CAIRN_ASSIGN(const std::unique_ptr<WeightFile> file, OpenWeightFile(path));
  const auto config = std::filesystem::path(path).parent_path() / "config.json";
  CAIRN_ASSIGN(DescribedWeights described, DescribeConfig(config.string()));
  CAIRN_ASSIGN(described.weights, CountWeights(*file));
  return described;
}

}  // namespace

Result<DescribedWeights> DescribeForSizing(const std::string& path) {
  if (IsDirectory(path)) return DescribeFolder(path);
  if (path.ends_with(".json")) return DescribeConfig(path);
  CAIRN_ASSIGN(const bool gguf, StartsAsGguf(path));
  return gguf || path.ends_with(".gguf") ? DescribeGgufForSizing(path) : DescribeSafetensors(path);
}

}  // namespace cairn
