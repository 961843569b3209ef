// What a model answers when nothing is reused, to compare with what it answers when something is.
#ifndef CAIRN_TESTS_COLD_RUN_FOR_TESTS_H_
#define CAIRN_TESTS_COLD_RUN_FOR_TESTS_H_

#include <doctest/doctest.h>

#include <span>
#include <string>
#include <vector>

#include "cairn/engine/state_identity.h"
#include "cairn/state/state_key.h"
#include "tests/model_for_tests.h"

namespace cairn {

inline StateKey GoldenKey(LoadedModel& loaded, const std::string& tenant = "") {
  StateIdentity identity = IdentityOf(loaded.model().spec(), TokenCount(0), "a golden");
  identity.tenant = tenant;
  return KeyOf(identity, loaded.model().layout().spec());
}

struct Cold {
  std::vector<float> logits;
  StateBytes state;

  Cold(LoadedModel& loaded, std::span<const TokenId> prompt) {
    const SequenceId id = *loaded.store().Create();
    logits = loaded.Feed(id, prompt, 512);
    state = loaded.StateOf(id);
    loaded.store().Release(id);
  }

  // CHECKs the rest of the prompt on a sequence that has read some of it.
  void Continue(LoadedModel& loaded, SequenceId id, std::span<const TokenId> prompt) const {
    const int64_t read = loaded.store().Length(id).value();
    const std::vector<float> rest = loaded.Feed(id, prompt.subspan(static_cast<size_t>(read)), 512);
    CHECK(SameBits(rest, std::span(logits).last(rest.size())));
    CHECK(loaded.StateOf(id) == state);
  }
};

}  // namespace cairn

#endif  // CAIRN_TESTS_COLD_RUN_FOR_TESTS_H_
