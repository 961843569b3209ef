// What tests across folders share: loading a model, feeding it, reading what it must answer.
#ifndef CAIRN_TESTS_MODEL_FOR_TESTS_H_
#define CAIRN_TESTS_MODEL_FOR_TESTS_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "cairn/base/thread_pool.h"
#include "cairn/models/model.h"
#include "cairn/state/state_store.h"

namespace cairn {

// One of tests/golden: a tiny model with what it must compute.
struct Golden {
  std::string name;
  double logit_tolerance = 0;
  std::vector<TokenId> prompt;
  std::vector<float> logits;         // [prompt][vocabulary]
  std::vector<TokenId> greedy;       // tokens chosen after the prompt
  std::vector<float> greedy_logits;  // [greedy][vocabulary], what each was chosen from
  // Content bytes of a float32 state after 1, 2, ... tokens, and of each layer alone.
  std::vector<int64_t> state_bytes;
  std::vector<std::vector<int64_t>> layer_state_bytes;
  int64_t spare_bytes = 0;  // of these, that the reference keeps and may not need
};

// Names of the goldens in tests/golden, in order; the engine runs them all.
std::vector<std::string> GoldenNames();
std::string GoldenFolder(const std::string& name);
ModelSpec GoldenSpec(const std::string& name);
// REQUIREs that the files are there and well-formed.
Golden ReadGolden(const std::string& name);

// State bytes of a sequence by (class, logical block).
using StateBytes = std::map<std::pair<int32_t, int64_t>, std::vector<std::byte>>;

// A model with its threads and a store for a few sequences.
class LoadedModel {
 public:
  LoadedModel(const std::string& path, StateCodecs codecs, int threads,
              const KeyStandards& standards = {});
  // The weights of the path in a model that `spec` describes.
  LoadedModel(const std::string& path, ModelSpec spec, StateCodecs codecs, int threads);

  Model& model() { return *model_; }
  StateStore& store() { return *store_; }
  ThreadPool& pool() { return *pool_; }
  int64_t vocabulary() const { return model_->spec().vocabulary; }

  // Feeds `tokens` in chunks; returns the logits of all of them.
  std::vector<float> Feed(SequenceId id, std::span<const TokenId> tokens, int64_t chunk);
  StateBytes StateOf(SequenceId id) const;

 private:
  void Keep(Result<std::unique_ptr<Model>> model);

  std::unique_ptr<ThreadPool> pool_;
  std::unique_ptr<Model> model_;
  std::unique_ptr<StateStore> store_;
};

bool SameBits(std::span<const float> a, std::span<const float> b);

}  // namespace cairn

#endif  // CAIRN_TESTS_MODEL_FOR_TESTS_H_
