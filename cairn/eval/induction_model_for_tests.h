// A model that can do one thing: go on as the text went on before, where its state still has it.
//
// A state row is a token. The logits look for the longest run of rows, up to kLongest, that ends as
// the text does now, and favour the token that followed it. With rows of a window it forgets what
// is older; with `noise` its logits are off by a little that depends on the text alone. So it is
// known what each task must find. Only for tests.
#ifndef CAIRN_EVAL_INDUCTION_MODEL_FOR_TESTS_H_
#define CAIRN_EVAL_INDUCTION_MODEL_FOR_TESTS_H_

#include <cmath>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "cairn/base/thread_pool.h"
#include "cairn/eval/task.h"
#include "cairn/text/tokenizer.h"
#include "cairn/text/vocabularies_for_tests.h"

namespace cairn {

class InductionModel final : public Model {
 public:
  static constexpr int64_t kLongest = 12;

  explicit InductionModel(int64_t vocabulary, Lifetime lifetime = Lifetime::All(), double noise = 0)
      : layout_(LayoutOf(lifetime)), lifetime_(lifetime), noise_(noise) {
    spec_.vocabulary = vocabulary;
    spec_.context_length = TokenCount(1 << 20);
  }

  const ModelSpec& spec() const override { return spec_; }
  const StateLayout& layout() const override { return layout_; }
  Bytes weight_bytes() const override { return Bytes(1000); }

  void Forward(std::span<const BatchSpan> batch) override {
    rows_.clear();
    for (const BatchSpan& span : batch) {
      int64_t position = span.state.tokens_before.value();
      const auto count = static_cast<int64_t>(span.tokens.size());
      for (int64_t i = 0; i < count; ++i, ++position) {
        Row(span.state, position) = static_cast<float>(span.tokens[static_cast<size_t>(i)].value());
        if (i >= count - span.logits) rows_.push_back(LogitsAfter(span.state, position));
      }
    }
  }
  int64_t logit_rows() const override { return static_cast<int64_t>(rows_.size()); }
  void Logits(int64_t first, int64_t count, float* out) override {
    for (int64_t i = 0; i < count; ++i) {
      out = std::ranges::copy(rows_[static_cast<size_t>(first + i)], out).out;
    }
  }
  void HiddenStates(int64_t /*first*/, int64_t /*count*/, float* /*out*/) override {}

 private:
  static StateLayout LayoutOf(Lifetime lifetime) {
    Rows rows;
    rows.name = "keys";
    rows.width = 1;
    rows.codec = DType::kF32;
    rows.lifetime = lifetime;
    return *StateLayout::Make({.layers = {LayerState{.components = {rows}}}});
  }
  static float& Row(const SequenceView& state, int64_t position) {
    std::byte* block = state.tables[0].Block(position / kRowsPerBlock);
    return reinterpret_cast<float*>(block)[position % kRowsPerBlock];
  }

  std::vector<float> LogitsAfter(const SequenceView& state, int64_t position) const {
    std::vector<float> logits(static_cast<size_t>(spec_.vocabulary), 0.0f);
    const int64_t first = lifetime_.FirstNeeded(TokenCount(position)).value();
    int64_t best = 0;
    float next = 0;
    for (int64_t end = first; end < position; ++end) {
      int64_t run = 0;
      while (run < kLongest && end - run >= first &&
             Row(state, end - run) == Row(state, position - run)) {
        ++run;
      }
      if (run > 0 && run >= best) {
        best = run;
        next = Row(state, end + 1);
      }
    }
    if (best > 0) logits[static_cast<size_t>(next)] = 1.5f * static_cast<float>(best);
    if (std::isnan(noise_)) logits.assign(logits.size(), static_cast<float>(noise_));
    for (size_t i = 0; i < logits.size() && noise_ > 0; ++i) {
      const double phase = static_cast<double>(i + 1) * static_cast<double>(position + 1);
      logits[i] += static_cast<float>(noise_ * std::sin(phase));
    }
    return logits;
  }

  ModelSpec spec_;
  StateLayout layout_;
  Lifetime lifetime_;
  double noise_;
  std::vector<std::vector<float>> rows_;
};

// One byte to a token, nearly; no BOS.
inline Tokenizer ByteTokenizerForTests() {
  VocabularyForTests made;
  FillMerges(made);
  made->bos_id.reset();
  return *Tokenizer::FromGguf(*made);
}

// What a task needs to run on these.
struct EvalForTests {
  Tokenizer tokenizer = ByteTokenizerForTests();
  ThreadPool pool{2};
  InductionModel whole{tokenizer.vocab_size()};
  InductionModel noisy{tokenizer.vocab_size(), Lifetime::All(), 0.3};
  InductionModel forgetful{tokenizer.vocab_size(), Lifetime::Window(TokenCount(64))};
  EvalSetting reference{.name = "f32", .model = &whole};
  std::vector<EvalSetting> settings = {{.name = "same", .model = &whole, .chunk = TokenCount(5)},
                                       {.name = "noisy", .model = &noisy},
                                       {.name = "forgetful", .model = &forgetful}};

  TaskInput Input(std::string_view text, int64_t context) {
    TaskInput input;
    input.tokenizer = &tokenizer;
    input.pool = &pool;
    input.text = text;
    input.text_name = "a text";
    input.context = TokenCount(context);
    return input;
  }
};

}  // namespace cairn

#endif  // CAIRN_EVAL_INDUCTION_MODEL_FOR_TESTS_H_
