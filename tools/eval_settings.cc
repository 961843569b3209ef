#include "tools/eval_settings.h"

#include <algorithm>
#include <utility>

#include "cairn/eval/form_search.h"

namespace cairn {
namespace {

// Weights in memory at once, those of the reference with them: each form has a model of its own.
constexpr Bytes kWeightsAtOnce(int64_t{4} << 30);

}  // namespace

Result<std::vector<FormPair>> FormPairsOf(const std::vector<std::string>& keys,
                                          const std::vector<std::string>& values) {
  const size_t count = std::max(keys.size(), values.size());
  if ((keys.size() != count && keys.size() != 1) || (values.size() != count && values.size() > 1)) {
    return Fail(ErrorCode::kInvalidArgument,
                "-ctk names {} forms and -ctv {}: they go in pairs, so as many, or one of either, "
                "would be right",
                keys.size(), values.size());
  }
  std::vector<FormPair> forms;
  for (size_t i = 0; i < count; ++i) {
    const std::string& key = keys.size() == 1 ? keys[0] : keys[i];
    const std::string& value = values.empty() ? key : values.size() == 1 ? values[0] : values[i];
    ModelArgs named;
    named.key_type = key;
    named.value_type = value;
    CAIRN_TRY(StateCodecsOf(named));
    FormPair form = {key, value};
    if (std::ranges::find(forms, form) != forms.end()) {
      return Fail(ErrorCode::kInvalidArgument, "-ctk, -ctv: {} is named twice", form.Name());
    }
    forms.push_back(std::move(form));
  }
  return forms;
}

Status AddQualities(const std::vector<std::string>& qualities, std::vector<FormPair>& forms) {
  for (const std::string& quality : qualities) {
    CAIRN_TRY(StateGoalOf(quality));
    if (std::ranges::find(forms, quality, &FormPair::quality) != forms.end()) {
      return Fail(ErrorCode::kInvalidArgument, "--state-quality: {} is named twice", quality);
    }
    forms.push_back({.keys = {}, .values = {}, .quality = quality});
  }
  return {};
}

Result<OpenedSettings> OpenSettings(const ModelArgs& args, std::span<const FormPair> forms,
                                    std::span<const PolicySettings> policies, ThreadPool& pool) {
  OpenedSettings opened;
  for (const PolicySettings& policy : policies) {
    opened.policies.push_back(MakeTokenPolicy(policy));
  }
  for (const FormPair& form : forms) {
    ModelArgs own = args;
    own.state_quality = form.quality;
    if (form.quality.empty()) {
      own.key_type = form.keys;
      own.value_type = form.values;
    } else {
      own.key_type = own.value_type = ModelArgs().key_type;
    }
    CAIRN_ASSIGN(opened.models.emplace_back(), LoadModelOn(own, pool));
    const Model* model = opened.models.back().get();
    opened.settings.push_back({.name = form.Name(), .model = opened.models.back().get()});
    for (const auto& policy : opened.policies) {
      CAIRN_TRY(model->WatchRows(*policy));
      opened.settings.push_back({.name = form.Name() + " " + policy->settings().Name(),
                                 .model = opened.models.back().get(),
                                 .policy = policy.get()});
    }
  }
  return opened;
}

std::vector<std::span<const FormPair>> GroupsOf(std::span<const FormPair> forms,
                                                Bytes model_bytes) {
  const int64_t models = kWeightsAtOnce.value() / std::max<int64_t>(1, model_bytes.value());
  const auto size = static_cast<size_t>(std::clamp(models - 1, int64_t{1}, int64_t{64}));
  std::vector<std::span<const FormPair>> groups;
  for (size_t first = 0; first < forms.size(); first += size) {
    groups.push_back(forms.subspan(first, std::min(size, forms.size() - first)));
  }
  return groups;
}

}  // namespace cairn
