#include "cairn/models/form_errors.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "cairn/base/check.h"
#include "cairn/kernels/hadamard.h"
#include "cairn/kernels/state_rows.h"
#include "cairn/spec/rope.h"

namespace cairn {
namespace {

using Floats = std::vector<float>;

std::vector<StateForm> Forms(RowTransform transform) {
  std::vector<StateForm> forms = {{kExactCodec, transform}};
  for (const DType codec : {DType::kLM5, DType::kLM4, DType::kLM3, DType::kLM2}) {
    forms.emplace_back(codec, transform, /*exact_ends=*/true);
  }
  return forms;
}

float Dot(const float* a, const float* b, int64_t count) {
  float lanes[8] = {};
  int64_t i = 0;
  for (; i + 8 <= count; i += 8) {
    for (int64_t l = 0; l < 8; ++l) lanes[l] += a[i + l] * b[i + l];
  }
  float sum = 0;
  for (; i < count; ++i) sum += a[i] * b[i];
  for (const float lane : lanes) sum += lane;
  return sum;
}

// What storing changes about rows of one head, [tokens][width].
Floats ChangeOf(DType codec, const Floats& rows, int64_t width) {
  const auto count = static_cast<int64_t>(rows.size()) / width;
  std::vector<std::byte> tile(static_cast<size_t>(StateTileBytes(codec, width)));
  Floats change(rows.size());
  for (int64_t t = 0; t < count; ++t) {
    float* to = change.data() + t * width;
    StoreRow(codec, rows.data() + t * width, 1, width, t % kTileRows, tile.data());
    LoadRow(codec, tile.data(), 1, width, t % kTileRows, to);
    for (int64_t c = 0; c < width; ++c) to[c] -= rows[static_cast<size_t>(t * width + c)];
  }
  return change;
}

// One KV head of one layer.
class HeadJudge {
 public:
  HeadJudge(const SeenKeys& seen, const KeyStandards::Layer& standard, TokenCount context,
            int64_t kv_head)
      : seen_(seen),
        spec_(*seen.spec),
        kv_head_(kv_head),
        group_(spec_.heads / spec_.kv_heads),
        mean_(standard.mean.data() + kv_head * spec_.key_width),
        spread_(standard.spread.data() + kv_head * spec_.key_width) {
    FillKeys(context);
    FillValues();
    for (const StateForm& form : KeyForms()) {
      key_changes_.push_back(ChangeOf(form.codec, keys_, spec_.key_width));
    }
    for (const StateForm& form : ValueForms()) {
      value_changes_.push_back(ChangeOf(form.codec, values_, spec_.value_width));
    }
    keys_.clear();
  }

  struct Sums {
    double outputs = 0;
    std::vector<double> keys, values;
  };

  Sums Judge() {
    Sums sums;
    sums.keys.resize(key_changes_.size());
    sums.values.resize(value_changes_.size());
    const int64_t half = seen_.tokens / 2;
    const int64_t count = std::min(FormMeter::kQueries, seen_.tokens - half);
    for (int64_t q = 0; q < count; ++q) {
      const int64_t position = half + (seen_.tokens - half) * q / count;
      for (int64_t g = 0; g < group_; ++g) JudgeQuery(position, kv_head_ * group_ + g, sums);
    }
    return sums;
  }

 private:
  // As they are stored: without their common vector, divided by their spread, rotated.
  void FillKeys(TokenCount context) {
    const int64_t width = spec_.key_width;
    const TurningPairs pairs = PairsOf(spec_.rope);
    Floats frequencies;
    double amplitude = 1;
    if (spec_.rope) {
      frequencies = RopeFrequencies(*spec_.rope, context.value());
      amplitude = RopeAmplitude(*spec_.rope);
    }
    keys_.resize(static_cast<size_t>(seen_.tokens * width));
    Floats mean(static_cast<size_t>(width));
    for (int64_t t = 0; t < seen_.tokens; ++t) {
      std::copy_n(mean_, width, mean.begin());
      for (int64_t i = 0; i < pairs.count; ++i) {
        float& a = mean[static_cast<size_t>(pairs.First(i))];
        float& b = mean[static_cast<size_t>(pairs.Second(i))];
        const double angle = static_cast<double>(t) * frequencies[static_cast<size_t>(i)];
        const auto cosine = static_cast<float>(std::cos(angle) * amplitude);
        const auto sine = static_cast<float>(std::sin(angle) * amplitude);
        const float turned = a * cosine - b * sine;
        b = b * cosine + a * sine;
        a = turned;
      }
      const float* key = seen_.keys + (t * spec_.kv_heads + kv_head_) * width;
      float* to = keys_.data() + t * width;
      for (int64_t c = 0; c < width; ++c) {
        to[c] = (key[c] - mean[static_cast<size_t>(c)]) / spread_[c];
      }
    }
    RotateHeads(keys_.data(), seen_.tokens, width);
  }

  void FillValues() {
    const int64_t width = spec_.value_width;
    values_.resize(static_cast<size_t>(seen_.tokens * width));
    for (int64_t t = 0; t < seen_.tokens; ++t) {
      std::copy_n(seen_.values + (t * spec_.kv_heads + kv_head_) * width, width,
                  values_.begin() + t * width);
    }
    RotateHeads(values_.data(), seen_.tokens, width);
  }

  int64_t FirstVisible(int64_t position) const {
    return spec_.lifetime.FirstNeeded(TokenCount(position)).value();
  }

  // Softmax of scores of the rows [first, end).
  Floats Weights(Floats scores) const {
    if (spec_.score_cap > 0) {
      const auto cap = static_cast<float>(spec_.score_cap);
      for (float& s : scores) s = cap * std::tanh(s / cap);
    }
    const float largest = std::ranges::max(scores);
    float sum = 0;
    for (float& s : scores) sum += s = std::exp(s - largest);
    for (float& s : scores) s /= sum;
    return scores;
  }

  // Squared length of the sum of weights x rows.
  double SquaredSum(const Floats& weights, int64_t first, const Floats& rows) const {
    const int64_t width = spec_.value_width;
    Floats sum(static_cast<size_t>(width));
    for (size_t j = 0; j < weights.size(); ++j) {
      if (weights[j] == 0) continue;
      const float* row = rows.data() + (first + static_cast<int64_t>(j)) * width;
      for (int64_t c = 0; c < width; ++c) sum[static_cast<size_t>(c)] += weights[j] * row[c];
    }
    double squares = 0;
    for (const float s : sum) squares += double{s} * s;
    return squares;
  }

  void JudgeQuery(int64_t position, int64_t head, Sums& sums) const {
    const int64_t width = spec_.key_width;
    const int64_t first = FirstVisible(position);
    const auto scale = static_cast<float>(spec_.scale);
    const float* query = seen_.queries + (position * spec_.heads + head) * width;
    Floats turned(query, query + width);
    for (int64_t c = 0; c < width; ++c) turned[static_cast<size_t>(c)] *= spread_[c];
    RotateHeads(turned.data(), 1, width);
    Floats scores(static_cast<size_t>(position + 1 - first));
    for (int64_t j = first; j <= position; ++j) {
      const float* key = seen_.keys + (j * spec_.kv_heads + kv_head_) * width;
      scores[static_cast<size_t>(j - first)] = scale * Dot(query, key, width);
    }
    const Floats weights = Weights(scores);
    sums.outputs += SquaredSum(weights, first, values_);
    for (size_t f = 0; f < key_changes_.size(); ++f) {
      Floats changed = scores;
      for (int64_t j = first; j <= position; ++j) {
        if (!ReadsCoarsely(key_forms_[f], spec_, position, j)) continue;
        changed[static_cast<size_t>(j - first)] +=
            scale * Dot(turned.data(), key_changes_[f].data() + j * width, width);
      }
      changed = Weights(std::move(changed));
      for (size_t j = 0; j < changed.size(); ++j) changed[j] -= weights[j];
      sums.keys[f] += SquaredSum(changed, first, values_);
    }
    for (size_t f = 0; f < value_changes_.size(); ++f) {
      Floats coarse = weights;
      for (int64_t j = first; j <= position; ++j) {
        if (!ReadsCoarsely(value_forms_[f], spec_, position, j)) {
          coarse[static_cast<size_t>(j - first)] = 0;
        }
      }
      sums.values[f] += SquaredSum(coarse, first, value_changes_[f]);
    }
  }

  const SeenKeys& seen_;
  const AttentionSpec& spec_;
  const int64_t kv_head_;
  const int64_t group_;
  const float* mean_;
  const float* spread_;
  const std::vector<StateForm> key_forms_ = KeyForms();
  const std::vector<StateForm> value_forms_ = ValueForms();
  Floats keys_;    // [tokens][key_width], transformed
  Floats values_;  // [tokens][value_width], rotated
  std::vector<Floats> key_changes_, value_changes_;
};

}  // namespace

std::vector<StateForm> KeyForms() { return Forms(RowTransform::kStandardized); }
std::vector<StateForm> ValueForms() { return Forms(RowTransform::kRotated); }

bool TakesForms(const AttentionSpec& attention) {
  const int64_t unit = InfoOf(kExactCodec).block_elements;
  return !attention.index && attention.key_width % unit == 0 && attention.value_width % unit == 0;
}

bool ReadsCoarsely(const StateForm& form, const AttentionSpec& attention, int64_t i, int64_t j) {
  if (!form.exact_ends) return true;
  const bool all = attention.lifetime.kind == Lifetime::Kind::kAll;
  return j < FirstExactBefore(i) && (!all || j >= kExactFirst);
}

FormMeter::FormMeter(const ModelSpec& model, TokenCount context, const KeyStandards& standards,
                     ThreadPool& pool)
    : context_(context), standards_(standards), pool_(pool) {
  errors_.layers.resize(model.layers.size());
  CAIRN_CHECK(standards.layers.size() == model.layers.size());
}

void FormMeter::OnKeys(const SeenKeys& seen) {
  const auto layer = static_cast<size_t>(seen.layer.value());
  const KeyStandards::Layer& standard = standards_.layers[layer];
  if (seen.keys == nullptr || seen.first_position != 0 || !TakesForms(*seen.spec)) return;
  if (standard.mean.empty() || errors_.layers[layer]) return;
  const int64_t heads = seen.spec->kv_heads;
  std::vector<HeadJudge::Sums> sums(static_cast<size_t>(heads));
  auto body = [&](int64_t head, int) {
    sums[static_cast<size_t>(head)] = HeadJudge(seen, standard, context_, head).Judge();
  };
  pool_.ParallelFor(heads, body);
  FormErrors::Layer& to = errors_.layers[layer].emplace();
  to.keys.resize(KeyForms().size());
  to.values.resize(ValueForms().size());
  double outputs = 0;
  for (const HeadJudge::Sums& one : sums) {
    outputs += one.outputs;
    for (size_t f = 0; f < to.keys.size(); ++f) to.keys[f] += one.keys[f];
    for (size_t f = 0; f < to.values.size(); ++f) to.values[f] += one.values[f];
  }
  if (outputs <= 0) outputs = 1;
  for (double& e : to.keys) e /= outputs;
  for (double& e : to.values) e /= outputs;
}

}  // namespace cairn
