// Catalogue: Mistral, Mixtral, Ministral, Devstral; Phi.
// Data only; catalog.h says what the fields mean.
#ifndef CAIRN_SPEC_CATALOG_MISTRAL_H_
#define CAIRN_SPEC_CATALOG_MISTRAL_H_

#include <array>

#include "cairn/spec/catalog.h"

namespace cairn {

// clang-format off
inline constexpr auto kCatalogMistral = std::to_array<CatalogEntry>({
    {"intfloat/e5-mistral-7b-instruct", "e5-mistral-7b", CatalogSource::kConfig,
     "mistral layers=32 hidden=4096 heads=32 kv_heads=8 intermediate=14336 vocab=32000 "
     "context=32768 window=4096 tied=false"},
    {"microsoft/phi-1_5", "Phi-1.5", CatalogSource::kConfig,
     "phi-msft vocab=51200 n_embd=2048 n_head=32 n_layer=24 n_positions=2048 tied=false"},
    {"microsoft/phi-2", "", CatalogSource::kConfig,
     "phi layers=32 hidden=2560 heads=32 kv_heads=32 intermediate=10240 vocab=51200 conte"
     "xt=2048 "
     "tied=false"},
    {"microsoft/Phi-3-mini-4k-instruct", "Phi-3-mini-4k", CatalogSource::kConfig,
     "phi3 layers=32 hidden=3072 heads=32 kv_heads=32 intermediate=8192 vocab=32064 conte"
     "xt=4096 "
     "window=2047 tied=false attention_bias=false"},
    {"microsoft/Phi-3-mini-128k-instruct", "Phi-3-mini-128k", CatalogSource::kConfig,
     "phi3 layers=32 hidden=3072 heads=32 kv_heads=32 intermediate=8192 vocab=32064 "
     "context=131072 window=262144 tied=false attention_bias=false"},
    {"microsoft/Phi-3-small-8k-instruct", "Phi-3-small-8k", CatalogSource::kConfig,
     "phi3small layers=32 hidden=4096 heads=32 kv_heads=8 vocab=100352 context=8192 "
     "ff_intermediate_size=14336 attention_bias=false"},
    {"microsoft/Phi-3.5-mini-instruct", "Phi-3.5-mini", CatalogSource::kConfig,
     "phi3 layers=32 hidden=3072 heads=32 kv_heads=32 intermediate=8192 vocab=32064 "
     "context=131072 window=262144 tied=false attention_bias=false"},
    {"microsoft/Phi-3.5-MoE-instruct", "Phi-3.5-MoE", CatalogSource::kConfig,
     "phimoe layers=32 hidden=4096 heads=32 kv_heads=8 intermediate=6400 vocab=32064 "
     "context=131072 attention_bias=true lm_head_bias=true experts_per_token=2 "
     "num_local_experts=16 window=131072 tied=false"},
    {"microsoft/Phi-3.5-vision-instruct", "Phi-3.5-vision", CatalogSource::kConfig,
     "phi3_v layers=32 hidden=3072 heads=32 kv_heads=32 intermediate=8192 vocab=32064 "
     "context=131072 window=262144 tied=false"},
    {"microsoft/phi-4", "Phi-4-14B", CatalogSource::kConfig,
     "phi3 layers=40 hidden=5120 heads=40 kv_heads=10 intermediate=17920 vocab=100352 "
     "context=16384 attention_bias=false window=null tied=false"},
    {"microsoft/Phi-4-mini-instruct", "Phi-4-mini", CatalogSource::kConfig,
     "phi3 layers=32 hidden=3072 heads=24 kv_heads=8 intermediate=8192 vocab=200064 "
     "context=131072 attention_bias=false mlp_bias=false window=262144 tied=true"},
    {"microsoft/Phi-4-mini-reasoning", "", CatalogSource::kConfig,
     "phi3 layers=32 hidden=3072 heads=24 kv_heads=8 intermediate=8192 vocab=200064 "
     "context=131072 attention_bias=false mlp_bias=false window=262144 tied=true"},
    {"microsoft/Phi-mini-MoE-instruct", "Phi-mini-MoE", CatalogSource::kConfig,
     "phimoe layers=32 hidden=4096 heads=32 kv_heads=8 head_dim=128 intermediate=960 voca"
     "b=32064 "
     "context=4096 attention_bias=true lm_head_bias=true experts_per_token=2 num_local_ex"
     "perts=16 "
     "window=2047 tied=false"},
    {"mistralai/Devstral-2-123B-Instruct", "Devstral-2-123B", CatalogSource::kConfig,
     "ministral3 layers=88 hidden=12288 heads=96 kv_heads=8 head_dim=128 intermediate=28672 "
     "vocab=131072 context=262144 window=null tied=false"},
    {"mistralai/Devstral-Small-2-24B-Instruct",
     "Devstral-Small-2-24B", CatalogSource::kConfig,
     "ministral3 layers=40 hidden=5120 heads=32 kv_heads=8 head_dim=128 intermediate=32768 "
     "vocab=131072 context=393216 window=null tied=false"},
    {"mistralai/Mamba-Codestral-7B-v0.1", "", CatalogSource::kRebuilt,
     "mamba2 layers=64 hidden=4096 head_dim=64 intermediate=8192 vocab=32768 num_heads=128 "
     "n_groups=8 state_size=128 conv_kernel=4 tied=false"},
    {"mistralai/Ministral-3-3B-Instruct-2512",
     "Ministral-3-3B", CatalogSource::kConfig,
     "ministral3 layers=26 hidden=3072 heads=32 kv_heads=8 head_dim=128 intermediate=9216 "
     "vocab=131072 context=262144 window=null tied=true"},
    {"mistralai/Ministral-8B-Instruct-2410", "Ministral-8B", CatalogSource::kConfig,
     "mistral layers=36 hidden=4096 heads=32 kv_heads=8 head_dim=128 intermediate=12288 "
     "vocab=131072 context=32768 window=32768 tied=false"},
    {"mistralai/Mistral-7B-Instruct-v0.2", "", CatalogSource::kConfig,
     "mistral layers=32 hidden=4096 heads=32 kv_heads=8 intermediate=14336 vocab=32000 "
     "context=32768 window=null tied=false"},
    {"mistralai/Mistral-7B-Instruct-v0.3", "", CatalogSource::kConfig,
     "mistral layers=32 hidden=4096 heads=32 kv_heads=8 intermediate=14336 vocab=32768 "
     "context=32768 window=null tied=false"},
    {"mistralai/Mistral-7B-v0.1", "Mistral-7B", CatalogSource::kConfig,
     "mistral layers=32 hidden=4096 heads=32 kv_heads=8 intermediate=14336 vocab=32000 "
     "context=32768 window=4096 tied=false"},
    {"mistralai/Mistral-Large-Instruct-2407",
     "Mistral-Large-2407, Mistral-Large-2, Mistral-Large", CatalogSource::kCard,
     "mistral layers=88 hidden=12288 heads=96 kv_heads=8 head_dim=128 intermediate=28672 "
     "vocab=32768 context=131072 window=null tied=false"},
    {"mistralai/Mistral-Nemo-Instruct-2407", "Mistral-Nemo", CatalogSource::kConfig,
     "mistral layers=40 hidden=5120 heads=32 kv_heads=8 head_dim=128 intermediate=14336 "
     "vocab=131072 context=131072 window=null tied=false"},
    {"mistralai/Mistral-Small-3.1-24B-Instruct-2503",
     "Mistral-Small-3.1-24B, Mistral-Small-3.1", CatalogSource::kConfig,
     "mistral layers=40 hidden=5120 heads=32 kv_heads=8 head_dim=128 intermediate=32768 "
     "vocab=131072 context=131072 window=null"},
    {"mistralai/Mistral-Small-24B-Instruct-2501",
     "Mistral-Small-24B, Mistral-Small-3-24B", CatalogSource::kCard,
     "mistral layers=40 hidden=5120 heads=32 kv_heads=8 head_dim=128 intermediate=32768 "
     "vocab=131072 context=32768 window=null tied=false"},
    {"mistralai/Mixtral-8x7B-v0.1",
     "Mixtral-8x7B, Mixtral-8x7B-Instruct-v0.1", CatalogSource::kConfig,
     "mixtral layers=32 hidden=4096 heads=32 kv_heads=8 intermediate=14336 vocab=32000 "
     "context=32768 experts_per_token=2 num_local_experts=8 window=null tied=false"},
    {"mistralai/Mixtral-8x22B-v0.1", "Mixtral-8x22B", CatalogSource::kConfig,
     "mixtral layers=56 hidden=6144 heads=48 kv_heads=8 intermediate=16384 vocab=32000 "
     "context=65536 experts_per_token=2 num_local_experts=8 window=null tied=false"},
    {"mistralai/Voxtral-Mini-3B-2507", "", CatalogSource::kConfig,
     "llama layers=30 hidden=3072 heads=32 kv_heads=8 head_dim=128 intermediate=8192 voca"
     "b=131072 "
     "context=131072 attention_bias=false mlp_bias=false window=null"},
});
// clang-format on

}  // namespace cairn

#endif  // CAIRN_SPEC_CATALOG_MISTRAL_H_
