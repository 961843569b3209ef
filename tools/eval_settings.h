// The settings of `cairn eval` from its flags, and the models that compute under them.
#ifndef CAIRN_TOOLS_EVAL_SETTINGS_H_
#define CAIRN_TOOLS_EVAL_SETTINGS_H_

#include <memory>
#include <string>
#include <vector>

#include "cairn/eval/setting.h"
#include "cairn/policies/token_policy.h"
#include "tools/model_args.h"

namespace cairn {

// A stored form of keys and one of values, by their names; or those that are chosen for a quality.
struct FormPair {
  std::string keys;
  std::string values;
  std::string quality = {};  // instead of both: as --state-quality has it

  std::string Name() const {
    if (!quality.empty()) return quality;
    return keys == values ? keys : keys + "/" + values;
  }
  bool operator==(const FormPair&) const = default;
};

// The forms in pairs. Without values they are as the keys; one name stands for as many as the other
// has. Errors: lists of other lengths, names of no form, a pair twice.
Result<std::vector<FormPair>> FormPairsOf(const std::vector<std::string>& keys,
                                          const std::vector<std::string>& values);

// One more for each of these qualities. Errors: no such quality, one twice.
Status AddQualities(const std::vector<std::string>& qualities, std::vector<FormPair>& forms);

// A model for each form of a group; a setting for each form alone, and with each token policy.
struct OpenedSettings {
  std::vector<std::unique_ptr<Model>> models;
  std::vector<std::unique_ptr<TokenPolicy>> policies;
  std::vector<EvalSetting> settings;
};
Result<OpenedSettings> OpenSettings(const ModelArgs& args, std::span<const FormPair> forms,
                                    std::span<const PolicySettings> policies, ThreadPool& pool);

// Groups of forms whose models, and the reference's, are in memory at once; each at least one.
std::vector<std::span<const FormPair>> GroupsOf(std::span<const FormPair> forms, Bytes model_bytes);

}  // namespace cairn

#endif  // CAIRN_TOOLS_EVAL_SETTINGS_H_
