// What a model's tensors are called in its file.
//
// Parts ask for a tensor by its role, which is spelled as most Hugging Face files spell the tensor:
// "self_attn.q_proj". A family, and GGUF, rename roles: a row for each name that differs. Pure data
// and functions; thread-safe.
#ifndef CAIRN_MODELS_TENSOR_NAMES_H_
#define CAIRN_MODELS_TENSOR_NAMES_H_

#include <span>
#include <string>
#include <string_view>

#include "cairn/base/ids.h"
#include "cairn/spec/model_spec.h"
#include "cairn/weights/weight_file.h"

namespace cairn {

// A role, or with a trailing dot the beginning of roles, and what stands in its place.
struct Rename {
  std::string_view role;
  std::string_view name;
};

// A row of the table in tensor_names.cc, which the family_names_*.cc files hold. Families that
// follow Hugging Face's habits need none.
struct FamilyTensors {
  std::string_view family;                        // ModelSpec::family
  std::span<const Rename> hugging_face = {};      // looked at before the general rows
  std::span<const Rename> gguf = {};              // the same
  std::span<const std::string_view> unread = {};  // parts of names: such tensors needn't be read
  // Stacks of experts in Hugging Face files: [in, out] each, gate and up columns in turn.
  bool transposed_experts = false;
  bool interleaved_experts = false;
  // GGUF files hold the delta rule's value heads so that head v reads key head v % key heads;
  // elsewhere neighbours share one.
  bool key_heads_in_turn = false;
};

class TensorNames {
 public:
  TensorNames(const WeightFile& file, const ModelSpec& spec);

  // Outside of the layers: "embed_tokens", "norm", ...
  std::string Global(std::string_view role) const;
  std::string Layer(LayerIndex layer, std::string_view role) const;
  // The head lies beside the model as often as in it.
  std::string Head() const;
  // A tensor of another tower, of layers that aren't run, or that the config determines.
  bool MayStayUnread(std::string_view name) const;
  bool is_gguf() const { return gguf_; }
  // Null: the family has no row.
  const FamilyTensors* family() const { return family_; }

 private:
  std::string Resolve(std::string_view role) const;
  bool BelongsToLaterLayer(std::string_view name) const;

  const WeightFile& file_;
  const ModelSpec& spec_;
  bool gguf_ = false;
  const FamilyTensors* family_ = nullptr;
  std::string prefix_;  // of all tensors of the text model: "model.", ...
};

}  // namespace cairn

#endif  // CAIRN_MODELS_TENSOR_NAMES_H_
