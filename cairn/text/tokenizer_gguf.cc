// Tokenizer::FromGguf.
#include <limits>
#include <utility>

#include "cairn/text/gguf_encoders.h"
#include "cairn/text/pre_tokenizers.h"
#include "cairn/text/tokenizer.h"
#include "cairn/text/utf8.h"

namespace cairn {
namespace {

constexpr size_t kMaxTokens = size_t{1} << 22;
constexpr size_t kMaxTokenBytes = size_t{1} << 16;
constexpr int64_t kNoToken = std::numeric_limits<uint32_t>::max();  // -1 as the file has it

struct SpecialIds {
  std::optional<TokenId> bos;
  std::optional<TokenId> eos;
  std::vector<TokenId> ends;
};

Status CheckSizes(const GgufVocabulary& vocabulary) {
  const std::string& where = vocabulary.where;
  const size_t count = vocabulary.tokens.size();
  if (count == 0 || count > kMaxTokens) {
    return Fail(ErrorCode::kCorrupt, "{}: tokenizer.ggml.tokens has {} entries, not 1 to {}", where,
                count, kMaxTokens);
  }
  const size_t types = vocabulary.token_types.size();
  if (types != 0 && types != count) {
    return Fail(ErrorCode::kCorrupt, "{}: tokenizer.ggml.token_type has {} entries for {} tokens",
                where, types, count);
  }
  const size_t scores = vocabulary.scores.size();
  if (scores != 0 && scores != count) {
    return Fail(ErrorCode::kCorrupt, "{}: tokenizer.ggml.scores has {} entries for {} tokens",
                where, scores, count);
  }
  for (size_t i = 0; i < count; ++i) {
    const size_t size = vocabulary.tokens[i].size();
    if (size > kMaxTokenBytes) {
      return Fail(ErrorCode::kCorrupt, "{}: token {} has {} bytes; at most {} can be", where, i,
                  size, kMaxTokenBytes);
    }
  }
  return {};
}

Result<std::optional<TokenId>> CheckedId(const GgufVocabulary& vocabulary, std::string_view key,
                                         std::optional<int64_t> id) {
  if (!id || *id == kNoToken) return std::nullopt;
  if (*id < 0 || *id >= static_cast<int64_t>(vocabulary.tokens.size())) {
    return Fail(ErrorCode::kCorrupt,
                "{}: tokenizer.ggml.{}_token_id is {}, but there are {} tokens", vocabulary.where,
                key, *id, vocabulary.tokens.size());
  }
  return TokenId(static_cast<int32_t>(*id));
}

// SentencePiece's own ids, where a file leaves them out.
std::optional<int64_t> PieceDefault(const GgufVocabulary& vocabulary, std::optional<int64_t> named,
                                    int64_t usual) {
  const bool has_usual = vocabulary.IsControl(static_cast<size_t>(usual));
  return named || !has_usual ? named : usual;
}

Result<SpecialIds> ReadIds(const GgufVocabulary& vocabulary, bool pieces) {
  const auto bos = pieces ? PieceDefault(vocabulary, vocabulary.bos_id, 1) : vocabulary.bos_id;
  const auto eos = pieces ? PieceDefault(vocabulary, vocabulary.eos_id, 2) : vocabulary.eos_id;
  SpecialIds ids;
  CAIRN_ASSIGN(ids.bos, CheckedId(vocabulary, "bos", bos));
  CAIRN_ASSIGN(ids.eos, CheckedId(vocabulary, "eos", eos));
  CAIRN_ASSIGN(const auto eot, CheckedId(vocabulary, "eot", vocabulary.eot_id));
  CAIRN_ASSIGN(const auto eom, CheckedId(vocabulary, "eom", vocabulary.eom_id));
  if (eot) ids.ends.push_back(*eot);
  if (eom) ids.ends.push_back(*eom);
  return ids;
}

Result<Tokenizer> Finish(const GgufVocabulary& vocabulary, GgufEncoder encoder, SpecialIds ids,
                         bool adds_bos_by_default) {
  if (vocabulary.add_bos.value_or(false) && !ids.bos) {
    return Fail(ErrorCode::kCorrupt,
                "{}: tokenizer.ggml.add_bos_token is true, but bos_token_id is missing",
                vocabulary.where);
  }
  const bool adds_eos = vocabulary.add_eos.value_or(false);
  if (adds_eos && !ids.eos) {
    return Fail(ErrorCode::kCorrupt,
                "{}: tokenizer.ggml.add_eos_token is true, but eos_token_id is missing",
                vocabulary.where);
  }
  TokenizerParts parts;
  parts.encoder = std::move(encoder.encoder);
  parts.table = std::move(encoder.table);
  if (vocabulary.add_bos.value_or(adds_bos_by_default) && ids.bos) parts.prefix = {*ids.bos};
  if (adds_eos) parts.suffix = {*ids.eos};
  parts.bos = ids.bos;
  parts.eos = ids.eos;
  parts.ends = std::move(ids.ends);
  if (vocabulary.chat_template) parts.chat_templates = {{"default", *vocabulary.chat_template}};
  return Tokenizer(std::move(parts));
}

}  // namespace

Result<Tokenizer> Tokenizer::FromGguf(const GgufVocabulary& vocabulary) {
  CAIRN_TRY(CheckSizes(vocabulary));
  if (vocabulary.model == "llama") {
    CAIRN_ASSIGN(SpecialIds ids, ReadIds(vocabulary, /*pieces=*/true));
    CAIRN_ASSIGN(GgufEncoder encoder, PiecesFromGguf(vocabulary));
    return Finish(vocabulary, std::move(encoder), std::move(ids), /*adds_bos_by_default=*/true);
  }
  if (vocabulary.model != "gpt2" && vocabulary.model != "gemma4") {
    return Fail(ErrorCode::kUnsupported,
                "{}: tokenizer.ggml.model is \"{}\"; known are gpt2, llama and gemma4",
                vocabulary.where, ForMessage(vocabulary.model));
  }
  const auto pre = FindPreTokenizer(vocabulary.model == "gemma4" ? "gemma4" : vocabulary.pre);
  if (!pre) {
    return Fail(pre.error().code, "{}: tokenizer.ggml.pre: {}", vocabulary.where,
                pre.error().message);
  }
  CAIRN_ASSIGN(SpecialIds ids, ReadIds(vocabulary, /*pieces=*/false));
  CAIRN_ASSIGN(GgufEncoder encoder, MergesFromGguf(vocabulary, **pre));
  return Finish(vocabulary, std::move(encoder), std::move(ids), (*pre)->add_bos);
}

}  // namespace cairn
