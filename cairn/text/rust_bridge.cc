#include "cairn/text/rust_bridge.h"

#include <cstring>

#include "cairn/base/check.h"
#include "cairn/text/ffi.h"

namespace cairn {
namespace {

static_assert(static_cast<uint8_t>(RustTokenizer::TokenKind::kSpecial) == kCairnTextSpecial);
static_assert(static_cast<uint8_t>(RustTokenizer::TokenKind::kUserDefined) ==
              kCairnTextUserDefined);
static_assert(sizeof(TokenId) == sizeof(uint32_t));

// A buffer to pass as `result`, given back at the end of the scope.
class RustBuffer {
 public:
  RustBuffer() = default;
  RustBuffer(const RustBuffer&) = delete;
  RustBuffer& operator=(const RustBuffer&) = delete;
  ~RustBuffer() { cairn_text_buffer_free(buffer_); }

  CairnTextBuffer* get() { return &buffer_; }
  std::string_view view() const {
    return {reinterpret_cast<const char*>(buffer_.data), buffer_.size};
  }

 private:
  CairnTextBuffer buffer_ = {nullptr, 0, 0};
};

CairnTextBytes AsBytes(std::string_view text) {
  return {reinterpret_cast<const uint8_t*>(text.data()), text.size()};
}

std::vector<CairnTextBytes> AsBytes(std::span<const std::string_view> texts) {
  std::vector<CairnTextBytes> items;
  items.reserve(texts.size());
  for (std::string_view text : texts) items.push_back(AsBytes(text));
  return items;
}

Status ToStatus(int32_t status, ErrorCode code, const RustBuffer& result) {
  if (status != 0) return Fail(code, "{}", result.view());
  return {};
}

}  // namespace

void RustTokenizer::Free::operator()(CairnTextTokenizer* tokenizer) const {
  cairn_text_tokenizer_free(tokenizer);
}

Result<RustTokenizer> RustTokenizer::FromJson(std::string_view json) {
  RustBuffer result;
  CairnTextTokenizer* handle = nullptr;
  CAIRN_TRY(ToStatus(cairn_text_tokenizer_from_json(AsBytes(json), &handle, result.get()),
                     ErrorCode::kCorrupt, result));
  return RustTokenizer(handle);
}

Result<RustTokenizer> RustTokenizer::FromBpe(std::string_view settings_json,
                                             std::span<const std::string_view> tokens,
                                             std::span<const TokenKind> kinds,
                                             std::span<const std::string_view> merges) {
  CAIRN_CHECK(kinds.size() == tokens.size());
  const std::vector<CairnTextBytes> token_items = AsBytes(tokens);
  const std::vector<CairnTextBytes> merge_items = AsBytes(merges);
  RustBuffer result;
  CairnTextTokenizer* handle = nullptr;
  CAIRN_TRY(ToStatus(cairn_text_tokenizer_from_bpe(
                         AsBytes(settings_json), {token_items.data(), token_items.size()},
                         reinterpret_cast<const uint8_t*>(kinds.data()),
                         {merge_items.data(), merge_items.size()}, &handle, result.get()),
                     ErrorCode::kCorrupt, result));
  return RustTokenizer(handle);
}

Result<std::vector<TokenId>> RustTokenizer::Encode(std::string_view text, EncodeFlags flags) const {
  const uint32_t bits = (flags.add_special ? kCairnTextAddSpecial : 0u) |
                        (flags.parse_special ? kCairnTextParseSpecial : 0u);
  RustBuffer result;
  CAIRN_TRY(ToStatus(cairn_text_encode(handle_.get(), AsBytes(text), bits, result.get()),
                     ErrorCode::kInvalidArgument, result));
  std::vector<TokenId> ids(result.view().size() / sizeof(TokenId));
  if (!ids.empty()) std::memcpy(ids.data(), result.view().data(), ids.size() * sizeof(TokenId));
  return ids;
}

Result<TokenTable> RustTokenizer::Table() const {
  RustBuffer result;
  CAIRN_TRY(
      ToStatus(cairn_text_token_table(handle_.get(), result.get()), ErrorCode::kCorrupt, result));
  return TokenTable::FromRecords(result.view());
}

void RustTemplate::Free::operator()(CairnTextTemplate* chat_template) const {
  cairn_text_template_free(chat_template);
}

Result<RustTemplate> RustTemplate::Parse(std::string_view source) {
  RustBuffer result;
  CairnTextTemplate* handle = nullptr;
  CAIRN_TRY(ToStatus(cairn_text_template_parse(AsBytes(source), &handle, result.get()),
                     ErrorCode::kCorrupt, result));
  return RustTemplate(handle);
}

Result<std::string> RustTemplate::Render(std::string_view context_json, int64_t now_unix_s) const {
  RustBuffer result;
  CAIRN_TRY(ToStatus(
      cairn_text_template_render(handle_.get(), AsBytes(context_json), now_unix_s, result.get()),
      ErrorCode::kInvalidArgument, result));
  return std::string(result.view());
}

void RustFollower::Free::operator()(CairnTextFollower* follower) const {
  cairn_text_follower_free(follower);
}

Result<std::vector<uint32_t>> RustFollower::Allowed() {
  RustBuffer result;
  CAIRN_TRY(ToStatus(cairn_text_follower_allowed(handle_.get(), result.get()),
                     ErrorCode::kExhausted, result));
  std::vector<uint32_t> words(result.view().size() / sizeof(uint32_t));
  if (!words.empty()) std::memcpy(words.data(), result.view().data(), words.size() * 4);
  return words;
}

Status RustFollower::Accept(TokenId token) {
  RustBuffer result;
  return ToStatus(
      cairn_text_follower_accept(handle_.get(), static_cast<uint32_t>(token.value()), result.get()),
      ErrorCode::kInvalidArgument, result);
}

Result<RustFollower> RustFollower::Copy() const {
  RustBuffer result;
  CairnTextFollower* handle = nullptr;
  CAIRN_TRY(ToStatus(cairn_text_follower_copy(handle_.get(), &handle, result.get()),
                     ErrorCode::kExhausted, result));
  return RustFollower(handle);
}

void RustGrammarFactory::Free::operator()(CairnTextGrammarFactory* factory) const {
  cairn_text_grammar_factory_free(factory);
}

Result<RustGrammarFactory> RustGrammarFactory::Make(const TokenTable& table, TokenId end) {
  std::vector<std::string_view> words;
  std::vector<uint8_t> special;
  for (int32_t id = 0; id < table.size(); ++id) {
    words.push_back(table.Bytes(TokenId(id)));
    special.push_back(table.IsSpecial(TokenId(id)) ? 1 : 0);
  }
  const std::vector<CairnTextBytes> items = AsBytes(words);
  RustBuffer result;
  CairnTextGrammarFactory* handle = nullptr;
  CAIRN_TRY(ToStatus(
      cairn_text_grammar_factory_new({items.data(), items.size()}, special.data(),
                                     static_cast<uint32_t>(end.value()), &handle, result.get()),
      ErrorCode::kUnsupported, result));
  return RustGrammarFactory(handle);
}

Result<RustFollower> RustGrammarFactory::FollowSchema(std::string_view schema_json) const {
  RustBuffer result;
  CairnTextFollower* handle = nullptr;
  CAIRN_TRY(
      ToStatus(cairn_text_follow_schema(handle_.get(), AsBytes(schema_json), &handle, result.get()),
               ErrorCode::kInvalidArgument, result));
  return RustFollower(handle);
}

}  // namespace cairn
