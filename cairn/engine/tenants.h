// Tenants: who was served how much, so that those who ask a lot wait for those who ask little; and
// the key of each one's state.
//
// Each tenant has a counter of the tokens that were computed for it, as in VTC (Sheng et al. 2024,
// "Fairness in Serving Large Language Models"): the tenant with the least is next. Who has been
// away is lifted to the least of those that are there, so that nobody saves up a claim. Thread-
// compatible.
#ifndef CAIRN_ENGINE_TENANTS_H_
#define CAIRN_ENGINE_TENANTS_H_

#include <cstdint>
#include <string>
#include <unordered_map>

#include "cairn/spec/state_spec.h"
#include "cairn/state/state_key.h"

namespace cairn {

struct Tenant {
  std::string name;
  StateKey key;
  int64_t served = 0;
  int64_t active = 0;  // its generations
};

class Tenants {
 public:
  // As in VTC's experiments, a token of an answer counts like two of a prompt.
  static constexpr int64_t kPromptTokenCost = 1;
  static constexpr int64_t kAnswerTokenCost = 2;
  // So many that have nothing to do are remembered.
  static constexpr size_t kMaxIdle = 1024;

  // `identity`'s tenant is filled in for each. `spec` must outlive the tenants.
  Tenants(StateIdentity identity, const StateSpec& spec)
      : identity_(std::move(identity)), spec_(spec) {}

  // Of a tenant that needn't be there.
  StateKey StateKeyOf(const std::string& name) const;
  // A generation of the tenant begins; the reference is valid until it has left.
  Tenant& Enter(const std::string& name);
  void Leave(Tenant& tenant);

  static void Charge(Tenant& tenant, int64_t prompt_tokens, int64_t answer_tokens) {
    tenant.served += prompt_tokens * kPromptTokenCost + answer_tokens * kAnswerTokenCost;
  }
  size_t size() const { return tenants_.size(); }

 private:
  void ForgetOne();

  StateIdentity identity_;
  const StateSpec& spec_;
  std::unordered_map<std::string, Tenant> tenants_;  // nodes don't move
  size_t idle_ = 0;
  int64_t last_served_ = 0;  // of the last one that left nobody behind
};

}  // namespace cairn

#endif  // CAIRN_ENGINE_TENANTS_H_
