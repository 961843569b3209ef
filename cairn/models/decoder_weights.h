// The weights of a decoder, checked against its ModelSpec and packed for the kernels.
//
// Immutable after loading; thread-safe.
#ifndef CAIRN_MODELS_DECODER_WEIGHTS_H_
#define CAIRN_MODELS_DECODER_WEIGHTS_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "cairn/base/status.h"
#include "cairn/base/thread_pool.h"
#include "cairn/kernels/packed_matrix.h"
#include "cairn/spec/model_spec.h"
#include "cairn/weights/weight_file.h"

namespace cairn {

// A matrix and its bias (empty: none).
struct Linear {
  PackedMatrix matrix;
  std::vector<float> bias;

  const float* bias_or_null() const { return bias.empty() ? nullptr : bias.data(); }
};

struct AttentionWeights {
  Linear query;                   // [heads * key_width, hidden]
  Linear key;                     // [kv_heads * key_width, hidden]
  Linear value;                   // [kv_heads * value_width, hidden]
  Linear output;                  // [hidden, heads * value_width]
  std::vector<float> query_norm;  // [key_width], empty without query_key_norm
  std::vector<float> key_norm;
};

struct MlpWeights {
  Linear gate;  // [intermediate, hidden]
  Linear up;    // [intermediate, hidden]
  Linear down;  // [hidden, intermediate]
};

struct LayerWeights {
  std::vector<float> mixer_norm;  // [hidden]
  AttentionWeights attention;
  std::vector<float> mixer_output_norm;  // [hidden], empty without branch_output_norms
  std::vector<float> feed_forward_norm;
  MlpWeights mlp;
  std::vector<float> feed_forward_output_norm;
};

struct DecoderWeights {
  std::unique_ptr<WeightFile> file;       // keeps the embedding's bytes mapped
  const TensorInfo* embedding = nullptr;  // [vocabulary, hidden], read row by row
  std::vector<LayerWeights> layers;
  std::vector<float> final_norm;
  Linear head;  // [vocabulary, hidden]; packed from the embedding when tied

  int64_t PackedBytes() const;
};

// Errors name the tensor: missing, of the wrong shape, or of a type that can't be used.
Result<DecoderWeights> LoadDecoderWeights(std::unique_ptr<WeightFile> file, const ModelSpec& spec,
                                          ThreadPool& pool);

}  // namespace cairn

#endif  // CAIRN_MODELS_DECODER_WEIGHTS_H_
