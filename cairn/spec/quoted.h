// Quoted: foreign text made fit for a one-line message.
//
// Pure functions; thread-safe.
#ifndef CAIRN_SPEC_QUOTED_H_
#define CAIRN_SPEC_QUOTED_H_

#include <cstddef>
#include <string>
#include <string_view>

namespace cairn {

// Between double quotes, everything but printable ASCII as \xNN, cut after `shown` bytes.
inline constexpr size_t kShownText = 60;
std::string Quoted(std::string_view text, size_t shown = kShownText);

}  // namespace cairn

#endif  // CAIRN_SPEC_QUOTED_H_
