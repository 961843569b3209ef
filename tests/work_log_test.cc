// What kernels note in a pool's log against what sizing predicts from the model's description.
#include "cairn/base/work_log.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <variant>
#include <vector>

#include "cairn/sizing/bounds_flops.h"
#include "tests/model_for_tests.h"

namespace cairn {
namespace {

// Attention's operations over all arithmetics.
int64_t AttentionOperations(const WorkLog& log) {
  int64_t sum = 0;
  for (const int64_t count : log[WorkKind::kAttention].operations.counts) sum += count;
  return sum;
}

bool IsAllSoftmax(const ModelSpec& spec) {
  return std::ranges::all_of(spec.layers, [](const LayerSpec& layer) {
    const auto* attention = std::get_if<AttentionSpec>(&layer.mixer);
    return attention != nullptr && !attention->index;
  });
}

bool HasExperts(const ModelSpec& spec) {
  return std::ranges::any_of(spec.layers, [](const LayerSpec& layer) {
    return std::holds_alternative<MixtureSpec>(layer.feed_forward);
  });
}

}  // namespace

TEST_CASE("the operations that attention notes are those that sizing predicts") {
  for (const std::string& name : GoldenNames()) {
    CAPTURE(name);
    const Golden golden = ReadGolden(name);
    LoadedModel loaded(GoldenFolder(name), {}, 1);
    if (!IsAllSoftmax(loaded.model().spec())) continue;
    const auto tokens = static_cast<int64_t>(golden.prompt.size());
    const auto id = loaded.store().Create();
    REQUIRE(id.has_value());
    const auto prompt = std::span(golden.prompt);
    loaded.Feed(*id, prompt.first(5), 5);

    WorkLog log;
    loaded.pool().set_work_log(&log);
    loaded.Feed(*id, prompt.subspan(5), 16);
    loaded.pool().set_work_log(nullptr);
    const Flops predicted =
        PrefillFlops(loaded.model().spec(), 0, TokenCount(tokens), TokenCount(5));
    CHECK_EQ(static_cast<double>(AttentionOperations(log)), predicted.attention);
    CHECK_GT(log[WorkKind::kMatrixProduct].calls, 0);
    CHECK_GT(log[WorkKind::kMatrixProduct].weight_bytes, 0);
    loaded.store().Release(*id);
  }
}

// Whose router serves a layer's start and its end.
bool UsesARouterTwice(const ModelSpec& spec) {
  return std::holds_alternative<AltUpSpec>(spec.residual);
}

TEST_CASE("a step of a model without experts reads every packed matrix once") {
  for (const std::string& name : GoldenNames()) {
    CAPTURE(name);
    LoadedModel loaded(GoldenFolder(name), {}, 1);
    if (HasExperts(loaded.model().spec()) || UsesARouterTwice(loaded.model().spec())) continue;
    const auto id = loaded.store().Create();
    REQUIRE(id.has_value());
    WorkLog log;
    loaded.pool().set_work_log(&log);
    const std::vector<TokenId> token = {TokenId(1)};
    loaded.Feed(*id, token, 1);
    loaded.pool().set_work_log(nullptr);
    CHECK_EQ(log[WorkKind::kMatrixProduct].weight_bytes, loaded.model().weight_bytes().value());
    loaded.store().Release(*id);
  }
}

}  // namespace cairn
