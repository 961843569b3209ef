#include "cairn/serve/web_page.h"

#include <fmt/core.h>

#include <span>
#include <utility>

#include "cairn/base/check.h"
#include "cairn/base/sha256.h"

namespace cairn {
namespace {

constexpr std::string_view kPolicyBegin = R"(http-equiv="Content-Security-Policy" content=")";
constexpr size_t kTagBytes = 16;

std::string PolicyOf(std::string_view html) {
  const size_t begin = html.find(kPolicyBegin);
  CAIRN_CHECK(begin != std::string_view::npos);
  const size_t from = begin + kPolicyBegin.size();
  const size_t end = html.find('"', from);
  CAIRN_CHECK(end != std::string_view::npos);
  return fmt::format("{}; frame-ancestors 'self'", html.substr(from, end - from));
}

std::string TagOf(std::string_view html) {
  const Sha256::Digest digest = Sha256::Of(std::as_bytes(std::span(html)));
  std::string tag = "\"";
  for (const std::byte byte : std::span(digest).first(kTagBytes)) {
    tag += fmt::format("{:02x}", static_cast<unsigned>(byte));
  }
  return tag + '"';
}

}  // namespace

WebPage MakeWebPage(std::string path, std::string html) {
  WebPage page{.path = std::move(path), .html = {}, .policy = PolicyOf(html), .tag = TagOf(html)};
  page.html = std::move(html);
  return page;
}

HttpResponse RespondWithPage(const WebPage& page, std::string_view known) {
  HttpResponse response{
      .content_type = "text/html; charset=utf-8",
      .headers = {{"Content-Security-Policy", page.policy},
                  {"ETag", page.tag},
                  {"Referrer-Policy", "no-referrer"}},
      .cache_control = "no-cache",  // kept, and asked about each time
  };
  if (known.contains(page.tag)) {
    response.status = 304;
  } else {
    response.body = page.html;
  }
  return response;
}

}  // namespace cairn
