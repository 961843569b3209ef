#include "cairn/weights/describe_gguf.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <utility>
#include <vector>

#include "cairn/base/env.h"
#include "cairn/spec/model_description.h"
#include "cairn/spec/quoted.h"
#include "cairn/weights/ggml_type.h"
#include "cairn/weights/gguf_header.h"
#include "cairn/weights/stored_weights.h"

namespace cairn {
namespace {

constexpr int64_t kMaxParts = 1000;

// What the parts that are there hold.
struct Parts {
  std::vector<GgufHeader> headers;  // the first one has the metadata
  std::vector<int64_t> missing;     // numbers from 1
  bool complete = true;             // all tensors' lines are there

  const Metadata& metadata() const { return headers.front().metadata; }
};

std::string Listed(const std::vector<int64_t>& numbers) {
  constexpr size_t kShown = 5;
  std::vector<int64_t> shown = numbers;
  if (shown.size() > kShown) shown.resize(kShown);
  const std::string list = fmt::format("{}", fmt::join(shown, ", "));
  if (shown.size() == numbers.size()) return list;
  return fmt::format("{} and {} more", list, numbers.size() - shown.size());
}

// The other parts must lie beside it under the names that the splitter gives.
Status AddOtherParts(const std::string& path, int64_t count, Parts& parts) {
  const std::optional<GgufPartName> name = ParseGgufPartName(path);
  for (int64_t number = 1; number <= count; ++number) {
    if (name && number == name->number) continue;
    const std::string other = name ? PathOfGgufPart(*name, number) : "";
    if (!name || name->count != count || !FileExists(other)) {
      if (name || number != 1) parts.missing.push_back(number);
      continue;
    }
    CAIRN_ASSIGN(GgufHeader header, ReadGgufHeader(other));
    parts.headers.push_back(std::move(header));
  }
  return {};
}

// Adapters, projectors and matrices of importance are GGUF files too.
Status CheckModel(const Metadata& metadata) {
  CAIRN_ASSIGN(const std::string_view type, metadata.StringOr("general.type", "model"));
  if (type == "model") return {};
  return Fail(ErrorCode::kUnsupported,
              "{}: key general.type is {}; the file of the model it belongs to would be right",
              metadata.where(), Quoted(type));
}

Result<Parts> ReadParts(std::string path) {
  Parts parts;
  CAIRN_ASSIGN(GgufHeader given, ReadGgufHeader(path));
  CAIRN_ASSIGN(const int64_t number, given.metadata.IntOr("split.no", 0));
  CAIRN_ASSIGN(const int64_t count, given.metadata.IntOr("split.count", 1));
  if (number < 0 || count < 0 || count > kMaxParts || (number > 0 && number >= count)) {
    return Fail(ErrorCode::kCorrupt, "{}: says it is part {} of {}, expected at most {} parts",
                path, number + 1, count, kMaxParts);
  }
  if (number > 0) {
    // The description is in the first part.
    const std::optional<GgufPartName> name = ParseGgufPartName(path);
    const std::string first = name ? PathOfGgufPart(*name, 1) : "";
    if (!name || !FileExists(first)) {
      return Fail(ErrorCode::kNotFound,
                  "{}: is part {} of a model split into {} files; the first one, which describes "
                  "it, isn't beside it",
                  path, number + 1, count);
    }
    path = first;
    CAIRN_ASSIGN(given, ReadGgufHeader(path));
  }
  parts.headers.push_back(std::move(given));
  if (count > 1) CAIRN_TRY(AddOtherParts(path, count, parts));
  parts.complete =
      parts.missing.empty() && std::ranges::all_of(parts.headers, &GgufHeader::complete);
  return parts;
}

Result<StoredWeights> CountWeights(const Parts& parts) {
  WeightCounter counter;
  for (const GgufHeader& header : parts.headers) {
    for (const GgufHeaderTensor& tensor : header.tensors) {
      CAIRN_TRY(counter.Add(header.metadata.where(), GgmlTypeName(tensor.line.type),
                            tensor.line.elements, tensor.bytes));
    }
  }
  return counter.Sum();
}

// Why the weights aren't counted, or that the file isn't all there.
void NoteWhatIsMissing(const Parts& parts, const StoredWeights& there,
                       std::vector<std::string>& notes) {
  if (!parts.missing.empty()) {
    notes.push_back(fmt::format(
        "The model is split into {} files and part {} isn't beside the first one, so its weights "
        "aren't counted; the parts that are there hold {} parameters.",
        parts.headers.size() + parts.missing.size(), Listed(parts.missing),
        there.parameters.value_or(ElementCount(0)).value()));
  }
  for (const GgufHeader& header : parts.headers) {
    if (!header.cut_key.empty()) {
      notes.push_back(fmt::format(
          "{} ends inside its vocabulary, in key {} behind {} of its {} keys: sizes are right if "
          "none of the model's own keys stand behind it, and weights aren't counted; at least {} "
          "bytes are needed.",
          header.metadata.where(), Quoted(header.cut_key), header.whole_keys, header.stated_keys,
          header.header_bytes));
      continue;
    }
    if (!header.complete()) {
      notes.push_back(fmt::format(
          "{} ends inside its table of tensors, of which {} of {} lines are whole, so its weights "
          "aren't counted; at least {} bytes are needed.",
          header.metadata.where(), header.tensors.size(), header.stated_tensors,
          header.header_bytes));
      continue;
    }
    uint64_t end = 0;
    for (const GgufHeaderTensor& tensor : header.tensors) {
      const uint64_t room = UINT64_MAX - tensor.line.offset;
      end = std::max(end, tensor.line.offset + std::min(room, tensor.bytes.value_or(0)));
    }
    const uint64_t needed = header.data_offset + std::min(end, UINT64_MAX - header.data_offset);
    if (end == 0 || needed <= header.file_bytes) continue;
    notes.push_back(
        fmt::format("{} holds only the first {} of at least {} bytes; sizes are those "
                    "of the whole file.",
                    header.metadata.where(), header.file_bytes, needed));
  }
}

void NoteUnmeasured(const StoredWeights& weights, std::vector<std::string>& notes) {
  for (const StoredTensors& form : weights.by_type) {
    if (form.bytes) continue;
    notes.push_back(fmt::format(
        "The bytes of the weights aren't known: {} tensors are stored as {}, whose size neither "
        "its type nor the tensors' places tell.",
        form.tensors, form.type));
  }
}

// What another engine does with the file and this model doesn't need.
void NoteOtherEngines(const Metadata& metadata, std::string_view architecture,
                      std::vector<std::string>& notes) {
  const auto has = [&](std::string_view key) {
    return metadata.Has(fmt::format("{}.{}", architecture, key));
  };
  if (has("attention.kv_lora_rank") && !has("attention.key_length_mla")) {
    notes.emplace_back(
        "The file is from before latent rows were kept as such: llama.cpp keeps the whole keys and "
        "values of all heads from it.");
  }
  if (architecture == "phi3" && has("attention.sliding_window")) {
    notes.emplace_back("llama.cpp keeps all tokens of this architecture, whatever its window.");
  }
}

}  // namespace

std::optional<GgufPartName> ParseGgufPartName(std::string_view path) {
  constexpr std::string_view kTail = "-00001-of-00005.gguf";
  constexpr size_t kDigits = 5;
  if (path.size() <= kTail.size()) return std::nullopt;
  const std::string_view tail = path.substr(path.size() - kTail.size());
  if (tail[0] != '-' || tail.substr(6, 4) != "-of-" || !tail.ends_with(".gguf")) {
    return std::nullopt;
  }
  GgufPartName name = {.stem = std::string(path.substr(0, path.size() - kTail.size()))};
  const auto read = [&](size_t at, int64_t& number) {
    const char* end = tail.data() + at + kDigits;
    const auto result = std::from_chars(tail.data() + at, end, number);
    return result.ec == std::errc() && result.ptr == end && number >= 1;
  };
  if (!read(1, name.number) || !read(10, name.count)) return std::nullopt;
  return name;
}

std::string PathOfGgufPart(const GgufPartName& name, int64_t number) {
  return fmt::format("{}-{:05}-of-{:05}.gguf", name.stem, number, name.count);
}

Result<DescribedWeights> DescribeGgufForSizing(const std::string& path) {
  CAIRN_ASSIGN(const Parts parts, ReadParts(path));
  CAIRN_TRY(CheckModel(parts.metadata()));
  GgufDescription file = {.metadata = parts.metadata(), .rows = {}, .complete = parts.complete};
  for (const GgufHeader& header : parts.headers) {
    for (const GgufHeaderTensor& tensor : header.tensors) {
      file.rows.emplace(tensor.line.name, tensor.line.shape.front());
    }
  }
  const bool has_tensors = !file.rows.empty();
  DescribedWeights described;
  described.description = {.where = parts.metadata().where(), .gguf = std::move(file)};
  CAIRN_ASSIGN(described.model, ModelSpecOf(described.description));
  CAIRN_ASSIGN(StoredWeights there, CountWeights(parts));
  NoteWhatIsMissing(parts, there, described.notes);
  CAIRN_ASSIGN(const std::string_view architecture,
               parts.metadata().String("general.architecture"));
  NoteOtherEngines(parts.metadata(), architecture, described.notes);
  if (!parts.complete || !has_tensors) return described;
  NoteUnmeasured(there, described.notes);
  described.weights = std::move(there);
  return described;
}

}  // namespace cairn
