// ApiKeys: who may ask, and whose state a request may share.
//
// Keys are compared by their SHA-256, all of them and all bytes, so that the time says nothing
// about them. Immutable; thread-safe.
#ifndef CAIRN_SERVE_API_KEYS_H_
#define CAIRN_SERVE_API_KEYS_H_

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cairn/base/sha256.h"
#include "cairn/base/status.h"
#include "cairn/serve/http_parser.h"

namespace cairn {

class ApiKeys {
 public:
  // Without keys everybody may ask. Errors: an empty key, or one with a space or control character.
  static Result<ApiKeys> Make(const std::vector<std::string>& keys);
  // One key a line; empty lines and those that begin with '#' are left out.
  static std::vector<std::string> LinesOf(std::string_view text);

  bool required() const { return !digests_.empty(); }
  // Which key the request carries ("Authorization: Bearer KEY" or "x-api-key: KEY"); 0 where none
  // is required. Nothing: it carries none of them.
  std::optional<int> Find(const HttpRequest& request) const;

 private:
  std::vector<Sha256::Digest> digests_;
};

// Whose state is shared: requests of one key and one salt.
std::string TenantOf(int key, std::string_view salt);

}  // namespace cairn

#endif  // CAIRN_SERVE_API_KEYS_H_
