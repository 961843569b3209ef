// The page of `cairn size --html` before a model is filled in (cairn/sizing/page.h).
//
// Assembled at build time from web/estimator/ and the estimator in WebAssembly. Constant data;
// thread-safe.
#ifndef CAIRN_WEB_PAGE_TEMPLATE_H_
#define CAIRN_WEB_PAGE_TEMPLATE_H_

#include <string_view>

namespace cairn {

std::string_view PageTemplate();

}  // namespace cairn

#endif  // CAIRN_WEB_PAGE_TEMPLATE_H_
