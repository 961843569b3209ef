#include "cairn/serve/prepare_answer.h"

#include <doctest/doctest.h>

#include "cairn/serve/model_for_tests.h"

namespace cairn {
namespace {

TEST_CASE("a chat becomes one job: the template's tokens, bounds and whose state it may share") {
  const ModelForTests model;
  const auto prepared = PrepareChat(
      model.served,
      R"({"messages":[{"role":"user","content":"hello"}],"n":2,"stop":"x","cache_salt":"s"})",
      {.key = 3, .deadline_us = 99});
  REQUIRE(prepared);
  REQUIRE(prepared->jobs.size() == 1);
  const AnswerJob& job = prepared->jobs.front();
  CHECK(model.tokenizer->Decode(job.request.prompt) == "u:hello;a:");
  CHECK(job.request.answers == 2);
  CHECK(job.request.max_tokens == 64 - static_cast<int64_t>(job.request.prompt.size()));
  CHECK(job.request.tenant == "3/s");
  CHECK(job.request.deadline_us == 99);
  CHECK(job.request.ends.size() == model.tokenizer->end_of_generation().size());
  CHECK_FALSE(job.request.ends.empty());
  CHECK(job.text.stops == std::vector<std::string>{"x"});
}

TEST_CASE("requests without a seed draw differently, with one alike") {
  const ModelForTests model;
  const auto seed_of = [&](std::string_view body) {
    return PrepareCompletion(model.served, body, {})->jobs.front().request.sampling.seed;
  };
  CHECK(seed_of(R"({"prompt":"a"})") != seed_of(R"({"prompt":"a"})"));
  CHECK(seed_of(R"({"prompt":"a","seed":4})") == seed_of(R"({"prompt":"b","seed":4})"));
}

TEST_CASE("several prompts are several jobs") {
  const ModelForTests model;
  const auto prepared =
      PrepareCompletion(model.served, R"({"prompt":["a",[1,2]],"n":2,"ignore_eos":true})", {});
  REQUIRE(prepared->jobs.size() == 2);
  CHECK(prepared->answers_per_job == 2);
  CHECK(prepared->jobs[1].request.prompt == std::vector<TokenId>{TokenId(1), TokenId(2)});
  CHECK(prepared->jobs[1].request.ends.empty());
}

TEST_CASE("a prompt as long as the context is told both numbers") {
  const ModelForTests model;
  const std::string long_text(100, 'z');
  const auto prepared =
      PrepareCompletion(model.served, fmt::format(R"({{"prompt":"{}"}})", long_text), {});
  REQUIRE_FALSE(prepared);
  CHECK(prepared.error().type == ApiErrorType::kContextSize);
  CHECK(prepared.error().prompt_tokens == 100);
  CHECK(prepared.error().context_tokens == 64);
}

TEST_CASE("what can't be answered is refused with the field's name") {
  const ModelForTests model;
  const auto param_of = [&](std::string_view body) {
    const auto prepared = PrepareChat(model.served, body, {});
    return prepared ? "none" : prepared.error().param;
  };
  CHECK(param_of("{") == "body");
  CHECK(param_of("\xff") == "body");
  CHECK(param_of(R"({"messages":[{"role":"tool","content":"x"}]})") == "messages");
  CHECK(param_of(R"({"messages":[{"role":"user","content":"\u0000"}]})") == "none");
  CHECK(PrepareCompletion(model.served, R"({"prompt":""})", {}).error().param == "prompt");
}

TEST_CASE("an answer's format becomes a constraint, and one that can't be kept is refused") {
  ModelForTests model;
  const auto prepare = [&](std::string_view format) {
    return PrepareCompletion(model.served,
                             fmt::format(R"({{"prompt":"a","response_format":{}}})", format), {});
  };
  CHECK(prepare(R"({"type":"text"})")->jobs.front().request.constraint == nullptr);
  CHECK(prepare(R"({"type":"json_object"})")->jobs.front().request.constraint != nullptr);
  const auto bad = prepare(R"({"type":"json_schema","json_schema":{"schema":{"type":"nothing"}}})");
  REQUIRE_FALSE(bad);
  CHECK(bad.error().param == "response_format.json_schema.schema");
  model.served.grammars = nullptr;
  CHECK(prepare(R"({"type":"json_object"})").error().param == "response_format");
}

TEST_CASE("tools are offered where the template knows them, and forced by a grammar anywhere") {
  ModelForTests model;
  const auto prepare = [&](std::string_view choice) {
    return PrepareChat(
        model.served,
        fmt::format(
            R"({{"messages":[{{"role":"user","content":"x"}}],"tools":[{{"type":"function",)"
            R"("function":{{"name":"f"}}}}],"tool_choice":{},"parallel_tool_calls":false}})",
            choice),
        {});
  };
  CHECK(prepare(R"("auto")").error().param == "tools");
  CHECK(prepare(R"("none")")->jobs.front().request.constraint == nullptr);
  CHECK(prepare(R"("none")")->jobs.front().calls == ToolCallReader::Form::kNone);
  const auto forced = prepare(R"("required")");
  CHECK(forced->jobs.front().request.constraint != nullptr);
  CHECK(forced->jobs.front().calls == ToolCallReader::Form::kWhole);
  CHECK(
      prepare(R"({"type":"function","function":{"name":"f"}})")->jobs.front().request.constraint !=
      nullptr);
  model.served.chat_shows_tools = true;
  const auto offered = prepare(R"("auto")");
  REQUIRE(offered);
  CHECK(offered->jobs.front().request.constraint == nullptr);
  CHECK(offered->jobs.front().text.shows_special);
  CHECK(offered->jobs.front().calls == ToolCallReader::Form::kMarked);
  CHECK(offered->jobs.front().text.stops == std::vector<std::string>{std::string(kToolCallEnd)});
}

TEST_CASE("each text to embed is a job of no tokens, by the model's pooling") {
  ModelForTests model;
  model.served.pooling = Pooling::kMean;
  const auto prepared =
      PrepareEmbeddings(model.served, R"({"input":["hello",[1,2]],"priority":3})", {});
  REQUIRE(prepared);
  CHECK(prepared->embeds);
  REQUIRE(prepared->jobs.size() == 2);
  CHECK(prepared->jobs[1].request.prompt == std::vector<TokenId>{TokenId(1), TokenId(2)});
  for (const AnswerJob& job : prepared->jobs) {
    CHECK(job.request.embedding == Pooling::kMean);
    CHECK(job.request.max_tokens == 0);
    CHECK(job.request.answers == 1);
    CHECK(job.request.priority == 3);
  }
  CHECK(PrepareEmbeddings(model.served, R"({"input":[""]})", {}).error().param == "input[0]");
  const std::string long_text(200, 'x');
  CHECK(PrepareEmbeddings(model.served, fmt::format(R"({{"input":"{}"}})", long_text), {})
            .error()
            .type == ApiErrorType::kContextSize);
  model.served.pooling.reset();
  model.served.why_no_embeddings = "not this one";
  const auto refused = PrepareEmbeddings(model.served, R"({"input":"a"})", {});
  CHECK(refused.error().status() == 501);
  CHECK(refused.error().message == "not this one");
}

TEST_CASE("a model without a template has no chat, and says why") {
  ModelForTests model;
  model.served.chat = nullptr;
  model.served.why_no_chat = "the model has no chat template";
  const auto prepared =
      PrepareChat(model.served, R"({"messages":[{"role":"user","content":"x"}]})", {});
  CHECK(prepared.error().message == "messages: the model has no chat template");
}

TEST_CASE("Anthropic's messages are the same chat, and can be counted") {
  const ModelForTests model;
  const std::string_view body =
      R"({"max_tokens":3,"system":"s","messages":[{"role":"user","content":"x"}]})";
  const auto prepared = PrepareMessages(model.served, body, {});
  REQUIRE(prepared);
  const std::vector<TokenId>& prompt = prepared->jobs.front().request.prompt;
  CHECK(model.tokenizer->Decode(prompt) == "s:s;u:x;a:");
  CHECK(prepared->jobs.front().request.max_tokens == 3);
  CHECK(*AnswerCountTokens(model.served, body) ==
        fmt::format(R"({{"input_tokens":{}}})", prompt.size()));
}

TEST_CASE("text becomes tokens and tokens text") {
  const ModelForTests model;
  const std::string tokens = *AnswerTokenize(model.served, R"({"content":"hello world"})");
  const std::string list = tokens.substr(tokens.find('['));
  CHECK(*AnswerDetokenize(model.served, fmt::format(R"({{"tokens":{})", list)) ==
        R"({"content":"hello world"})");
  CHECK(AnswerTokenize(model.served, R"({"content":"\u00e4","with_pieces":true})")
            ->contains(R"("piece":[195])"));
  CHECK(*AnswerApplyTemplate(model.served, R"({"messages":[{"role":"user","content":"x"}]})") ==
        R"({"prompt":"u:x;a:"})");
}

}  // namespace
}  // namespace cairn
