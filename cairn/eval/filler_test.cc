#include "cairn/eval/filler.h"

#include <doctest/doctest.h>

#include <set>

namespace cairn {

TEST_CASE("a seed makes the same sentences everywhere, and more of them begin alike") {
  const std::vector<std::string> some = FillerSentences(1, 0, 3);
  CHECK(some == FillerSentences(1, 0, 3));
  std::vector<std::string> more = FillerSentences(1, 0, 50);
  more.resize(3);
  CHECK(some == more);
  CHECK(some != FillerSentences(2, 0, 3));
  CHECK(some != FillerSentences(1, 1, 3));
  // Measured numbers hang on these texts.
  CHECK(some[0] == "Every other week, the captain sold fresh bread near the valley.");
  CHECK(some[1] == "While the music played, the traveller asked the way to the village.");
  CHECK(FillerSentences(1, 0, 0).empty());
}

TEST_CASE("filler has no digit and no word of a fact") {
  for (const std::string& sentence : FillerSentences(7, 3, 400)) {
    CHECK(sentence.find_first_of("0123456789") == std::string::npos);
    for (const auto words : {FactKinds(), FactThings()}) {
      for (const std::string_view word : words) {
        CHECK_MESSAGE(sentence.find(word) == std::string::npos, sentence);
      }
    }
  }
}

TEST_CASE("numbers have as many digits as asked for, and no zero in front") {
  RandomStream random(3, "numbers");
  std::set<std::string> seen;
  for (int i = 0; i < 500; ++i) {
    const std::string number = NumberOf(random, 7);
    CHECK(number.size() == 7);
    CHECK(number.front() != '0');
    seen.insert(number);
  }
  CHECK(seen.size() > 490);
}

}  // namespace cairn
