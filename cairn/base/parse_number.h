// Numbers out of text, for every target: not all of their standard libraries read a double with
// from_chars.
//
// Pure functions; thread-safe.
#ifndef CAIRN_BASE_PARSE_NUMBER_H_
#define CAIRN_BASE_PARSE_NUMBER_H_

#include <optional>
#include <string_view>

namespace cairn {

// The whole text is a decimal number, "12", "-0.5", "3e8", and finite; nothing otherwise.
std::optional<double> ParseDouble(std::string_view text);

}  // namespace cairn

#endif  // CAIRN_BASE_PARSE_NUMBER_H_
