// The C functions of rust/text (rust/text/src/lib.rs), which this header must match by hand.
//
// Only rust_bridge.cc includes it; everything else goes through the owning types there.
// Every int32_t function returns 0, or 1 with a one-line message in `result`.
#ifndef CAIRN_TEXT_FFI_H_
#define CAIRN_TEXT_FFI_H_

#include <cstddef>
#include <cstdint>

// NOLINTBEGIN(readability-identifier-naming): the names are Rust's.
extern "C" {

struct CairnTextTokenizer;
struct CairnTextTemplate;
struct CairnTextGrammarFactory;
struct CairnTextFollower;

// The caller's bytes; data may be null when size is 0.
struct CairnTextBytes {
  const uint8_t* data;
  size_t size;
};

struct CairnTextStrings {
  const CairnTextBytes* items;
  size_t count;
};

// Bytes of the Rust heap, to be given back.
struct CairnTextBuffer {
  uint8_t* data;
  size_t size;
  size_t capacity;
};

// Flags of cairn_text_encode.
enum CairnTextEncodeFlags : uint32_t {
  kCairnTextAddSpecial = 1,
  kCairnTextParseSpecial = 2,
};

// Kinds of a token for cairn_text_tokenizer_from_bpe, one byte each.
enum CairnTextTokenKind : uint8_t {
  kCairnTextNormal = 0,
  kCairnTextSpecial = 1,
  kCairnTextUserDefined = 2,
};

int32_t cairn_text_tokenizer_from_json(CairnTextBytes json, CairnTextTokenizer** out,
                                       CairnTextBuffer* result);
int32_t cairn_text_tokenizer_from_bpe(CairnTextBytes settings_json, CairnTextStrings tokens,
                                      const uint8_t* kinds, CairnTextStrings merges,
                                      CairnTextTokenizer** out, CairnTextBuffer* result);
void cairn_text_tokenizer_free(CairnTextTokenizer* tokenizer);
int32_t cairn_text_encode(const CairnTextTokenizer* tokenizer, CairnTextBytes text, uint32_t flags,
                          CairnTextBuffer* result);
int32_t cairn_text_token_table(const CairnTextTokenizer* tokenizer, CairnTextBuffer* result);

int32_t cairn_text_template_parse(CairnTextBytes source, CairnTextTemplate** out,
                                  CairnTextBuffer* result);
int32_t cairn_text_template_render(const CairnTextTemplate* chat_template,
                                   CairnTextBytes context_json, int64_t now_unix_s,
                                   CairnTextBuffer* result);
void cairn_text_template_free(CairnTextTemplate* chat_template);

int32_t cairn_text_grammar_factory_new(CairnTextStrings tokens, const uint8_t* special,
                                       uint32_t end, CairnTextGrammarFactory** out,
                                       CairnTextBuffer* result);
void cairn_text_grammar_factory_free(CairnTextGrammarFactory* factory);
int32_t cairn_text_follow_schema(const CairnTextGrammarFactory* factory, CairnTextBytes schema_json,
                                 CairnTextFollower** out, CairnTextBuffer* result);
// Leaves a bit for each token, 32 in a word, lowest first.
int32_t cairn_text_follower_allowed(CairnTextFollower* follower, CairnTextBuffer* result);
int32_t cairn_text_follower_accept(CairnTextFollower* follower, uint32_t token,
                                   CairnTextBuffer* result);
int32_t cairn_text_follower_copy(const CairnTextFollower* follower, CairnTextFollower** out,
                                 CairnTextBuffer* result);
void cairn_text_follower_free(CairnTextFollower* follower);

void cairn_text_buffer_free(CairnTextBuffer buffer);

}  // extern "C"
// NOLINTEND(readability-identifier-naming)

#endif  // CAIRN_TEXT_FFI_H_
