// StateForm: the form in which keys or values of softmax attention are stored, and its name.
//
// A name is a codec's, then perhaps "+rot" or "+std" (RowTransform), then perhaps "+ends": the rows
// that weigh most, a sequence's first and those behind a query, are kept in q8_0 as well and read
// from there. Which rows those are depends on positions alone, so that state stays a function of
// the tokens. Plain data; thread-compatible.
#ifndef CAIRN_SPEC_STATE_FORM_H_
#define CAIRN_SPEC_STATE_FORM_H_

#include <string>
#include <string_view>

#include "cairn/base/dtype.h"
#include "cairn/base/status.h"
#include "cairn/spec/state_spec.h"

namespace cairn {

struct StateForm {
  // Not explicit: a codec alone is a form.
  constexpr StateForm(DType codec = DType::kF16, RowTransform transform = RowTransform::kNone,
                      bool exact_ends = false)
      : codec(codec), transform(transform), exact_ends(exact_ends) {}

  DType codec;
  RowTransform transform;
  bool exact_ends;

  bool operator==(const StateForm&) const = default;
};

// Of "+ends": rows of the first kExactFirst tokens; and a query at position p reads exactly those
// from floor(p / kExactStep) * kExactStep - kExactBefore * kExactStep on, 65 to 80 rows.
inline constexpr int64_t kExactFirst = 16;
inline constexpr int64_t kExactStep = 16;
inline constexpr int64_t kExactBefore = 4;
inline constexpr DType kExactCodec = DType::kQ8_0;

// What the components of exact rows are called: "keys" + suffix.
inline constexpr const char* kFirstSuffix = "_first";
inline constexpr const char* kRecentSuffix = "_recent";

// First position that is read exactly before the query's own.
constexpr int64_t FirstExactBefore(int64_t position) {
  const int64_t first = (position / kExactStep - kExactBefore) * kExactStep;
  return first > 0 ? first : 0;
}

// "lm4+std+ends"
std::string NameOf(const StateForm& form);

// Splits "lm4+std+ends" into "lm4", which is left in `name`, and what stands behind it. `flag` is
// what an error calls it.
Result<StateForm> TakeSuffixes(std::string_view flag, std::string& name);

// Whether a form can be kept as it says, and as keys' or as values' form; says what would be right.
Status CheckForm(std::string_view flag, const StateForm& form, bool of_keys);

}  // namespace cairn

#endif  // CAIRN_SPEC_STATE_FORM_H_
