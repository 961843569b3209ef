#include "cairn/serve/server_info.h"

#include <algorithm>
#include <nlohmann/json.hpp>

namespace cairn {
namespace {

using Json = nlohmann::ordered_json;

std::string Dump(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

// The one that chats use; empty: there is none.
std::string ChatTemplateOf(const ServedModel& model) {
  if (model.chat == nullptr) return {};
  const auto& templates = model.tokenizer->chat_templates();
  const auto used = std::ranges::find(templates, "default", &NamedTemplate::name);
  return used == templates.end() ? std::string() : used->source;
}

// Of a request that names none; seed -1: a fresh one, n_predict -1: as many as fit.
Json ParamsJson(const ServedModel& model) {
  const SamplingOptions& sampling = model.defaults.sampling;
  const int64_t most = model.defaults.max_tokens;
  return {{"seed", -1},
          {"temperature", sampling.temperature},
          {"top_k", sampling.top_k},
          {"top_p", sampling.top_p},
          {"min_p", sampling.min_p},
          {"repeat_last_n", sampling.repetition_window},
          {"repeat_penalty", sampling.repetition_penalty},
          {"n_predict", most > 0 ? most : -1},
          {"max_tokens", most > 0 ? most : -1}};
}

}  // namespace

std::string HealthJson() { return R"({"status":"ok"})"; }

std::string ModelsJson(const ServedModel& model) {
  const Json meta = {{"n_vocab", model.tokenizer->vocab_size()},
                     {"n_ctx", model.context},
                     {"n_ctx_train", model.train_context},
                     {"n_params", model.parameters}};
  return Dump({{"object", "list"},
               {"data", Json::array({{{"id", model.name},
                                      {"object", "model"},
                                      {"created", model.created_unix_s},
                                      {"owned_by", "cairn"},
                                      {"meta", meta}}})}});
}

std::string PropsJson(const ServedModel& model) {
  Json props = {
      {"default_generation_settings", {{"n_ctx", model.context}, {"params", ParamsJson(model)}}},
      {"total_slots", model.answers_at_once},
      {"model_alias", model.name},
      {"model_path", model.file},
      {"modalities", {{"vision", false}, {"audio", false}}},
      {"chat_template", ChatTemplateOf(model)},
      {"build_info", model.fingerprint}};
  if (!model.state_forms.empty()) {
    props["state_forms"] = Json::parse(model.state_forms, nullptr, /*allow_exceptions=*/false);
  }
  return Dump(props);
}

}  // namespace cairn
