#include "cairn/serve/web_page.h"

#include <doctest/doctest.h>

#include <string>

namespace cairn {
namespace {

std::string HtmlOf(const std::string& words) {
  return R"(<meta http-equiv="Content-Security-Policy" content="default-src 'none'">)" + words;
}

std::string HeadOf(const HttpResponse& response) {
  return HttpHead(response, HttpBody::kSized, "close");
}

TEST_CASE("a page is HTML under its own policy, and is shown in no other site's frame") {
  const WebPage page = MakeWebPage("/", HtmlOf("words"));
  const HttpResponse response = RespondWithPage(page, "");
  CHECK(response.body == page.html);
  const std::string head = HeadOf(response);
  CHECK(head.contains("\r\nContent-Type: text/html; charset=utf-8\r\n"));
  CHECK(
      head.contains("\r\nContent-Security-Policy: default-src 'none'; frame-ancestors 'self'\r\n"));
  CHECK(head.contains("\r\nCache-Control: no-cache\r\n"));
  CHECK(head.contains("\r\nETag: " + page.tag + "\r\n"));
}

TEST_CASE("a browser that has the page is told so, without a body and its length") {
  const WebPage page = MakeWebPage("/", HtmlOf("words"));
  const HttpResponse response = RespondWithPage(page, R"("other", )" + page.tag);
  CHECK(response.status == 304);
  CHECK(response.body.empty());
  CHECK_FALSE(HeadOf(response).contains("Content-Length"));
  CHECK(RespondWithPage(page, MakeWebPage("/", HtmlOf("other words")).tag).status == 200);
}

}  // namespace
}  // namespace cairn
