// Catalogue: Llama and models of its publisher.
// Data only; catalog.h says what the fields mean.
#ifndef CAIRN_SPEC_CATALOG_LLAMA_H_
#define CAIRN_SPEC_CATALOG_LLAMA_H_

#include <array>

#include "cairn/spec/catalog.h"

namespace cairn {

// clang-format off
inline constexpr auto kCatalogLlama = std::to_array<CatalogEntry>({
    {"codellama/CodeLlama-7b-hf", "CodeLlama-7b", CatalogSource::kConfig,
     "llama layers=32 hidden=4096 heads=32 kv_heads=32 intermediate=11008 vocab=32016 "
     "context=16384 tied=false"},
    {"codellama/CodeLlama-34b-Instruct-hf",
     "CodeLlama-34b, CodeLlama-34b-Instruct", CatalogSource::kConfig,
     "llama layers=48 hidden=8192 heads=64 kv_heads=8 intermediate=22016 vocab=32000 "
     "context=16384 tied=false"},
    {"huggyllama/llama-7b", "Llama-1-7B", CatalogSource::kCopy,
     "llama layers=32 hidden=4096 heads=32 intermediate=11008 vocab=32000 "
     "max_sequence_length=2048"},
    {"llava-hf/llava-1.5-7b-hf", "llava-1.5-7b", CatalogSource::kConfig,
     "llava vocab=32064 text_config.vocab=32064 text_config.context=4096 "
     "text_config.model_type=llama tied=false"},
    {"meta-llama/Llama-2-7b-hf", "Llama-2-7b", CatalogSource::kConfig,
     "llama layers=32 hidden=4096 heads=32 kv_heads=32 intermediate=11008 vocab=32000 "
     "context=4096 tied=false"},
    {"meta-llama/Llama-2-13b-hf", "Llama-2-13b", CatalogSource::kConfig,
     "llama layers=40 hidden=5120 heads=40 kv_heads=40 intermediate=13824 vocab=32000 "
     "context=4096 tied=false"},
    {"meta-llama/Llama-2-70b-hf", "Llama-2-70b", CatalogSource::kConfig,
     "llama layers=80 hidden=8192 heads=64 kv_heads=8 intermediate=28672 vocab=32000 cont"
     "ext=4096 "
     "tied=false"},
    {"meta-llama/Llama-3.1-8B",
     "Meta-Llama-3.1-8B, Llama-3.1-8B-Instruct", CatalogSource::kConfig,
     "llama layers=32 hidden=4096 heads=32 kv_heads=8 intermediate=14336 vocab=128256 "
     "context=131072 attention_bias=false mlp_bias=false tied=false"},
    {"meta-llama/Llama-3.1-70B",
     "Meta-Llama-3.1-70B, Llama-3.1-70B-Instruct", CatalogSource::kConfig,
     "llama layers=80 hidden=8192 heads=64 kv_heads=8 intermediate=28672 vocab=128256 "
     "context=131072 attention_bias=false mlp_bias=false tied=false"},
    {"meta-llama/Llama-3.1-405B",
     "Meta-Llama-3.1-405B, Llama-3.1-405B-Instruct", CatalogSource::kConfig,
     "llama layers=126 hidden=16384 heads=128 kv_heads=8 intermediate=53248 vocab=128256 "
     "context=131072 attention_bias=false mlp_bias=false tied=false"},
    {"meta-llama/Llama-3.2-1B-Instruct", "Llama-3.2-1B", CatalogSource::kConfig,
     "llama layers=16 hidden=2048 heads=32 kv_heads=8 head_dim=64 intermediate=8192 vocab"
     "=128256 "
     "context=131072 attention_bias=false mlp_bias=false tied=true"},
    {"meta-llama/Llama-3.2-3B-Instruct", "Llama-3.2-3B", CatalogSource::kConfig,
     "llama layers=28 hidden=3072 heads=24 kv_heads=8 head_dim=128 intermediate=8192 voca"
     "b=128256 "
     "context=131072 attention_bias=false mlp_bias=false tied=true"},
    {"meta-llama/Llama-3.2-11B-Vision-Instruct",
     "Llama-3.2-11B-Vision", CatalogSource::kConfig,
     "mllama_text_model layers=40 hidden=4096 heads=32 kv_heads=8 intermediate=14336 voca"
     "b=128256 "
     "context=131072 cross_attention_layers=3,8,13,18,23,28,33,38 tied=false"},
    {"meta-llama/Llama-3.2-90B-Vision-Instruct",
     "Llama-3.2-90B-Vision", CatalogSource::kConfig,
     "mllama_text_model layers=100 hidden=8192 heads=64 kv_heads=8 intermediate=28672 "
     "vocab=128256 context=131072 "
     "cross_attention_layers=3,8,13,18,23,28,33,38,43,48,53,58,63,68,73,78,83,88,93,"
     "98 tied=false"},
    {"meta-llama/Llama-3.3-70B-Instruct", "Llama-3.3-70B", CatalogSource::kCard,
     "llama layers=80 hidden=8192 heads=64 kv_heads=8 intermediate=28672 vocab=128256 "
     "context=131072 attention_bias=false mlp_bias=false tied=false"},
    {"meta-llama/Llama-4-Maverick-17B-128E-Instruct",
     "Llama-4-Maverick, Llama-4-Maverick-17B-128E", CatalogSource::kConfig,
     "llama4_text layers=48 hidden=5120 heads=40 kv_heads=8 head_dim=128 intermediate=8192 "
     "vocab=202048 context=1048576 attention_bias=false interleave_moe_layer_step=2 "
     "intermediate_size_mlp=16384 experts_per_token=1 num_local_experts=128"},
    {"meta-llama/Llama-4-Scout-17B-16E-Instruct",
     "Llama-4-Scout, Llama-4-Scout-17B-16E", CatalogSource::kConfig,
     "llama4_text layers=48 hidden=5120 heads=40 kv_heads=8 head_dim=128 intermediate=8192 "
     "vocab=202048 context=10485760 attention_bias=false experts_per_token=1 num_local_ex"
     "perts=16"},
    {"meta-llama/Meta-Llama-3-8B", "Llama-3-8B", CatalogSource::kConfig,
     "llama layers=32 hidden=4096 heads=32 kv_heads=8 intermediate=14336 vocab=128256 "
     "context=8192 attention_bias=false tied=false"},
    {"meta-llama/Meta-Llama-3-70B-Instruct",
     "Llama-3-70B, Meta-Llama-3-70B", CatalogSource::kConfig,
     "llama layers=80 hidden=8192 heads=64 kv_heads=8 intermediate=28672 vocab=128256 "
     "context=8192 attention_bias=false tied=false"},
    {"TinyLlama/TinyLlama-1.1B-Chat-v1.0", "", CatalogSource::kConfig,
     "llama layers=22 hidden=2048 heads=32 kv_heads=4 intermediate=5632 vocab=32000 conte"
     "xt=2048 "
     "attention_bias=false tied=false"},
});
// clang-format on

}  // namespace cairn

#endif  // CAIRN_SPEC_CATALOG_LLAMA_H_
