// Tokenizer::FromTokenizerJson.
#include <algorithm>
#include <utility>

#include "cairn/text/rust_encoder.h"
#include "cairn/text/tokenizer.h"

namespace cairn {
namespace {

struct Affixes {
  std::vector<TokenId> prefix;
  std::vector<TokenId> suffix;
};

// What the post-processor puts around a text, seen from one that it was applied to.
Result<Affixes> FindAffixes(const RustTokenizer& tokenizer) {
  constexpr std::string_view kProbe = "a";
  CAIRN_ASSIGN(const std::vector<TokenId> plain,
               tokenizer.Encode(kProbe, {.add_special = false, .parse_special = false}));
  CAIRN_ASSIGN(const std::vector<TokenId> whole,
               tokenizer.Encode(kProbe, {.add_special = true, .parse_special = false}));
  if (plain.empty()) return Affixes{whole, {}};
  const auto inner = std::ranges::search(whole, plain);
  if (inner.empty()) return Affixes{};
  return Affixes{{whole.begin(), inner.begin()}, {inner.end(), whole.end()}};
}

Result<TokenizerParts> ReadParts(std::string_view json) {
  CAIRN_ASSIGN(RustTokenizer tokenizer, RustTokenizer::FromJson(json));
  TokenizerParts parts;
  CAIRN_ASSIGN(parts.table, tokenizer.Table());
  CAIRN_ASSIGN(Affixes affixes, FindAffixes(tokenizer));
  parts.prefix = std::move(affixes.prefix);
  parts.suffix = std::move(affixes.suffix);
  parts.encoder = std::make_unique<RustEncoder>(std::move(tokenizer));
  return parts;
}

}  // namespace

Result<TokenizerParts> TokenizerParts::FromTokenizerJson(std::string_view json,
                                                         std::string_view where) {
  auto parts = ReadParts(json);
  if (!parts) return Fail(parts.error().code, "{}: {}", where, parts.error().message);
  return parts;
}

Result<Tokenizer> Tokenizer::FromTokenizerJson(std::string_view json, std::string_view where) {
  CAIRN_ASSIGN(TokenizerParts parts, TokenizerParts::FromTokenizerJson(json, where));
  return Tokenizer(std::move(parts));
}

}  // namespace cairn
