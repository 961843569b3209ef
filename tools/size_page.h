// The page of `cairn size --html`: the report's model and question in a file for a browser.
#ifndef CAIRN_TOOLS_SIZE_PAGE_H_
#define CAIRN_TOOLS_SIZE_PAGE_H_

#include <string>

#include "cairn/base/status.h"
#include "cairn/sizing/request.h"

namespace cairn {

Status WriteSizePage(const std::string& html_path, const SizeReport& report);

}  // namespace cairn

#endif  // CAIRN_TOOLS_SIZE_PAGE_H_
