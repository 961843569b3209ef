#include "cairn/spec/state_form.h"

#include <algorithm>

namespace cairn {

std::string NameOf(const StateForm& form) {
  std::string name(InfoOf(form.codec).name);
  if (form.transform == RowTransform::kRotated) name += "+rot";
  if (form.transform == RowTransform::kStandardized) name += "+std";
  if (form.exact_ends) name += "+ends";
  return name;
}

Result<StateForm> TakeSuffixes(std::string_view flag, std::string& name) {
  StateForm form;
  std::string_view left = name;
  const size_t plus = std::min(left.find('+'), left.size());
  std::string_view suffixes = left.substr(plus);
  const auto take = [&suffixes](std::string_view suffix) {
    if (!suffixes.starts_with(suffix)) return false;
    suffixes.remove_prefix(suffix.size());
    return true;
  };
  if (take("+rot")) {
    form.transform = RowTransform::kRotated;
  } else if (take("+std")) {
    form.transform = RowTransform::kStandardized;
  }
  form.exact_ends = take("+ends");
  if (!suffixes.empty()) {
    return Fail(ErrorCode::kInvalidArgument,
                "{} {}: behind a form may stand +rot or +std, then +ends", flag, name);
  }
  name.resize(plus);
  return form;
}

Status CheckForm(std::string_view flag, const StateForm& form, bool of_keys) {
  if (!of_keys && form.transform == RowTransform::kStandardized) {
    return Fail(ErrorCode::kInvalidArgument,
                "{} {}: only keys can be standardised; +rot would be right", flag, NameOf(form));
  }
  // What is as exact as the ends, or is multiplied otherwise than they are.
  const bool coarse = InfoOf(form.codec).block_elements > 1 && form.codec != kExactCodec;
  if (form.exact_ends && !coarse) {
    return Fail(ErrorCode::kInvalidArgument,
                "{} {}: +ends keeps some rows in {}, which is for forms of fewer bits", flag,
                NameOf(form), InfoOf(kExactCodec).name);
  }
  return {};
}

}  // namespace cairn
