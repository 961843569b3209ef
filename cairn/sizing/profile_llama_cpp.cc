// llama.cpp's buffers (src/llama-kv-cache*.cpp, src/llama-memory-recurrent.cpp, llama-hparams.cpp
// of the copy in llama-cpp-python 0.3.36; lines checked against logs of b8247 and later). The whole
// cache is allocated at load: cells x layers x width, recurrent rows in F32.
#include <algorithm>
#include <map>
#include <utility>

#include "cairn/sizing/profile_frameworks.h"
#include "cairn/sizing/profile_geometry.h"
#include "cairn/spec/quoted.h"

namespace cairn {
namespace {

using Kind = LayerCache::Kind;

constexpr int64_t kPadding = 256;
constexpr int64_t kFloatBytes = 4;

struct Types {
  DType keys;
  DType values;
};

Result<DType> TypeOf(std::string_view key, const std::string& name) {
  const auto type = DTypeFromName(name);
  if (type && InfoOf(*type).row_bytes == 0) return *type;  // Lloyd-Max codes aren't llama.cpp's
  return Fail(ErrorCode::kInvalidArgument, "--set {}={}: no such type; f16, bf16, q8_0, q4_0 are",
              key, Quoted(name));
}

Result<int64_t> WidthBytes(DType type, int64_t elements) {
  const DTypeInfo& info = InfoOf(type);
  if (elements % info.block_elements == 0) {
    return elements / info.block_elements * info.block_bytes;
  }
  return Fail(ErrorCode::kInvalidArgument,
              "a row of {} elements can't be stored as {}: a multiple of {} would be right",
              elements, info.name, info.block_elements);
}

// One llama_kv_cache object: its layers share the number of cells.
struct Buffer {
  int64_t layers = 0;
  int64_t key_bytes = 0;  // of a cell in all layers
  int64_t value_bytes = 0;
};

struct Buffers {
  Buffer full;
  Buffer sliding;
  Buffer index;
  std::map<int64_t, Buffer> compressed;  // by tokens of an entry
  int64_t index_ratio = 1;               // tokens of an index key
  int64_t compressor_elements = 0;       // of a sequence's open entries in all layers
  int64_t recurrent_layers = 0;
  int64_t r_elements = 0;  // of a sequence's row in all layers
  int64_t s_elements = 0;
  int64_t window = 0;
};

Status Add(const LayerCache& cache, const Types& types, Buffer& buffer) {
  const bool latent = cache.kind == Kind::kLatent;  // one row, values are a view of it
  const int64_t keys = latent ? cache.key_width + cache.value_width : cache.heads * cache.key_width;
  CAIRN_ASSIGN(const int64_t key_bytes, WidthBytes(types.keys, keys));
  buffer.key_bytes += key_bytes;
  ++buffer.layers;
  if (latent || cache.kind == Kind::kIndex) return {};
  CAIRN_ASSIGN(const int64_t value_bytes,
               WidthBytes(types.values, cache.heads * cache.value_width));
  buffer.value_bytes += value_bytes;
  return {};
}

// llama-kv-cache-dsv4.cpp: a window in each layer, entries and index keys by their ratio, and
// floats of open entries: key and score of one entry, or of two that overlap where an index picks.
Status AddCompressed(const LayerCache& cache, const Types& types, Buffers& buffers) {
  CAIRN_ASSIGN(const int64_t row, WidthBytes(types.keys, cache.key_width));
  buffers.window = std::max(buffers.window, cache.window);
  buffers.sliding.key_bytes += row;
  ++buffers.sliding.layers;
  if (cache.ratio == 0) return {};
  Buffer& entries = buffers.compressed[cache.ratio];
  entries.key_bytes += row;
  ++entries.layers;
  const bool indexed = cache.value_width > 0;
  const int64_t rows = indexed ? 2 * cache.ratio : cache.ratio;
  buffers.compressor_elements +=
      2 * rows * (indexed ? 2 * (cache.key_width + cache.value_width) : cache.key_width);
  if (!indexed) return {};
  CAIRN_ASSIGN(const int64_t index_row, WidthBytes(types.keys, cache.value_width));
  buffers.index.key_bytes += index_row;
  ++buffers.index.layers;
  buffers.index_ratio = cache.ratio;
  return {};
}

Result<Buffers> BuffersOf(const std::vector<LayerCache>& caches, const Types& types) {
  Buffers buffers;
  for (const LayerCache& cache : caches) {
    switch (cache.kind) {
      case Kind::kFull:
      case Kind::kLatent:
        CAIRN_TRY(Add(cache, types, buffers.full));
        break;
      case Kind::kSliding:
      case Kind::kChunked:
        buffers.window = std::max(buffers.window, cache.window);
        CAIRN_TRY(Add(cache, types, buffers.sliding));
        break;
      case Kind::kIndex:
        CAIRN_TRY(Add(cache, types, buffers.index));
        break;
      case Kind::kState:
        ++buffers.recurrent_layers;
        buffers.r_elements += cache.conv_columns * cache.conv_channels;
        buffers.s_elements = SaturatedSum(buffers.s_elements, cache.recurrent_elements);
        break;
      case Kind::kCompressed:
        CAIRN_TRY(AddCompressed(cache, types, buffers));
        break;
    }
  }
  return buffers;
}

void AddBuffer(const std::string& prefix, const std::string& words, const Buffer& buffer,
               int64_t cells, const ProfileQuestion& question, Table& log, Section& section) {
  if (buffer.layers == 0) return;
  const int64_t rows = Saturated(cells, question.streams);
  const int64_t keys = Saturated(rows, buffer.key_bytes);
  const int64_t values = Saturated(rows, buffer.value_bytes);
  const auto formula = [&](int64_t bytes) {
    return fmt::format("{} cells x {} streams x {} bytes", cells, question.streams, bytes);
  };
  AddField(section, prefix + "cells", words + "cells", cells, Unit::kTokens);
  AddField(section, prefix + "K_MiB", words + "keys, MiB", MibOf(keys), Unit::kNone,
           formula(buffer.key_bytes));
  AddField(section, prefix + "V_MiB", words + "values, MiB", MibOf(values), Unit::kNone,
           formula(buffer.value_bytes));
  AddField(section, prefix + "total_MiB", words + "buffer, MiB", MibOf(SaturatedSum(keys, values)));
  AddLine(log, fmt::format("llama_kv_cache: size = {:7.2f} MiB ({:6} cells, {:3} layers, {:2}/{} "
                           "seqs), K ({}): {:7.2f} MiB, V ({}): {:7.2f} MiB",
                           MibOf(SaturatedSum(keys, values)), cells, buffer.layers,
                           question.sequences, question.streams, question.type_k, MibOf(keys),
                           question.type_v, MibOf(values)));
}

void AddRecurrent(const Buffers& buffers, const ProfileQuestion& question, int64_t model_layers,
                  Table& log, Section& section) {
  if (buffers.recurrent_layers == 0) return;
  const int64_t rows = question.sequences * question.state_copies;
  const int64_t r = Saturated(Saturated(buffers.r_elements, kFloatBytes), rows);
  const int64_t s = Saturated(Saturated(buffers.s_elements, kFloatBytes), rows);
  const auto formula = [&](int64_t elements) {
    return fmt::format("{} elements x 4 bytes x {} sequences x {} copies", elements,
                       question.sequences, question.state_copies);
  };
  AddField(section, "R_MiB", "convolution rows, MiB", MibOf(r), Unit::kNone,
           formula(buffers.r_elements));
  AddField(section, "S_MiB", "recurrent rows, MiB", MibOf(s), Unit::kNone,
           formula(buffers.s_elements));
  AddField(section, "recurrent_total_MiB", "recurrent memory, MiB", MibOf(SaturatedSum(r, s)));
  AddLine(log, fmt::format("llama_memory_recurrent: size = {:7.2f} MiB ({:6} cells, {:3} layers, "
                           "{:2} seqs), R (f32): {:7.2f} MiB, S (f32): {:7.2f} MiB",
                           MibOf(SaturatedSum(r, s)), rows, model_layers, question.sequences,
                           MibOf(r), MibOf(s)));
}

}  // namespace

Result<Section> LlamaCppSection(const ModelSpec& model, const ProfileQuestion& question) {
  CAIRN_ASSIGN(const DType keys, TypeOf("type_k", question.type_k));
  CAIRN_ASSIGN(const DType values, TypeOf("type_v", question.type_v));
  CAIRN_ASSIGN(const std::vector<LayerCache> caches, CachesOfRank(model, 1));
  CAIRN_ASSIGN(const Buffers buffers, BuffersOf(caches, {keys, values}));
  const int64_t asked = question.cells.value_or(question.max_model_len.value_or(
      model.context_length.value() > 0 ? model.context_length.value() : int64_t{4096}));
  const int64_t cells = RoundUp(asked, kPadding);
  // llama-kv-cache-iswa.cpp: the window of each sequence of a stream, and a batch.
  const int64_t in_stream = question.streams == 1 ? question.sequences : 1;
  const int64_t window_cells =
      question.swa_full
          ? cells
          : RoundUp(std::min(cells, buffers.window * in_stream + question.ubatch), kPadding);
  Section section;
  Table log = LogTable();
  AddBuffer("", "", buffers.full, cells, question, log, section);
  AddBuffer("swa_", "SWA ", buffers.sliding, window_cells, question, log, section);
  AddBuffer("index_", "index ", buffers.index,
            RoundUp(CeilDiv(cells, buffers.index_ratio), kPadding), question, log, section);
  for (const auto& [ratio, buffer] : buffers.compressed) {
    AddBuffer(fmt::format("ratio_{}_", ratio), fmt::format("1 in {} ", ratio), buffer,
              RoundUp(CeilDiv(cells, ratio), kPadding), question, log, section);
  }
  if (buffers.compressor_elements > 0) {
    const int64_t rows = question.sequences * question.state_copies;
    AddField(section, "compressor_MiB", "open entries, MiB",
             MibOf(Saturated(Saturated(buffers.compressor_elements, kFloatBytes), rows)));
    section.notes.emplace_back(
        "compressed attention keeps every buffer for each sequence: streams and seqs are equal; "
        "read "
        "in the source, not checked against a log");
  }
  AddRecurrent(buffers, question, static_cast<int64_t>(model.layers.size()), log, section);
  section.tables.push_back(std::move(log));
  section.notes.emplace_back("recurrent rows are F32 whatever the type of keys and values");
  if (buffers.sliding.layers > 0 && !question.swa_full) {
    section.notes.emplace_back(
        "window cells: the window, times the sequences of a stream, and a physical batch");
  }
  if (buffers.recurrent_layers > 0 && question.state_copies == 1) {
    section.notes.emplace_back("speculative decoding adds a copy of the rows for each rollback");
  }
  return section;
}

}  // namespace cairn
