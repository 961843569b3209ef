#include "cairn/spec/state_form.h"

#include <doctest/doctest.h>

#include <array>
#include <string>

namespace cairn {
namespace {

constexpr std::array kTransforms = {RowTransform::kNone, RowTransform::kRotated,
                                    RowTransform::kStandardized};

}  // namespace

TEST_CASE("a form's name says all of it, and is read as it is written") {
  for (const RowTransform transform : kTransforms) {
    for (const bool ends : {false, true}) {
      const StateForm form(DType::kLM4, transform, ends);
      std::string name = NameOf(form);
      const Result<StateForm> suffixes = TakeSuffixes("-ctk", name);
      REQUIRE(suffixes.has_value());
      CHECK(name == "lm4");
      CHECK(StateForm(DType::kLM4, suffixes->transform, suffixes->exact_ends) == form);
    }
  }
  CHECK(NameOf({DType::kQ4_0, RowTransform::kRotated, true}) == "q4_0+rot+ends");
}

TEST_CASE("what stands behind a form in another order, twice or of no meaning is refused") {
  for (std::string name : {"lm4+ends+std", "lm4+std+rot", "lm4+", "lm4+end", "lm4+std+ends+ends"}) {
    CAPTURE(name);
    const Result<StateForm> form = TakeSuffixes("-ctk", name);
    REQUIRE_FALSE(form.has_value());
    CHECK(form.error().message.find("+ends") != std::string::npos);
  }
}

TEST_CASE("exact ends are for forms of fewer bits than theirs, and standards for keys") {
  CHECK(CheckForm("-ctk", {DType::kLM4, RowTransform::kStandardized, true}, true));
  CHECK(CheckForm("-ctv", {DType::kQ4_0, RowTransform::kNone, true}, false));
  for (const DType codec : {DType::kF32, DType::kF16, DType::kBF16, DType::kF8E4M3, DType::kQ8_0}) {
    CHECK_FALSE(CheckForm("-ctk", {codec, RowTransform::kNone, true}, true));
    CHECK(CheckForm("-ctk", {codec, RowTransform::kNone, false}, true));
  }
  CHECK_FALSE(CheckForm("-ctv", {DType::kLM4, RowTransform::kStandardized}, false));
}

TEST_CASE("a query reads 64 to 79 rows before it exactly, and the same ones within a step") {
  for (int64_t p = 0; p < 400; ++p) {
    const int64_t first = FirstExactBefore(p);
    CHECK_EQ(first % kExactStep, 0);
    CHECK_EQ(first, FirstExactBefore(p / kExactStep * kExactStep));
    if (p >= kExactBefore * kExactStep) {
      CHECK(p - first >= 64);
      CHECK(p - first < 80);
    } else {
      CHECK_EQ(first, 0);
    }
  }
}

}  // namespace cairn
