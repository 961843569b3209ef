// Attention and Mamba in one layer: both read the same vector, what they make is added.
//
// Thread safety: one call at a time.
#include <algorithm>
#include <memory>
#include <utility>

#include "cairn/kernels/ops.h"
#include "cairn/models/parts.h"
#include "cairn/models/token_loop.h"

namespace cairn {
namespace {

constexpr int kScaled = Workspace::kOuter;
constexpr int kAttended = Workspace::kOuter + 1;

class BesideMixer final : public Mixer {
 public:
  BesideMixer(const AttentionBesideMambaSpec& spec, int64_t hidden,
              std::unique_ptr<Mixer> attention, std::unique_ptr<Mixer> mamba)
      : spec_(spec), hidden_(hidden), attention_(std::move(attention)), mamba_(std::move(mamba)) {}

  void Run(const Pass& pass, const float* normed, std::span<const int64_t> rows,
           float* out) override {
    const float* input = normed;
    if (spec_.attention_input_factor != 1) {
      float* scaled = pass.work->Floats(kScaled, pass.tokens * hidden_);
      std::copy_n(normed, pass.tokens * hidden_, scaled);
      Scale(scaled, static_cast<float>(spec_.attention_input_factor), pass.tokens * hidden_);
      input = scaled;
    }
    const auto count = static_cast<int64_t>(rows.size());
    float* attended = pass.work->Floats(kAttended, count * hidden_);
    attention_->Run(pass, input, rows, attended);
    mamba_->Run(pass, normed, rows, out);
    ForTokens(*pass.pool, count, [&](int64_t t) {
      float* from = attended + t * hidden_;
      float* to = out + t * hidden_;
      Scale(from, static_cast<float>(spec_.attention_output_factor), hidden_);
      Scale(to, static_cast<float>(spec_.mamba_output_factor), hidden_);
      AddTo(to, from, hidden_);
    });
  }

 private:
  const AttentionBesideMambaSpec& spec_;
  const int64_t hidden_;
  std::unique_ptr<Mixer> attention_;
  std::unique_ptr<Mixer> mamba_;
};

}  // namespace

MixerOr MakeAttentionBesideMamba(const LayerBuild& build, const AttentionBesideMambaSpec& spec) {
  CAIRN_ASSIGN(std::unique_ptr<Mixer> attention, MakeAttention(build, spec.attention));
  CAIRN_ASSIGN(std::unique_ptr<Mixer> mamba, MakeMamba(build, spec.mamba));
  return std::make_unique<BesideMixer>(spec, build.model.hidden, std::move(attention),
                                       std::move(mamba));
}

}  // namespace cairn
