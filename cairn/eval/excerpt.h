// A piece of plain English prose for measuring where no other text is given.
//
// The beginning of Theodore Roosevelt's address on the State of the Union of 5 December 1905, a
// work of the United States' government and in the public domain; cut into paragraphs and lines.
#ifndef CAIRN_EVAL_EXCERPT_H_
#define CAIRN_EVAL_EXCERPT_H_

#include <string_view>

namespace cairn {

// ASCII; between 2,500 and 3,500 tokens with the usual vocabularies.
std::string_view EvalExcerpt();

}  // namespace cairn

#endif  // CAIRN_EVAL_EXCERPT_H_
