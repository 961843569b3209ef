// SchemaConstraint: an answer that follows a JSON schema, as the engine's TokenConstraint.
//
// A grammar that turns out to take more work than it may ends the answer: from then on only the
// token that ends answers is allowed. Thread-compatible.
#ifndef CAIRN_SERVE_SCHEMA_CONSTRAINT_H_
#define CAIRN_SERVE_SCHEMA_CONSTRAINT_H_

#include <memory>
#include <span>
#include <string_view>
#include <utility>

#include "cairn/engine/engine.h"
#include "cairn/serve/api_error.h"
#include "cairn/text/rust_bridge.h"

namespace cairn {

class SchemaConstraint final : public TokenConstraint {
 public:
  // `param` is the field that the schema came in. `end` is the factory's.
  static ApiResult<std::unique_ptr<TokenConstraint>> Make(const RustGrammarFactory& factory,
                                                          TokenId end, std::string_view schema_json,
                                                          std::string_view param);

  SchemaConstraint(RustFollower follower, TokenId end)
      : follower_(std::move(follower)), end_(end) {}

  void Restrict(std::span<float> logits) override;
  void Accept(TokenId token) override;
  std::unique_ptr<TokenConstraint> Clone() const override;

 private:
  RustFollower follower_;
  TokenId end_;
  bool broken_ = false;
};

}  // namespace cairn

#endif  // CAIRN_SERVE_SCHEMA_CONSTRAINT_H_
