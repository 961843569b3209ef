// GgufKeys: the keys <architecture>.NAME of a GGUF file's metadata, read with bounds.
//
// Names are given without the architecture. Where a key may hold one number for all layers or one
// for each, those of multi-token prediction may be counted or not.
// Each reader's error is one line that names the file, the key, the value found and what would be
// right. Thread-compatible.
#ifndef CAIRN_SPEC_GGUF_KEYS_H_
#define CAIRN_SPEC_GGUF_KEYS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cairn/base/status.h"
#include "cairn/spec/hf_config.h"
#include "cairn/spec/metadata.h"

namespace cairn {

// Of block_count blocks the first `layers` are decoder layers, the others predict further tokens.
struct GgufBlocks {
  int64_t all = 0;
  int64_t layers = 0;
};

class GgufKeys {
 public:
  // Both must outlive the object.
  GgufKeys(const Metadata& metadata, std::string_view architecture)
      : metadata_(metadata), architecture_(architecture) {}

  const Metadata& metadata() const { return metadata_; }
  std::string_view architecture() const { return architecture_; }
  const std::string& where() const { return metadata_.where(); }

  std::string Key(std::string_view name) const { return fmt::format("{}.{}", architecture_, name); }
  bool Has(std::string_view name) const { return metadata_.Has(Key(name)); }
  // Whether the key holds a list.
  bool IsArray(std::string_view name) const { return metadata_.ArraySize(Key(name)).has_value(); }

  Result<int64_t> Int(std::string_view name, IntRange range) const;
  Result<int64_t> IntOr(std::string_view name, IntRange range, int64_t absent) const;
  // A finite number, the shortest that the stored 32 bits stand for: what the file was made from.
  Result<double> Float(std::string_view name) const;
  Result<double> FloatOr(std::string_view name, double absent) const;
  Result<bool> BoolOr(std::string_view name, bool absent) const;
  Result<std::string> StringOr(std::string_view name, std::string_view absent) const;

  // block_count and nextn_predict_layers.
  Result<GgufBlocks> Blocks() const;

  // One number for each decoder layer; an error if the key is absent.
  Result<std::vector<int64_t>> PerLayer(std::string_view name, const GgufBlocks& blocks,
                                        IntRange range) const;
  // The same, but an absent key is `absent` for each layer.
  Result<std::vector<int64_t>> PerLayerOr(std::string_view name, const GgufBlocks& blocks,
                                          IntRange range, int64_t absent) const;

  std::unexpected<Error> Wrong(std::string_view name, int64_t value,
                               std::string_view expected) const;
  std::unexpected<Error> Missing(std::string_view name) const;

 private:
  Result<int64_t> Check(std::string_view name, int64_t value, IntRange range) const;

  const Metadata& metadata_;
  std::string_view architecture_;
};

// Of the token list, else <architecture>.vocab_size; nothing where the file has neither.
Result<std::optional<int64_t>> GgufVocabulary(const GgufKeys& keys);

}  // namespace cairn

#endif  // CAIRN_SPEC_GGUF_KEYS_H_
