// FormErrors: how far the outputs of attention move when one layer's keys or values are stored in
// a form, estimated for many layers and forms from one pass of a model over a text.
//
// For some queries of the text's second half the outputs of their heads are computed with the rows
// as they are and with the rows as a form would give them back, those of exact ends aside. The
// error of a form is the sum of squared differences over the sum of squared outputs. It ranks
// layers and forms; what an error costs in answers is for a measurement to say. Keys of a layer
// that others read as well are judged by that layer's own queries. Thread-compatible.
#ifndef CAIRN_MODELS_FORM_ERRORS_H_
#define CAIRN_MODELS_FORM_ERRORS_H_

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "cairn/base/thread_pool.h"
#include "cairn/models/key_standards.h"
#include "cairn/spec/state_form.h"

namespace cairn {

// Forms among which keys, or values, are chosen; the most exact first.
std::vector<StateForm> KeyForms();
std::vector<StateForm> ValueForms();

// Whether the layer's rows can be in any of these forms: softmax attention that reads all rows it
// sees, heads of whole blocks of channels.
bool TakesForms(const AttentionSpec& attention);

// Whether the query at position i reads the row at j in the form's own codec.
bool ReadsCoarsely(const StateForm& form, const AttentionSpec& attention, int64_t i, int64_t j);

struct FormErrors {
  // By layer; absent where the layer takes no forms or wasn't seen.
  struct Layer {
    std::vector<double> keys;    // one for each of KeyForms()
    std::vector<double> values;  // one for each of ValueForms()
  };
  std::vector<std::optional<Layer>> layers;
};

class FormMeter final : public KeyObserver {
 public:
  // All of these outlive it. Keys are standardised as `standards` says, for sequences of up to
  // `context` tokens, as the model was loaded for.
  FormMeter(const ModelSpec& model, TokenCount context, const KeyStandards& standards,
            ThreadPool& pool);

  // A whole text at once: what goes on from position 0. Others are left out.
  void OnKeys(const SeenKeys& seen) override;
  const FormErrors& errors() const { return errors_; }

  // Heads' outputs are compared at so many positions.
  static constexpr int64_t kQueries = 24;

 private:
  const TokenCount context_;
  const KeyStandards& standards_;
  ThreadPool& pool_;
  FormErrors errors_;
};

}  // namespace cairn

#endif  // CAIRN_MODELS_FORM_ERRORS_H_
