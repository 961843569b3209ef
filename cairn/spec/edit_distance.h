// Edit distance: how far a misspelled name is from a known one, for hints.
//
// Pure function; thread-safe.
#ifndef CAIRN_SPEC_EDIT_DISTANCE_H_
#define CAIRN_SPEC_EDIT_DISTANCE_H_

#include <cstddef>
#include <string_view>

namespace cairn {

// The fewest bytes to insert, delete or change that make `a` into `b` (Levenshtein).
size_t EditDistance(std::string_view a, std::string_view b);

}  // namespace cairn

#endif  // CAIRN_SPEC_EDIT_DISTANCE_H_
