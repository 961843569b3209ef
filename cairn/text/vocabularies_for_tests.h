// Small GGUF vocabularies, made in a test.
#ifndef CAIRN_TEXT_VOCABULARIES_FOR_TESTS_H_
#define CAIRN_TEXT_VOCABULARIES_FOR_TESTS_H_

#include <deque>
#include <string>
#include <string_view>
#include <vector>

#include "cairn/base/ids.h"
#include "cairn/text/gguf_vocabulary.h"

namespace cairn {

// Owns the texts that its vocabulary points to.
class VocabularyForTests {
 public:
  VocabularyForTests() = default;
  VocabularyForTests(const VocabularyForTests&) = delete;
  VocabularyForTests& operator=(const VocabularyForTests&) = delete;

  // Returns the new token's id.
  TokenId Add(std::string_view text, GgufTokenType type = GgufTokenType::kNormal, float score = 0) {
    vocabulary_.tokens.push_back(texts_.emplace_back(text));
    vocabulary_.token_types.push_back(static_cast<int32_t>(type));
    vocabulary_.scores.push_back(score);
    return TokenId(static_cast<int32_t>(vocabulary_.tokens.size() - 1));
  }
  // Adds left + right as a token, and their merge.
  TokenId AddMerge(std::string_view left, std::string_view right) {
    vocabulary_.merges.push_back(texts_.emplace_back(std::string(left) + " " + std::string(right)));
    return Add(std::string(left) + std::string(right));
  }
  // The 256 byte tokens of SentencePiece: <0x00> to <0xFF>.
  void AddFallbackBytes();
  // The 256 letters of GPT-2's byte alphabet.
  void AddByteAlphabet();

  GgufVocabulary& operator*() { return vocabulary_; }
  GgufVocabulary* operator->() { return &vocabulary_; }

 private:
  std::deque<std::string> texts_;
  GgufVocabulary vocabulary_;
};

inline void VocabularyForTests::AddFallbackBytes() {
  for (int byte = 0; byte < 256; ++byte) {
    Add(fmt::format("<0x{:02X}>", byte), GgufTokenType::kByte);
  }
}

inline void VocabularyForTests::AddByteAlphabet() {
  int others = 0;
  for (int byte = 0; byte < 256; ++byte) {
    const bool itself = (byte >= 0x21 && byte <= 0x7E) || (byte >= 0xA1 && byte != 0xAD);
    const int code = itself ? byte : 0x100 + others++;
    std::string letter;
    if (code < 0x80) {
      letter.push_back(static_cast<char>(code));
    } else {
      letter.push_back(static_cast<char>(0xC0 | (code >> 6)));
      letter.push_back(static_cast<char>(0x80 | (code & 0x3F)));
    }
    Add(letter);
  }
}

// Fills a byte pair encoding: the byte alphabet, "hello", " world" and its parts, <|im_start|>,
// <|im_end|> (EOS), and the user-defined "<tool>".
inline void FillMerges(VocabularyForTests& made) {
  made->where = "test.gguf";
  made->model = "gpt2";
  made->pre = "gpt-2";
  made.AddByteAlphabet();
  made.AddMerge("h", "e");
  made.AddMerge("l", "l");
  made.AddMerge("he", "ll");
  made.AddMerge("hell", "o");
  made.AddMerge("Ġ", "w");
  made.AddMerge("o", "r");
  made.AddMerge("Ġw", "or");
  made.AddMerge("Ġwor", "l");
  made.AddMerge("Ġworl", "d");
  made->bos_id = made.Add("<|im_start|>", GgufTokenType::kControl).value();
  made->eos_id = made.Add("<|im_end|>", GgufTokenType::kControl).value();
  made.Add("<tool>", GgufTokenType::kUserDefined);
}

// Fills a SentencePiece-like vocabulary: <unk>, <s>, </s>, bytes, the letters of "▁hello world" and
// pieces of it, best scores first, <end_of_turn>, and the user-defined "\n\n" and "  ".
inline void FillPieces(VocabularyForTests& made) {
  made->where = "test.gguf";
  made->model = "llama";
  made.Add("<unk>", GgufTokenType::kUnknown);
  made.Add("<s>", GgufTokenType::kControl);
  made.Add("</s>", GgufTokenType::kControl);
  made.AddFallbackBytes();
  float score = 0;
  for (const char* piece :
       {"ll", "▁h", "▁he", "▁hello", "▁w", "or", "▁wor", "▁world", "▁",  "h",
        "e",  "l",  "o",   "w",      "r",  "d",  "he",   "llo",    "ld", "ld"}) {
    made.Add(piece, GgufTokenType::kNormal, score);
    score -= 1;
  }
  made.Add("<end_of_turn>", GgufTokenType::kControl);
  made.Add("\n\n", GgufTokenType::kUserDefined);
  made.Add("  ", GgufTokenType::kUserDefined);
  made->bos_id = 1;
  made->eos_id = 2;
  made->unk_id = 0;
}

}  // namespace cairn

#endif  // CAIRN_TEXT_VOCABULARIES_FOR_TESTS_H_
