#include "cairn/spec/ngrams_config.h"

#include <fmt/format.h>

#include <algorithm>
#include <variant>
#include <vector>

#include "cairn/spec/limits.h"

namespace cairn {
namespace {

constexpr int64_t kMaxNgram = 16;
constexpr int64_t kMaxRows = int64_t{1} << 31;

bool IsPrime(int64_t number) {
  if (number % 2 == 0) return number == 2;
  for (int64_t divisor = 3; divisor * divisor <= number; divisor += 2) {
    if (number % divisor == 0) return false;
  }
  return number > 1;
}

// The sizes of tables: primes from `next` on, no two the same.
class TableSizes {
 public:
  explicit TableSizes(int64_t base) : next_(base) {}

  int64_t SumOfNext(int64_t tables) {
    int64_t rows = 0;
    for (int64_t i = 0; i < tables; ++i) {
      while (!IsPrime(next_)) ++next_;
      rows += next_++;
    }
    return rows;
  }

 private:
  int64_t next_;
};

Result<NgramSpec> ShapeFromConfig(const HfConfig& config, int64_t hidden, int64_t streams) {
  NgramSpec ngram;
  CAIRN_ASSIGN(const int64_t size, config.IntOr("ngram_size", {2, kMaxNgram}, 3));
  CAIRN_ASSIGN(ngram.kernel, config.IntOr("ple_conv_kernel_size", {1, 1024}, 4));
  ngram.history = size - 1;
  ngram.channels = streams * hidden;
  ngram.conv_history = (ngram.kernel - 1) * size;
  CAIRN_ASSIGN(ngram.heads, config.IntOr("heads_per_ngram", {1, kMaxNgramTables}, 8));
  CAIRN_ASSIGN(ngram.width, config.IntOr("ple_embed_dim", {1, kMaxHidden}, hidden));
  if (ngram.width % ngram.Tables() != 0) {
    return config.Wrong("ple_embed_dim", fmt::format("a multiple of {} tables", ngram.Tables()));
  }
  return ngram;
}

int64_t ParametersOf(const NgramSpec& ngram, int64_t hidden) {
  const int64_t tables = ngram.rows * (ngram.width / ngram.Tables());
  const int64_t hash = ngram.history + 1 + 2 * ngram.Tables();  // multipliers, sizes and offsets
  const int64_t matrices = ngram.width * (ngram.channels + hidden);  // a key a stream, one value
  return tables + hash + matrices + ngram.channels * (ngram.kernel + 3);
}

// Counted from 1, ascending.
Result<std::vector<int64_t>> ListedLayers(const HfConfig& config, const ModelSpec& model) {
  if (!config.Has("ple_layer_ids")) return std::vector<int64_t>();
  const auto layers = static_cast<int64_t>(model.layers.size());
  CAIRN_ASSIGN(std::vector<int64_t> listed,
               config.IntsUpTo("ple_layer_ids", model.layers.size(), {1, layers}));
  std::ranges::sort(listed);
  if (std::ranges::adjacent_find(listed) != listed.end()) {
    return config.Wrong("ple_layer_ids", "each layer at most once");
  }
  return listed;
}

}  // namespace

Status AddNgrams(const HfConfig& config, ModelSpec& model) {
  CAIRN_ASSIGN(const std::vector<int64_t> listed, ListedLayers(config, model));
  if (listed.empty()) return {};
  const int64_t streams = std::get<GatedStreamsSpec>(model.residual).streams;
  CAIRN_ASSIGN(NgramSpec ngram, ShapeFromConfig(config, model.hidden, streams));
  if (static_cast<int64_t>(listed.size()) * ngram.Tables() > kMaxNgramTables) {
    return config.Wrong("heads_per_ngram",
                        fmt::format("at most {} tables in all", kMaxNgramTables));
  }
  CAIRN_ASSIGN(const int64_t base,
               config.IntOr("ngram_vocab_size_base", {2, kMaxRows}, 20'000'000));
  CAIRN_ASSIGN(const int64_t multiple,
               config.IntOr("make_ngram_vocab_size_divisible_by", {1, 1 << 20}, 128));
  TableSizes sizes(base);
  for (const int64_t number : listed) {
    LayerSpec& layer = model.layers[static_cast<size_t>(number - 1)];
    ngram.rows = (sizes.SumOfNext(ngram.Tables()) + multiple - 1) / multiple * multiple;
    layer.ngram = ngram;
    layer.other_parameters += ParametersOf(ngram, model.hidden);
  }
  return {};
}

Result<int64_t> EndTokenOfNgrams(const HfConfig& config) {
  constexpr IntRange kIds = {0, kMaxVocabulary};
  if (!config.ListSize("eos_token_id")) return config.Int("eos_token_id", kIds);
  CAIRN_ASSIGN(const std::vector<int64_t> ids, config.IntsUpTo("eos_token_id", 1 << 10, kIds));
  if (ids.empty()) return config.Wrong("eos_token_id", "a token");
  return ids.front();
}

}  // namespace cairn
