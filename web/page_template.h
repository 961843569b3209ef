// The pages that are built into the program. Constant data; thread-safe.
#ifndef CAIRN_WEB_PAGE_TEMPLATE_H_
#define CAIRN_WEB_PAGE_TEMPLATE_H_

#include <string_view>

namespace cairn {

// The page of `cairn size --html` before a model is filled in (cairn/sizing/page.h): web/estimator/
// with the estimator in WebAssembly.
std::string_view PageTemplate();
// The page of `cairn serve`: web/serve/.
std::string_view ServePage();

}  // namespace cairn

#endif  // CAIRN_WEB_PAGE_TEMPLATE_H_
