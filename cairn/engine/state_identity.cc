#include "cairn/engine/state_identity.h"

#include <optional>
#include <span>
#include <utility>
#include <variant>
#include <vector>

#include "cairn/base/sha256.h"
#include "cairn/spec/rope.h"

namespace cairn {
namespace {

template <class Mixer>
std::optional<Rope> RopeOf(const Mixer& mixer) {
  if constexpr (requires { mixer.rope; }) {
    return mixer.rope;
  } else {
    return std::nullopt;
  }
}

}  // namespace

StateIdentity IdentityOf(const ModelSpec& spec, TokenCount context, std::string weights) {
  Sha256 positions;
  for (const LayerSpec& layer : spec.layers) {
    const std::optional<Rope> rope =
        std::visit([](const auto& mixer) { return RopeOf(mixer); }, layer.mixer);
    if (!rope) continue;
    std::vector<float> turns = RopeFrequencies(*rope, context.value());
    turns.push_back(RopeAmplitude(*rope));
    positions.Update(std::as_bytes(std::span(turns)));
  }
  const Sha256::Digest digest = positions.Finish();
  StateIdentity identity;
  identity.model = std::move(weights);
  identity.positions.assign(reinterpret_cast<const char*>(digest.data()), digest.size());
  return identity;
}

}  // namespace cairn
