// A SizeRequest as JSON: how the page asks, with the names of the command line's flags.
//
//   {"context": [4096], "batch": 8, "cache-type-k": "f16", "cache-type-v": "f16", "tp": 2, ...}
//
// A member that is left out has the flag's default; a member that is no flag's is an error, so that
// none is overlooked. Pure functions; thread-safe.
#ifndef CAIRN_SIZING_QUESTION_H_
#define CAIRN_SIZING_QUESTION_H_

#include <span>
#include <string>
#include <string_view>

#include "cairn/base/dtype.h"
#include "cairn/base/status.h"
#include "cairn/sizing/request.h"

namespace cairn {

// Forms that some engine keeps keys and values in; this one may not be among them.
std::span<const DType> SizedCodecs();
// "f16", "fp8", ...; an error that begins with the flag and lists the codecs otherwise.
Result<DType> SizedCodecFromName(std::string_view flag, std::string_view name);
// The same with what may stand behind it (state_form.h).
Result<StateForm> SizedFormFromName(std::string_view flag, std::string name);

Result<SizeRequest> SizeRequestFromJson(std::string_view json);
// On one line. Reading it gives an equal request.
std::string SizeRequestJson(const SizeRequest& request);

}  // namespace cairn

#endif  // CAIRN_SIZING_QUESTION_H_
