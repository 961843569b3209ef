// A small vocabulary with any changes, and any text: an error of one line, or a tokenizer that
// keeps its promises.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "cairn/base/check.h"
#include "cairn/text/stop_strings.h"
#include "cairn/text/tokenizer.h"
#include "cairn/text/utf8.h"
#include "cairn/text/vocabularies_for_tests.h"

namespace {

using cairn::TokenId;

class Input {
 public:
  Input(const uint8_t* data, size_t size) : rest_(reinterpret_cast<const char*>(data), size) {}

  uint8_t Byte() { return rest_.empty() ? 0 : static_cast<uint8_t>(Take(1)[0]); }
  std::string_view Short() { return Take(Byte() % 16); }
  std::string_view Rest() { return Take(rest_.size()); }
  bool empty() const { return rest_.empty(); }

 private:
  std::string_view Take(size_t size) {
    const std::string_view taken = rest_.substr(0, size);
    rest_.remove_prefix(taken.size());
    return taken;
  }

  std::string_view rest_;
};

void Change(Input& input, cairn::VocabularyForTests& made) {
  const auto place = [&] { return (input.Byte() * 2u) % std::max<size_t>(1, made->tokens.size()); };
  switch (input.Byte() % 10) {
    case 0:
      made.Add(input.Short(), static_cast<cairn::GgufTokenType>(input.Byte() % 8), input.Byte());
      break;
    case 1:
      made.AddMerge(input.Short(), input.Short());
      break;
    case 2:
      made->tokens[place()] = input.Short();
      break;
    case 3:
      made->token_types[place()] = input.Byte() % 8;
      break;
    case 4:
      made->scores[place()] = static_cast<float>(input.Byte());
      break;
    case 5:
      made->bos_id = input.Byte() * 3;
      made->unk_id = input.Byte();
      break;
    case 6:
      made->add_bos = input.Byte() % 2 != 0;
      made->add_eos = input.Byte() % 2 != 0;
      break;
    case 7:
      made->add_space_prefix = input.Byte() % 2 != 0;
      made->remove_extra_whitespaces = input.Byte() % 2 != 0;
      break;
    case 8:
      made->general_name = "Phi3";
      break;
    default:
      made->pre = input.Short();
  }
}

void CheckStreaming(const cairn::Tokenizer& tokenizer, const std::vector<TokenId>& ids) {
  cairn::StreamDecoder decoder(tokenizer.table());
  std::string text;
  for (TokenId id : ids) {
    CAIRN_CHECK(id.value() >= 0 && id.value() < tokenizer.vocab_size());
    const std::string piece = decoder.Push(id);
    CAIRN_CHECK(cairn::FindInvalidUtf8(piece) == std::string_view::npos);
    text += piece;
  }
  CAIRN_CHECK(text + decoder.Flush() == tokenizer.Decode(ids));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  Input input(data, size);
  const uint8_t kind = input.Byte();
  cairn::VocabularyForTests made;
  (kind % 2 == 0 ? cairn::FillMerges : cairn::FillPieces)(made);
  for (int changes = input.Byte() % 32; changes > 0 && !input.empty(); --changes) {
    Change(input, made);
  }
  const auto tokenizer = cairn::Tokenizer::FromGguf(*made);
  if (!tokenizer) {
    CAIRN_CHECK(tokenizer.error().IsBadInput());
    CAIRN_CHECK(tokenizer.error().message.find('\n') == std::string::npos);
    CAIRN_CHECK(tokenizer.error().message.size() < 1000);
    return 0;
  }
  const std::string_view text = input.Rest();
  const auto ids = tokenizer->Encode(text, {.parse_special = kind % 4 < 2});
  CAIRN_CHECK(ids.has_value() == (cairn::FindInvalidUtf8(text) == std::string_view::npos));
  if (ids) CheckStreaming(*tokenizer, *ids);
  return 0;
}
