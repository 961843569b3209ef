#include "cairn/models/decoder_weights.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <utility>

#include "cairn/kernels/dequantize.h"
#include "cairn/models/tensor_names.h"

namespace cairn {
namespace {

// Finds, checks and converts tensors of one file.
class Loader {
 public:
  Loader(const WeightFile& file, const ModelSpec& spec, ThreadPool& pool)
      : file_(file), spec_(spec), scheme_(NamingSchemeOf(file, spec)), pool_(pool) {}

  const NamingScheme& scheme() const { return scheme_; }

  Result<const TensorInfo*> Tensor(const std::string& name, std::vector<int64_t> shape) const {
    CAIRN_ASSIGN(const TensorInfo* tensor, file_.Require(name));
    if (tensor->shape != shape) {
      return Fail(ErrorCode::kCorrupt,
                  "{}: tensor {} has shape [{}], the model's config needs [{}]", file_.where(),
                  name, fmt::join(tensor->shape, ", "), fmt::join(shape, ", "));
    }
    return tensor;
  }

  Result<std::vector<float>> Vector(const std::string& name, int64_t width) const {
    CAIRN_ASSIGN(const TensorInfo* tensor, Tensor(name, {width}));
    std::vector<float> values(static_cast<size_t>(width));
    DequantizeRow(*tensor->dtype, tensor->bytes, values.data(), width);
    return values;
  }

  // Norm weights; stored around 0 where the spec says so.
  Result<std::vector<float>> Norm(const std::string& stem, int64_t width) const {
    CAIRN_ASSIGN(std::vector<float> weight, Vector(stem + ".weight", width));
    if (spec_.norm_weight_plus_one) {
      for (float& w : weight) w += 1.0f;
    }
    return weight;
  }

  Result<Linear> Matrix(const std::string& stem, int64_t rows, int64_t columns, bool bias) const {
    CAIRN_ASSIGN(const TensorInfo* tensor, Tensor(stem + ".weight", {rows, columns}));
    Linear linear;
    linear.matrix = PackedMatrix::Pack(*tensor->dtype, tensor->bytes, rows, columns, pool_);
    if (bias) {
      CAIRN_ASSIGN(linear.bias, Vector(stem + ".bias", rows));
    }
    return linear;
  }

  Result<AttentionWeights> Attention(LayerIndex layer, const AttentionSpec& spec) const {
    const TensorNames& names = *scheme_.names;
    const int64_t hidden = spec_.hidden;
    const auto at = [&](std::string_view stem) { return scheme_.Layer(layer, stem); };
    AttentionWeights weights;
    CAIRN_ASSIGN(weights.query,
                 Matrix(at(names.query), spec.heads * spec.key_width, hidden, spec.qkv_bias));
    CAIRN_ASSIGN(weights.key,
                 Matrix(at(names.key), spec.kv_heads * spec.key_width, hidden, spec.qkv_bias));
    CAIRN_ASSIGN(weights.value,
                 Matrix(at(names.value), spec.kv_heads * spec.value_width, hidden, spec.qkv_bias));
    CAIRN_ASSIGN(weights.output, Matrix(at(names.attention_output), hidden,
                                        spec.heads * spec.value_width, spec.output_bias));
    if (spec.query_key_norm) {
      CAIRN_ASSIGN(weights.query_norm, Norm(at(names.query_norm), spec.key_width));
      CAIRN_ASSIGN(weights.key_norm, Norm(at(names.key_norm), spec.key_width));
    }
    return weights;
  }

  Result<MlpWeights> Mlp(LayerIndex layer, const GatedMlpSpec& spec) const {
    const TensorNames& names = *scheme_.names;
    const auto at = [&](std::string_view stem) { return scheme_.Layer(layer, stem); };
    MlpWeights weights;
    CAIRN_ASSIGN(weights.gate, Matrix(at(names.gate), spec.intermediate, spec_.hidden, spec.bias));
    CAIRN_ASSIGN(weights.up, Matrix(at(names.up), spec.intermediate, spec_.hidden, spec.bias));
    CAIRN_ASSIGN(weights.down, Matrix(at(names.down), spec_.hidden, spec.intermediate, spec.bias));
    return weights;
  }

  Result<LayerWeights> Layer(LayerIndex layer) const {
    const LayerSpec& spec = spec_.layers[static_cast<size_t>(layer.value())];
    const TensorNames& names = *scheme_.names;
    const auto at = [&](std::string_view stem) { return scheme_.Layer(layer, stem); };
    LayerWeights weights;
    CAIRN_ASSIGN(weights.mixer_norm, Norm(at(names.mixer_norm), spec_.hidden));
    CAIRN_ASSIGN(weights.feed_forward_norm, Norm(at(names.feed_forward_norm), spec_.hidden));
    if (spec.branch_output_norms) {
      CAIRN_ASSIGN(weights.mixer_output_norm, Norm(at(names.mixer_output_norm), spec_.hidden));
      CAIRN_ASSIGN(weights.feed_forward_output_norm,
                   Norm(at(names.feed_forward_output_norm), spec_.hidden));
    }
    CAIRN_ASSIGN(weights.attention, Attention(layer, std::get<AttentionSpec>(spec.mixer)));
    CAIRN_ASSIGN(weights.mlp, Mlp(layer, std::get<GatedMlpSpec>(spec.feed_forward)));
    return weights;
  }

 private:
  const WeightFile& file_;
  const ModelSpec& spec_;
  const NamingScheme scheme_;
  ThreadPool& pool_;
};

}  // namespace

int64_t DecoderWeights::PackedBytes() const {
  int64_t bytes = head.matrix.bytes();
  for (const LayerWeights& layer : layers) {
    for (const Linear* linear :
         {&layer.attention.query, &layer.attention.key, &layer.attention.value,
          &layer.attention.output, &layer.mlp.gate, &layer.mlp.up, &layer.mlp.down}) {
      bytes += linear->matrix.bytes();
    }
  }
  return bytes;
}

Result<DecoderWeights> LoadDecoderWeights(std::unique_ptr<WeightFile> file, const ModelSpec& spec,
                                          ThreadPool& pool) {
  const Loader loader(*file, spec, pool);
  const NamingScheme& scheme = loader.scheme();
  DecoderWeights weights;
  CAIRN_ASSIGN(weights.embedding, loader.Tensor(scheme.Global(scheme.names->embedding) + ".weight",
                                                {spec.vocabulary, spec.hidden}));
  CAIRN_ASSIGN(weights.final_norm,
               loader.Norm(scheme.Global(scheme.names->final_norm), spec.hidden));
  for (size_t i = 0; i < spec.layers.size(); ++i) {
    CAIRN_ASSIGN(LayerWeights layer, loader.Layer(LayerIndex(static_cast<int32_t>(i))));
    weights.layers.push_back(std::move(layer));
  }
  const std::string head = spec.tied_head ? scheme.Global(scheme.names->embedding) : scheme.Head();
  CAIRN_ASSIGN(weights.head, loader.Matrix(head, spec.vocabulary, spec.hidden, false));
  file->DropPages();
  weights.file = std::move(file);
  return weights;
}

}  // namespace cairn
