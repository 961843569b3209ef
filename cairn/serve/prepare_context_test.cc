#include "cairn/serve/prepare_context.h"

#include <doctest/doctest.h>

#include "cairn/serve/model_for_tests.h"

namespace cairn {
namespace {

TEST_CASE("making a context reads its text for its key and salt, unless it mayn't") {
  const ModelForTests model;
  const auto made =
      PrepareContextMake(model.served, R"({"text":"abc","cache_salt":"s","ttl_s":2.5,"pin":true})",
                         {.key = 3, .deadline_us = 9});
  REQUIRE(made);
  REQUIRE(made->jobs.size() == 1);
  CHECK(made->jobs.front().request.tenant == "3/s");
  CHECK(made->jobs.front().request.max_tokens == 0);
  CHECK(made->jobs.front().request.deadline_us == 9);
  CHECK(model.tokenizer->Decode(made->jobs.front().request.prompt) == "abc");
  CHECK(made->context->ttl_us == 2'500'000);
  CHECK(made->context->pin == true);
  CHECK(PrepareContextMake(model.served, R"({"text":"abc","prefill":false})", {})->jobs.empty());
  for (const std::string_view body :
       {"", "[]", "{", R"({"text":"a","ttl_s":0})", R"({"text":"a","ttl_s":"1"})",
        R"({"text":"a","pin":1})", R"({"text":"a","prefill":"no"})",
        R"({"text":"a","cache_salt":1})"}) {
    CAPTURE(body);
    CHECK(PrepareContextMake(model.served, body, {}).error().status() == 400);
  }
}

TEST_CASE("appending, rewinding and forking start from the context") {
  const ModelForTests model;
  const ContextText base = PrepareContextMake(model.served, R"({"text":"abc"})", {})->context->text;
  const RequestFacts facts{.context = &base};
  const auto more = PrepareContextAppend(model.served, R"({"text":"de"})", facts);
  CHECK(model.tokenizer->Decode(more->jobs.front().request.prompt) == "abcde");
  CHECK(more->context->kept_tokens == base.size());
  const auto back = PrepareContextRewind(model.served, R"({"tokens":1})", facts);
  CHECK(back->jobs.empty());
  CHECK(back->context->text.size() == 1);
  const auto forks = PrepareContextFork(model.served, R"({"n":4})", facts);
  CHECK(forks->context->count == 4);
  CHECK(forks->context->text.tokens == base.tokens);
  CHECK(PrepareContextFork(model.served, "", facts)->context->count == 1);
  CHECK(PrepareContextFork(model.served, R"({"n":0})", facts).error().param == "n");
}

TEST_CASE("the small bodies may be empty") {
  CHECK_FALSE(ParseContextTouch("")->ttl_us.has_value());
  CHECK(ParseContextTouch(R"({"ttl_s":3})")->ttl_us == 3'000'000);
  CHECK(ParseContextTouch(R"({"ttl_s":-3})").error().param == "ttl_s");
  CHECK_FALSE(ParseContextRelease("")->forget);
  CHECK(ParseContextRelease(R"({"forget":true})")->forget);
  CHECK(ParseContextRelease(R"({"forget":3})").error().param == "forget");
}

}  // namespace
}  // namespace cairn
