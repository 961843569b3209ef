// Any bytes of a connection, cut anywhere: the same requests and the same refusal, within bounds.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "cairn/base/check.h"
#include "cairn/serve/http_parser.h"

namespace {

using cairn::HttpParser;

constexpr cairn::HttpLimits kLimits = {.header_bytes = 512, .body_bytes = 256};

// What a connection comes to: its requests, and how it ended.
struct Outcome {
  std::vector<std::string> requests;
  int refusal = 0;
  bool operator==(const Outcome&) const = default;
};

Outcome Read(std::string_view text, size_t piece) {
  Outcome outcome;
  std::string pending;
  auto parser = std::make_unique<HttpParser>(kLimits);
  while (!text.empty()) {
    pending += text.substr(0, piece);
    text.remove_prefix(std::min(piece, text.size()));
    while (!pending.empty()) {
      const size_t taken = parser->Feed(pending);
      CAIRN_CHECK(taken <= pending.size());
      pending.erase(0, taken);
      CAIRN_CHECK(parser->body_bytes() <= kLimits.body_bytes);
      if (parser->state() == HttpParser::State::kRefused) {
        outcome.refusal = parser->refusal().status();
        CAIRN_CHECK(outcome.refusal == 400 || outcome.refusal == 413 || outcome.refusal == 431);
        return outcome;
      }
      parser->TakeWantsContinue();
      if (parser->state() == HttpParser::State::kNeedsMore) break;
      const cairn::HttpRequest request = parser->Take();
      CAIRN_CHECK(request.path.find('?') == std::string::npos);
      for (const auto& [name, value] : request.headers) {
        CAIRN_CHECK(value.find_first_of("\r\n") == std::string::npos);
      }
      outcome.requests.push_back(request.method + " " + request.path + " " + request.body);
      parser = std::make_unique<HttpParser>(kLimits);
    }
  }
  return outcome;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const std::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
  const Outcome whole = Read(text, text.size());
  const Outcome cut = Read(text, 1 + data[0] % 32);
  CAIRN_CHECK(whole.requests.size() >= cut.requests.size() || whole.refusal != 0);
  for (size_t i = 0; i < std::min(whole.requests.size(), cut.requests.size()); ++i) {
    CAIRN_CHECK(whole.requests[i] == cut.requests[i]);
  }
  return 0;
}
