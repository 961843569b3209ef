#include "cairn/serve/chat_prompt.h"

#include <doctest/doctest.h>

#include "cairn/serve/model_for_tests.h"

namespace cairn {
namespace {

TEST_CASE("messages become the template's text, with or without the answer's beginning") {
  const ModelForTests model;
  ChatRequest chat;
  chat.messages_json = R"([{"role":"user","content":"hi"}])";
  CHECK(*RenderChat(model.served, chat) == "u:hi;a:");
  chat.add_generation_prompt = false;
  CHECK(*RenderChat(model.served, chat) == "u:hi;");
}

TEST_CASE("what a template refuses, or a model without one, is the messages' fault") {
  ModelForTests model;
  ChatRequest chat;
  chat.messages_json = R"([{"role":"tool","content":"hi"}])";
  CHECK(RenderChat(model.served, chat).error().param == "messages");
  model.served.chat = nullptr;
  model.served.why_no_chat = "this one has none";
  CHECK(RenderChat(model.served, chat).error().message.ends_with("this one has none"));
}

}  // namespace
}  // namespace cairn
