// FormChoice: which form each layer's keys and values take, for the fewest bytes within a loss.
//
// Losses of layers add up, so a greedy walk is sound: from the most exact forms on, always the step
// that saves most bytes for the loss it adds. What a layer's error costs is a price that a
// measurement gives. Pure functions; thread-safe.
#ifndef CAIRN_EVAL_FORM_CHOICE_H_
#define CAIRN_EVAL_FORM_CHOICE_H_

#include <vector>

#include "cairn/models/form_errors.h"
#include "cairn/spec/model_spec.h"

namespace cairn {

// Loss for each unit of FormErrors.
struct FormPrices {
  double keys = 0;
  double values = 0;
};

// By layer. What takes no forms stays as StateCodecs has it by default.
using LayerChoice = std::vector<LayerForms>;

// The most exact forms; the start of every choice.
LayerChoice MostExact(const ModelSpec& model, const FormErrors& errors);
// All keys, or all values, of the layers with errors in the form with this index.
LayerChoice AllKeysIn(const ModelSpec& model, const FormErrors& errors, size_t form);
LayerChoice AllValuesIn(const ModelSpec& model, const FormErrors& errors, size_t form);

// The loss that prices and errors foresee.
double ForeseenLoss(const LayerChoice& choice, const FormErrors& errors, const FormPrices& prices);
// Errors of the keys' forms and of the values' forms, added up.
FormPrices ErrorsOf(const LayerChoice& choice, const FormErrors& errors);

// The fewest bytes at `context` tokens that foresee at most `loss`.
LayerChoice ChooseForms(const ModelSpec& model, const FormErrors& errors, const FormPrices& prices,
                        TokenCount context, double loss);

// Bits for each element of rows that take forms, means over layers by what they hold at `context`.
struct ChoiceBits {
  double keys = 0;
  double values = 0;
};
ChoiceBits BitsOf(const ModelSpec& model, const LayerChoice& choice, TokenCount context);

}  // namespace cairn

#endif  // CAIRN_EVAL_FORM_CHOICE_H_
