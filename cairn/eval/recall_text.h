// Texts that hide facts, and questions about them with their answers.
//
// A question can be asked in two forms. Of a base model: the text goes on with `stem`, which the
// answer completes; what kind of answer is wanted is seen from the text. Of a chat model: `ask` is
// the user's question behind the text, and the assistant's turn begins with `stem`. Pure functions
// of kind, seed, index and the number of filler sentences; thread-safe.
#ifndef CAIRN_EVAL_RECALL_TEXT_H_
#define CAIRN_EVAL_RECALL_TEXT_H_

#include <cstdint>
#include <string>
#include <vector>

namespace cairn {

struct RecallQuestion {
  std::string ask;
  std::string stem;
  std::string answer;              // with the space in front
  std::vector<std::string> wrong;  // other answers of the same kind
  double depth = 0;                // where the fact stands: 0 the text's beginning, 1 its end
};

struct RecallText {
  std::string text;
  std::vector<RecallQuestion> questions;
};

enum class RecallKind : uint8_t {
  kNeedle,    // one fact, at depth index % kNeedleDepths
  kMultiKey,  // kKeys facts of one form, kKeysAsked of them asked
  kVarTrack,  // kChains chains of kHops assignments, the last variable of each asked
};

inline constexpr int64_t kNeedleDepths = 5;  // 0, 25, 50, 75, 100 %
inline constexpr int64_t kKeys = 16;
inline constexpr int64_t kKeysAsked = 8;
inline constexpr int64_t kChains = 4;
inline constexpr int64_t kHops = 2;
inline constexpr int64_t kWrongAnswers = 4;

// `sentences` is a number of filler sentences, 0 or more.
RecallText MakeRecallText(RecallKind kind, uint64_t seed, int64_t index, int64_t sentences);

}  // namespace cairn

#endif  // CAIRN_EVAL_RECALL_TEXT_H_
