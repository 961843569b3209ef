// The pages of `cairn serve`: its own at /, and the estimator's at /size for the model it serves.
#ifndef CAIRN_TOOLS_SERVE_PAGES_H_
#define CAIRN_TOOLS_SERVE_PAGES_H_

#include <string>
#include <vector>

#include "cairn/serve/web_page.h"

namespace cairn {

// Browsers get to see the name, not the path. Without /size, after a word on stderr, where the
// model can't be sized.
std::vector<WebPage> ServedPages(const std::string& model_path, const std::string& name);

}  // namespace cairn

#endif  // CAIRN_TOOLS_SERVE_PAGES_H_
