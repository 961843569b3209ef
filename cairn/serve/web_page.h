// A page for browsers: one HTML document with all it needs inside, constant while the server runs.
//
// It is asked for without a key, so nothing of requests and state may be in it. Pure functions;
// thread-safe.
#ifndef CAIRN_SERVE_WEB_PAGE_H_
#define CAIRN_SERVE_WEB_PAGE_H_

#include <string>
#include <string_view>

#include "cairn/serve/http_response.h"

namespace cairn {

struct WebPage {
  std::string path;  // of a route
  std::string html;
  std::string policy;  // its Content-Security-Policy
  std::string tag;     // its ETag: another one for other bytes
};

// The policy is the one that the document states of itself, and that only this server's pages may
// show it in a frame. REQUIRES that it states one.
WebPage MakeWebPage(std::string path, std::string html);

// With the page, or without where the browser's copy is it: `known` is If-None-Match.
HttpResponse RespondWithPage(const WebPage& page, std::string_view known);

}  // namespace cairn

#endif  // CAIRN_SERVE_WEB_PAGE_H_
