#include "web/page_template.h"

// Of page_template.S.
extern "C" const char cairn_page_template_begin[];
extern "C" const char cairn_page_template_end[];
extern "C" const char cairn_serve_page_begin[];
extern "C" const char cairn_serve_page_end[];

namespace cairn {

std::string_view PageTemplate() { return {cairn_page_template_begin, cairn_page_template_end}; }
std::string_view ServePage() { return {cairn_serve_page_begin, cairn_serve_page_end}; }

}  // namespace cairn
