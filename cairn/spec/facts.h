// Facts: a model's shape in one line, "llama layers=32 kv_heads=8 layer_types=3*linear,full", for
// the catalogue and for people who have a shape and no file.
//
//     facts  = [model_type] {key=value}          between pairs: spaces or commas
//     key    = short key (layers, heads, ..), key of config.json, or path.to.key
//     value  = item {"," item}                   two items or a repetition make a list; so do [ ]
//     item   = [count "*"] (atom | "(" value ")" | "[" [value] "]" | "{" {key=value} "}")
//     atom   = number, true, false, null or a word
//
// Pure functions; thread-safe.
#ifndef CAIRN_SPEC_FACTS_H_
#define CAIRN_SPEC_FACTS_H_

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cairn/base/status.h"

namespace cairn {

struct ShortKey {
  std::string_view name;  // "layers"
  std::string_view key;   // of config.json: "num_hidden_layers"
};
std::span<const ShortKey> ShortKeys();

enum class KeyStyle : uint8_t {
  kConfig,     // short keys become those of config.json
  kAsWritten,  // keys stay as they are
};

// A JSON object. Keys may come once; a word before the first pair is model_type. Errors are one
// line with `where` at its head and name the key.
Result<std::string> JsonOfFacts(std::string_view facts, std::string_view where, KeyStyle style);

// The keys of the facts as written, in their order; none for facts that can't be read.
std::vector<std::string> KeysOfFacts(std::string_view facts);

}  // namespace cairn

#endif  // CAIRN_SPEC_FACTS_H_
