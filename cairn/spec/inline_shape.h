// A model given by its shape instead of a file: "layers=32,kv_heads=8,head_dim=128".
//
// With model_type=.. the keys go to that family's reader, as if they stood in a config.json: short
// keys (facts.h) or keys of the config. Without it the layers are attention of one kind:
//
//     layers=32, kv_heads=8, head_dim=128      grouped heads; value_dim where values differ
//     heads=32, hidden=4096                    head_dim is hidden / heads; kv_heads is heads
//     latent=512, rope=64                      one latent row for all heads
//     index=128                                an index key beside it
//     window=4096 or chunk=8192                what each layer keeps; full_every=6: each sixth all
//     share=2                                  groups of two layers keep one cache
//     vocab, intermediate, context, tied, experts, experts_per_token, expert_intermediate,
//     shared_intermediate
//
// The state is exact; parameters are counted where the shape tells them all. Pure functions;
// thread-safe.
#ifndef CAIRN_SPEC_INLINE_SHAPE_H_
#define CAIRN_SPEC_INLINE_SHAPE_H_

#include <string>
#include <string_view>

#include "cairn/base/status.h"
#include "cairn/spec/model_spec.h"

namespace cairn {

// What ModelSpecFromConfig reads; without model_type in the shape it says model_type "shape".
Result<std::string> ConfigJsonOfShape(std::string_view shape);
Result<ModelSpec> ModelFromShape(std::string_view shape);

}  // namespace cairn

#endif  // CAIRN_SPEC_INLINE_SHAPE_H_
