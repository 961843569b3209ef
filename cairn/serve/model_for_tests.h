// A served model of 256 byte tokens and "<|im_end|>", with a small chat template: for tests.
#ifndef CAIRN_SERVE_MODEL_FOR_TESTS_H_
#define CAIRN_SERVE_MODEL_FOR_TESTS_H_

#include <memory>
#include <string_view>

#include "cairn/serve/prepare_answer.h"
#include "cairn/text/chat_template.h"
#include "cairn/text/tokenizer.h"
#include "cairn/text/vocabularies_for_tests.h"

namespace cairn {

inline constexpr std::string_view kTemplateForTests =
    "{% for m in messages %}{% if m.role == 'tool' %}{{ raise_exception('no tools') }}{% endif %}"
    "{{ m.role[0] }}:{{ m.content }};{% endfor %}{% if add_generation_prompt %}a:{% endif %}";

struct ModelForTests {
  ModelForTests() {
    VocabularyForTests made;
    FillMerges(made);
    made->bos_id.reset();
    tokenizer = std::make_unique<Tokenizer>(*Tokenizer::FromGguf(*made));
    chat = std::make_unique<ChatTemplate>(*ChatTemplate::Parse(kTemplateForTests, "", ""));
    served.name = "tiny";
    served.fingerprint = "b-test";
    served.tokenizer = tokenizer.get();
    served.chat = chat.get();
    grammar_end = tokenizer->end_of_generation().front();
    grammars = std::make_unique<RustGrammarFactory>(
        *RustGrammarFactory::Make(tokenizer->table(), grammar_end));
    served.grammars = grammars.get();
    served.grammar_end = grammar_end;
    served.context = 64;
    served.pooling = Pooling::kLast;
    served.width = 3;
  }

  std::unique_ptr<Tokenizer> tokenizer;
  std::unique_ptr<ChatTemplate> chat;
  TokenId grammar_end;
  std::unique_ptr<RustGrammarFactory> grammars;
  ServedModel served;
};

}  // namespace cairn

#endif  // CAIRN_SERVE_MODEL_FOR_TESTS_H_
