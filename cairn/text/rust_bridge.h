// Owning C++ types over the C functions of rust/text (ffi.h).
//
// Errors come back as bare messages: the caller knows which file they belong to and adds it.
// Thread safety: a const object may be used from several threads.
#ifndef CAIRN_TEXT_RUST_BRIDGE_H_
#define CAIRN_TEXT_RUST_BRIDGE_H_

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cairn/base/ids.h"
#include "cairn/base/status.h"
#include "cairn/text/token_table.h"

struct CairnTextTokenizer;
struct CairnTextTemplate;
struct CairnTextGrammarFactory;
struct CairnTextFollower;

namespace cairn {

class RustTokenizer {
 public:
  enum class TokenKind : uint8_t { kNormal = 0, kSpecial = 1, kUserDefined = 2 };

  struct EncodeFlags {
    bool add_special;    // also what the post-processor of the tokenizer.json adds
    bool parse_special;  // the text of a special token stands for that token
  };

  static Result<RustTokenizer> FromJson(std::string_view json);
  // `kinds` has one entry per token. `settings_json` has the normalizer, pre_tokenizer and decoder
  // of a tokenizer.json, and ignore_merges and byte_fallback of its model.
  static Result<RustTokenizer> FromBpe(std::string_view settings_json,
                                       std::span<const std::string_view> tokens,
                                       std::span<const TokenKind> kinds,
                                       std::span<const std::string_view> merges);

  Result<std::vector<TokenId>> Encode(std::string_view text, EncodeFlags flags) const;
  Result<TokenTable> Table() const;

 private:
  struct Free {
    void operator()(CairnTextTokenizer* tokenizer) const;
  };
  explicit RustTokenizer(CairnTextTokenizer* handle) : handle_(handle) {}

  std::unique_ptr<CairnTextTokenizer, Free> handle_;
};

class RustTemplate {
 public:
  static Result<RustTemplate> Parse(std::string_view source);
  Result<std::string> Render(std::string_view context_json, int64_t now_unix_s) const;

 private:
  struct Free {
    void operator()(CairnTextTemplate* chat_template) const;
  };
  explicit RustTemplate(CairnTextTemplate* handle) : handle_(handle) {}

  std::unique_ptr<CairnTextTemplate, Free> handle_;
};

// One answer's place in its grammar. Not thread-safe.
class RustFollower {
 public:
  // A bit for each token that may come next, 32 in a word, lowest first; at the end of the grammar
  // that of the end alone. Errors: the grammar takes more work than it may.
  Result<std::vector<uint32_t>> Allowed();
  Status Accept(TokenId token);
  Result<RustFollower> Copy() const;

 private:
  friend class RustGrammarFactory;
  struct Free {
    void operator()(CairnTextFollower* follower) const;
  };
  explicit RustFollower(CairnTextFollower* handle) : handle_(handle) {}

  std::unique_ptr<CairnTextFollower, Free> handle_;
};

class RustGrammarFactory {
 public:
  // `end` is the token that ends an answer. Errors: it isn't in the table.
  static Result<RustGrammarFactory> Make(const TokenTable& table, TokenId end);
  // Errors: not a schema, or one that can't be followed exactly.
  Result<RustFollower> FollowSchema(std::string_view schema_json) const;

 private:
  struct Free {
    void operator()(CairnTextGrammarFactory* factory) const;
  };
  explicit RustGrammarFactory(CairnTextGrammarFactory* handle) : handle_(handle) {}

  std::unique_ptr<CairnTextGrammarFactory, Free> handle_;
};

}  // namespace cairn

#endif  // CAIRN_TEXT_RUST_BRIDGE_H_
