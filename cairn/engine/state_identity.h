// What a model's state depends on besides the tokens, for its key (cairn/state/state_key.h).
#ifndef CAIRN_ENGINE_STATE_IDENTITY_H_
#define CAIRN_ENGINE_STATE_IDENTITY_H_

#include <string>

#include "cairn/base/ids.h"
#include "cairn/spec/model_spec.h"
#include "cairn/state/state_key.h"

namespace cairn {

// `weights` is the fingerprint of the model's files. `context` as in ModelOptions: some models turn
// the keys of long sequences otherwise, so how fast each layer's pairs turn is part of it.
StateIdentity IdentityOf(const ModelSpec& spec, TokenCount context, std::string weights);

}  // namespace cairn

#endif  // CAIRN_ENGINE_STATE_IDENTITY_H_
