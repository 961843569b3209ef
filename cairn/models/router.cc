#include "cairn/models/router.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <utility>

#include "cairn/models/token_loop.h"

namespace cairn {
namespace {

constexpr int kLogits = 2;
constexpr int kScratch = 3;
constexpr float kOut = -std::numeric_limits<float>::infinity();

// In place; sums from index 0 upwards.
void Softmax(float* x, int64_t size) {
  const float largest = *std::max_element(x, x + size);
  float sum = 0;
  for (int64_t i = 0; i < size; ++i) {
    x[i] = std::exp(x[i] - largest);
    sum += x[i];
  }
  for (int64_t i = 0; i < size; ++i) x[i] /= sum;
}

float GroupScoreOf(RouterSpec::GroupScore kind, const float* scores, int64_t size) {
  float first = kOut;
  float second = kOut;
  for (int64_t i = 0; i < size; ++i) {
    if (scores[i] > first) {
      second = std::exchange(first, scores[i]);
    } else {
      second = std::max(second, scores[i]);
    }
  }
  return kind == RouterSpec::GroupScore::kTwoLargest && size > 1 ? first + second : first;
}

// Experts outside of the best groups get no chance. `groups` has room for a score of each.
void DropGroups(const RouterSpec& router, float* scores, int64_t experts, float* groups) {
  const int64_t size = experts / router.groups;
  for (int64_t g = 0; g < router.groups; ++g) {
    groups[g] = GroupScoreOf(router.group_score, scores + g * size, size);
  }
  for (int64_t g = 0; g < router.groups; ++g) {
    int64_t better = 0;
    for (int64_t other = 0; other < router.groups; ++other) {
      if (groups[other] > groups[g] || (groups[other] == groups[g] && other < g)) ++better;
    }
    if (better >= router.groups_kept) std::fill_n(scores + g * size, size, kOut);
  }
}

}  // namespace

void RouterScores(RouterSpec::Score score, const float* logits, int64_t experts, float* scores) {
  std::copy_n(logits, experts, scores);
  switch (score) {
    case RouterSpec::Score::kSoftmax:
      Softmax(scores, experts);
      return;
    case RouterSpec::Score::kPickedLogits:
      return;
    case RouterSpec::Score::kSigmoid:
      for (int64_t i = 0; i < experts; ++i) scores[i] = 1.0f / (1.0f + std::exp(-logits[i]));
      return;
    case RouterSpec::Score::kSqrtSoftplus:
      for (int64_t i = 0; i < experts; ++i) {
        const float l = logits[i];
        scores[i] = std::sqrt(l > 20.0f ? l : std::log1p(std::exp(l)));
      }
      return;
  }
}

void PickLargest(const float* scores, int64_t size, int64_t count, int32_t* picks) {
  int64_t held = 0;
  for (int64_t i = 0; i < size; ++i) {
    if (held == count && scores[i] <= scores[picks[held - 1]]) continue;
    int64_t at = held < count ? held++ : held - 1;
    for (; at > 0 && scores[i] > scores[picks[at - 1]]; --at) picks[at] = picks[at - 1];
    picks[at] = static_cast<int32_t>(i);
  }
}

Result<std::unique_ptr<Router>> LinearRouter::Load(const PartLoader& loader,
                                                   const MixtureSpec& spec, int64_t input) {
  auto router = std::make_unique<LinearRouter>();
  router->spec_ = spec;
  CAIRN_ASSIGN(router->gate_, loader.Matrix("mlp.gate", spec.experts, input, spec.router.bias));
  if (spec.router.choice_bias) {
    CAIRN_ASSIGN(router->choice_bias_,
                 loader.Raw("mlp.gate.e_score_correction_bias", spec.experts));
  }
  if (spec.router.token_table != 0) {
    const std::array<int64_t, 2> shape = {spec.router.token_table, spec.experts_per_token};
    CAIRN_ASSIGN(router->table_, loader.Integers("mlp.gate.tid2eid", shape));
    for (const int64_t expert : router->table_) {
      if (expert >= 0 && expert < spec.experts) continue;
      return Fail(ErrorCode::kCorrupt, "{}: tensor {} names expert {} of {}", loader.where(),
                  loader.NameOf("mlp.gate.tid2eid"), expert, spec.experts);
    }
  }
  return router;
}

// `scratch` has room for two scores an expert and one a group.
void LinearRouter::PickOne(const float* logits, int64_t token_id, float* scratch, int32_t* experts,
                           float* weights) const {
  const RouterSpec& router = spec_.router;
  const int64_t count = spec_.experts_per_token;
  float* scores = scratch;
  float* choice = scores + spec_.experts;
  RouterScores(router.score, logits, spec_.experts, scores);
  if (!table_.empty()) {
    for (int64_t i = 0; i < count; ++i) {
      experts[i] = static_cast<int32_t>(table_[static_cast<size_t>(token_id * count + i)]);
    }
  } else {
    for (int64_t i = 0; i < spec_.experts; ++i) {
      choice[i] = scores[i] + (choice_bias_.empty() ? 0.0f : choice_bias_[static_cast<size_t>(i)]);
    }
    if (router.groups > 1) DropGroups(router, choice, spec_.experts, choice + spec_.experts);
    PickLargest(choice, spec_.experts, count, experts);
  }
  float sum = 0;
  for (int64_t i = 0; i < count; ++i) sum += weights[i] = scores[experts[i]];
  if (router.score == RouterSpec::Score::kPickedLogits) Softmax(weights, count);
  for (int64_t i = 0; i < count; ++i) {
    if (router.normalise) weights[i] /= sum + 1e-20f;
    weights[i] *= static_cast<float>(router.scale);
  }
}

void LinearRouter::Route(const Pass& pass, const float* x, std::span<const int64_t> rows,
                         Picks& picks) {
  const auto count = static_cast<int64_t>(rows.size());
  const int64_t input = gate_.matrix.columns();
  const int64_t scratch_floats = 2 * spec_.experts + spec_.router.groups;
  float* logits = pass.work->Floats(kLogits, count * spec_.experts);
  float* scratch = pass.work->Floats(kScratch, count * scratch_floats);
  Activations& activations = pass.work->activations(0);
  activations.Set(x, count, input, input);
  const MatMulTask task = gate_.Into(logits, kFinePrecision);
  MatMul(activations, {&task, 1}, *pass.pool);
  ForTokens(*pass.pool, count, [&](int64_t t) {
    const int64_t id = pass.ids[static_cast<size_t>(rows[static_cast<size_t>(t)])].value();
    PickOne(logits + t * spec_.experts, table_.empty() ? 0 : id, scratch + t * scratch_floats,
            picks.experts.data() + t * spec_.experts_per_token,
            picks.weights.data() + t * spec_.experts_per_token);
  });
}

}  // namespace cairn
