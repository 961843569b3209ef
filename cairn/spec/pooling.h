// How the hidden states of a text's tokens become its one embedding, and what a model's files say
// of it: GGUF keys, or the configs that sentence-transformers leaves beside the weights.
//
// Pure functions; thread-safe.
#ifndef CAIRN_SPEC_POOLING_H_
#define CAIRN_SPEC_POOLING_H_

#include <cstdint>
#include <optional>
#include <string_view>

#include "cairn/base/status.h"
#include "cairn/spec/metadata.h"

namespace cairn {

enum class Pooling : uint8_t {
  kLast,  // the last token's
  kMean,  // of all tokens
};

// "last", "mean".
std::string_view NameOf(Pooling pooling);
// kInvalidArgument for others.
Result<Pooling> ParsePooling(std::string_view name);

// Nothing where the files don't say; kUnsupported where they ask for what a decoder can't give: the
// first token's state, which knows nothing of the others, ranks, attention in both directions, or
// further layers behind the pooling.
Result<std::optional<Pooling>> PoolingFromGguf(const Metadata& metadata);
// Of modules.json and the pooling module's config.json.
Result<Pooling> PoolingFromModules(std::string_view modules_json, std::string_view pooling_json,
                                   std::string_view where);

}  // namespace cairn

#endif  // CAIRN_SPEC_POOLING_H_
