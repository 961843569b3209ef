#include "cairn/eval/form_choice.h"

#include <algorithm>
#include <limits>

#include "cairn/base/check.h"
#include "cairn/base/dtype.h"

namespace cairn {
namespace {

const AttentionSpec* AttentionOf(const LayerSpec& layer) {
  return std::get_if<AttentionSpec>(&layer.mixer);
}

int64_t RowsAt(const AttentionSpec& attention, TokenCount context) {
  return (context - attention.lifetime.FirstNeeded(context)).value();
}

// Bytes of a layer's keys, or values, with `context` tokens.
double BytesOf(const AttentionSpec& attention, const StateForm& form, int64_t width,
               TokenCount context) {
  const int64_t rows = RowsAt(attention, context);
  const auto row = static_cast<double>(RowBytesOf(form.codec, width).value());
  const auto exact = static_cast<double>(RowBytesOf(kExactCodec, width).value());
  double bytes = static_cast<double>(rows) * row;
  if (form.exact_ends) {
    const bool all = attention.lifetime.kind == Lifetime::Kind::kAll;
    const int64_t ends = context.value() - FirstExactBefore(context.value());
    bytes += static_cast<double>(ends + (all ? std::min(kExactFirst, rows) : 0)) * exact;
  }
  return bytes * static_cast<double>(attention.kv_heads);
}

// Keys or values of one layer, on the walk.
struct Walker {
  StateForm* form = nullptr;
  const std::vector<StateForm>* forms = nullptr;
  const std::vector<double>* errors = nullptr;
  double price = 0;
  std::vector<double> bytes = {};  // of each form
  size_t at = 0;

  double Loss(size_t to) const { return price * ((*errors)[to] - (*errors)[at]); }
  double Saved(size_t to) const { return bytes[at] - bytes[to]; }
};

struct Step {
  Walker* walker = nullptr;
  size_t to = 0;
  double loss = 0;
};

// The step with the most bytes for its loss among those that the budget allows.
Step BestStep(std::vector<Walker>& walkers, double left) {
  Step best;
  double best_worth = 0;
  for (Walker& walker : walkers) {
    for (size_t to = walker.at + 1; to < walker.forms->size(); ++to) {
      const double loss = std::max(walker.Loss(to), 0.0);
      if (walker.Saved(to) <= 0 || loss > left) continue;
      const double worth = walker.Saved(to) / std::max(loss, std::numeric_limits<double>::min());
      if (worth <= best_worth) continue;
      best_worth = worth;
      best = {&walker, to, loss};
    }
  }
  return best;
}

size_t IndexOf(const StateForm& form, const std::vector<StateForm>& forms) {
  const auto at = std::ranges::find(forms, form);
  CAIRN_CHECK(at != forms.end());
  return static_cast<size_t>(at - forms.begin());
}

LayerChoice AllIn(const ModelSpec& model, const FormErrors& errors, size_t key, size_t value) {
  CAIRN_CHECK(errors.layers.size() == model.layers.size());
  LayerChoice choice(model.layers.size());
  for (size_t i = 0; i < choice.size(); ++i) {
    if (errors.layers[i]) choice[i] = {KeyForms()[key], ValueForms()[value]};
  }
  return choice;
}

}  // namespace

LayerChoice MostExact(const ModelSpec& model, const FormErrors& errors) {
  return AllIn(model, errors, 0, 0);
}
LayerChoice AllKeysIn(const ModelSpec& model, const FormErrors& errors, size_t form) {
  return AllIn(model, errors, form, 0);
}
LayerChoice AllValuesIn(const ModelSpec& model, const FormErrors& errors, size_t form) {
  return AllIn(model, errors, 0, form);
}

FormPrices ErrorsOf(const LayerChoice& choice, const FormErrors& errors) {
  const std::vector<StateForm> keys = KeyForms();
  const std::vector<StateForm> values = ValueForms();
  FormPrices sum;
  for (size_t i = 0; i < choice.size(); ++i) {
    if (!errors.layers[i]) continue;
    sum.keys += errors.layers[i]->keys[IndexOf(choice[i].keys, keys)];
    sum.values += errors.layers[i]->values[IndexOf(choice[i].values, values)];
  }
  return sum;
}

double ForeseenLoss(const LayerChoice& choice, const FormErrors& errors, const FormPrices& prices) {
  const FormPrices sum = ErrorsOf(choice, errors);
  return prices.keys * sum.keys + prices.values * sum.values;
}

LayerChoice ChooseForms(const ModelSpec& model, const FormErrors& errors, const FormPrices& prices,
                        TokenCount context, double loss) {
  const std::vector<StateForm> key_forms = KeyForms();
  const std::vector<StateForm> value_forms = ValueForms();
  LayerChoice choice = MostExact(model, errors);
  std::vector<Walker> walkers;
  for (size_t i = 0; i < choice.size(); ++i) {
    if (!errors.layers[i]) continue;
    const AttentionSpec* attention = AttentionOf(model.layers[i]);
    CAIRN_CHECK(attention != nullptr);
    walkers.push_back({&choice[i].keys, &key_forms, &errors.layers[i]->keys, prices.keys});
    for (const StateForm& form : key_forms) {
      walkers.back().bytes.push_back(BytesOf(*attention, form, attention->key_width, context));
    }
    walkers.push_back({&choice[i].values, &value_forms, &errors.layers[i]->values, prices.values});
    for (const StateForm& form : value_forms) {
      walkers.back().bytes.push_back(BytesOf(*attention, form, attention->value_width, context));
    }
  }
  double left = loss - ForeseenLoss(choice, errors, prices);
  for (Step step = BestStep(walkers, left); step.walker != nullptr;
       step = BestStep(walkers, left)) {
    left -= step.loss;
    step.walker->at = step.to;
    *step.walker->form = (*step.walker->forms)[step.to];
  }
  return choice;
}

ChoiceBits BitsOf(const ModelSpec& model, const LayerChoice& choice, TokenCount context) {
  double key_bits = 0;
  double key_elements = 0;
  double value_bits = 0;
  double value_elements = 0;
  for (size_t i = 0; i < choice.size(); ++i) {
    const AttentionSpec* attention = AttentionOf(model.layers[i]);
    if (attention == nullptr || !TakesForms(*attention)) continue;
    const auto rows = static_cast<double>(RowsAt(*attention, context) * attention->kv_heads);
    const auto add = [rows](const StateForm& form, int64_t width, double& bits, double& elements) {
      bits += 8 * rows * static_cast<double>(RowBytesOf(form.codec, width).value());
      elements += rows * static_cast<double>(width);
    };
    add(choice[i].keys, attention->key_width, key_bits, key_elements);
    add(choice[i].values, attention->value_width, value_bits, value_elements);
  }
  return {key_elements > 0 ? key_bits / key_elements : 0,
          value_elements > 0 ? value_bits / value_elements : 0};
}

}  // namespace cairn
