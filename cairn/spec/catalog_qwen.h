// Catalogue: Qwen.
// Data only; catalog.h says what the fields mean.
#ifndef CAIRN_SPEC_CATALOG_QWEN_H_
#define CAIRN_SPEC_CATALOG_QWEN_H_

#include <array>

#include "cairn/spec/catalog.h"

namespace cairn {

// clang-format off
inline constexpr auto kCatalogQwen = std::to_array<CatalogEntry>({
    {"Qwen/Qwen1.5-1.8B-Chat", "Qwen1.5-1.8B", CatalogSource::kConfig,
     "qwen2 layers=24 hidden=2048 heads=16 kv_heads=16 intermediate=5504 vocab=151936 "
     "context=4096 window=32768 tied=true use_sliding_window=false"},
    {"Qwen/Qwen1.5-MoE-A2.7B", "", CatalogSource::kConfig,
     "qwen2_moe layers=24 hidden=2048 heads=16 kv_heads=16 intermediate=5632 vocab=151936 "
     "context=32768 window=32768 tied=false use_sliding_window=false expert_intermediate=1408 "
     "shared_expert_intermediate_size=5632 experts_per_token=4 experts=60"},
    {"Qwen/Qwen2-7B-Instruct", "Qwen2-7B", CatalogSource::kConfig,
     "qwen2 layers=28 hidden=3584 heads=28 kv_heads=4 intermediate=18944 vocab=152064 "
     "context=32768 window=131072 tied=false use_sliding_window=false"},
    {"Qwen/Qwen2-72B", "", CatalogSource::kCard,
     "qwen2 layers=80 hidden=8192 heads=64 kv_heads=8 intermediate=29568 vocab=152064 "
     "context=131072 window=131072 tied=false use_sliding_window=false"},
    {"Qwen/Qwen2-VL-7B-Instruct", "Qwen2-VL-7B", CatalogSource::kConfig,
     "qwen2_vl layers=28 hidden=3584 heads=28 kv_heads=4 intermediate=18944 vocab=152064 "
     "context=32768 window=32768 tied=false use_sliding_window=false"},
    {"Qwen/Qwen2.5-0.5B", "", CatalogSource::kConfig,
     "qwen2 layers=24 hidden=896 heads=14 kv_heads=2 intermediate=4864 vocab=151936 conte"
     "xt=32768 "
     "window=32768 tied=true use_sliding_window=false"},
    {"Qwen/Qwen2.5-1.5B", "", CatalogSource::kConfig,
     "qwen2 layers=28 hidden=1536 heads=12 kv_heads=2 intermediate=8960 vocab=151936 "
     "context=131072 window=131072 tied=true use_sliding_window=false"},
    {"Qwen/Qwen2.5-3B", "Qwen2.5-3B-Instruct", CatalogSource::kCard,
     "qwen2 layers=36 hidden=2048 heads=16 kv_heads=2 intermediate=11008 vocab=151936 "
     "context=32768 window=131072 tied=true use_sliding_window=false"},
    {"Qwen/Qwen2.5-7B", "", CatalogSource::kConfig,
     "qwen2 layers=28 hidden=3584 heads=28 kv_heads=4 intermediate=18944 vocab=152064 "
     "context=131072 window=131072 tied=false use_sliding_window=false"},
    {"Qwen/Qwen2.5-14B", "", CatalogSource::kConfig,
     "qwen2 layers=48 hidden=5120 heads=40 kv_heads=8 intermediate=13824 vocab=152064 "
     "context=131072 window=131072 tied=false use_sliding_window=false"},
    {"Qwen/Qwen2.5-32B", "", CatalogSource::kConfig,
     "qwen2 layers=64 hidden=5120 heads=40 kv_heads=8 intermediate=27648 vocab=152064 "
     "context=131072 window=131072 tied=false use_sliding_window=false"},
    {"Qwen/Qwen2.5-72B", "", CatalogSource::kConfig,
     "qwen2 layers=80 hidden=8192 heads=64 kv_heads=8 intermediate=29568 vocab=152064 "
     "context=131072 window=131072 tied=false use_sliding_window=false"},
    {"Qwen/Qwen2.5-VL-7B-Instruct", "Qwen2.5-VL-7B", CatalogSource::kConfig,
     "qwen2_5_vl layers=28 hidden=3584 heads=28 kv_heads=4 intermediate=18944 vocab=152064 "
     "context=128000 window=32768 tied=false use_sliding_window=false"},
    {"Qwen/Qwen3-0.6B", "", CatalogSource::kConfig,
     "qwen3 layers=28 hidden=1024 heads=16 kv_heads=8 head_dim=128 intermediate=3072 voca"
     "b=151936 "
     "context=40960 attention_bias=false window=null tied=true use_sliding_window=false"},
    {"Qwen/Qwen3-1.7B", "", CatalogSource::kConfig,
     "qwen3 layers=28 hidden=2048 heads=16 kv_heads=8 head_dim=128 intermediate=6144 voca"
     "b=151936 "
     "context=40960 attention_bias=false window=null tied=true use_sliding_window=false"},
    {"Qwen/Qwen3-4B", "", CatalogSource::kConfig,
     "qwen3 layers=36 hidden=2560 heads=32 kv_heads=8 head_dim=128 intermediate=9728 voca"
     "b=151936 "
     "context=40960 attention_bias=false window=null tied=true use_sliding_window=false"},
    {"Qwen/Qwen3-8B", "", CatalogSource::kConfig,
     "qwen3 layers=36 hidden=4096 heads=32 kv_heads=8 head_dim=128 intermediate=12288 "
     "vocab=151936 context=40960 attention_bias=false window=null tied=false "
     "use_sliding_window=false"},
    {"Qwen/Qwen3-14B", "", CatalogSource::kConfig,
     "qwen3 layers=40 hidden=5120 heads=40 kv_heads=8 head_dim=128 intermediate=17408 "
     "vocab=151936 context=40960 attention_bias=false window=null tied=false "
     "use_sliding_window=false"},
    {"Qwen/Qwen3-30B-A3B", "", CatalogSource::kConfig,
     "qwen3_moe layers=48 hidden=2048 heads=32 kv_heads=4 head_dim=128 intermediate=6144 "
     "vocab=151936 context=40960 attention_bias=false expert_intermediate=768 experts=128 "
     "experts_per_token=8 window=null tied=false use_sliding_window=false"},
    {"Qwen/Qwen3-30B-A3B-Instruct-2507",
     "Qwen3-Coder-30B-A3B-Instruct", CatalogSource::kCard,
     "qwen3_moe layers=48 hidden=2048 heads=32 kv_heads=4 head_dim=128 intermediate=6144 "
     "vocab=151936 context=262144 attention_bias=false expert_intermediate=768 experts=128 "
     "experts_per_token=8 window=null tied=false use_sliding_window=false"},
    {"Qwen/Qwen3-32B", "", CatalogSource::kConfig,
     "qwen3 layers=64 hidden=5120 heads=64 kv_heads=8 head_dim=128 intermediate=25600 "
     "vocab=151936 context=40960 attention_bias=false window=null tied=false "
     "use_sliding_window=false"},
    {"Qwen/Qwen3-235B-A22B", "", CatalogSource::kConfig,
     "qwen3_moe layers=94 hidden=4096 heads=64 kv_heads=4 head_dim=128 intermediate=12288 "
     "vocab=151936 context=40960 attention_bias=false expert_intermediate=1536 experts=128 "
     "experts_per_token=8 window=null tied=false use_sliding_window=false"},
    {"Qwen/Qwen3-235B-A22B-Instruct-2507", "", CatalogSource::kCard,
     "qwen3_moe layers=94 hidden=4096 heads=64 kv_heads=4 head_dim=128 intermediate=12288 "
     "vocab=151936 context=262144 attention_bias=false expert_intermediate=1536 experts=128 "
     "experts_per_token=8 window=null tied=false use_sliding_window=false"},
    {"Qwen/Qwen3-Coder-480B-A35B-Instruct",
     "Qwen3-Coder-480B-A35B", CatalogSource::kConfig,
     "qwen3_moe layers=62 hidden=6144 heads=96 kv_heads=8 head_dim=128 intermediate=8192 "
     "vocab=151936 context=262144 expert_intermediate=2560 experts=160 experts_per_token=8 "
     "window=null tied=false use_sliding_window=false"},
    {"Qwen/Qwen3-Embedding-8B", "", CatalogSource::kConfig,
     "qwen3 layers=36 hidden=4096 heads=32 kv_heads=8 head_dim=128 intermediate=12288 "
     "vocab=151665 context=40960 attention_bias=false window=null tied=false "
     "use_sliding_window=false"},
    {"Qwen/Qwen3-Next-80B-A3B-Instruct",
     "Qwen3-Next-80B-A3B", CatalogSource::kConfig,
     "qwen3_next layers=48 hidden=2048 heads=16 kv_heads=2 head_dim=256 intermediate=5120 "
     "vocab=151936 context=262144 linear_conv_kernel_dim=4 linear_key_head_dim=128 "
     "linear_num_key_heads=16 linear_num_value_heads=32 linear_value_head_dim=128 "
     "expert_intermediate=512 experts=512 experts_per_token=10 "
     "shared_expert_intermediate_size=512 tied=false use_sliding_window=false"},
    {"Qwen/Qwen3-VL-8B-Instruct", "Qwen3-VL-8B", CatalogSource::kConfig,
     "qwen3_vl_text layers=36 hidden=4096 heads=32 kv_heads=8 head_dim=128 intermediate=12288 "
     "vocab=151936 context=262144 attention_bias=false tied=false"},
    {"Qwen/Qwen3-VL-235B-A22B-Instruct",
     "Qwen3-VL-235B-A22B", CatalogSource::kConfig,
     "qwen3_vl_moe_text layers=94 hidden=4096 heads=64 kv_heads=4 head_dim=128 intermedia"
     "te=12288 "
     "vocab=151936 context=262144 attention_bias=false expert_intermediate=1536 experts=128 "
     "experts_per_token=8 tied=false"},
    {"Qwen/Qwen3.5-4B", "", CatalogSource::kRebuilt,
     "qwen3_5_text layers=32 hidden=2560 heads=16 kv_heads=4 head_dim=256 intermediate=9216 "
     "vocab=248320 context=262144 layer_types=8*(3*linear_attention,full_attention) "
     "linear_conv_kernel_dim=4 linear_key_head_dim=128 linear_num_key_heads=16 "
     "linear_num_value_heads=32 linear_value_head_dim=128 mamba_ssm_dtype=float32 "
     "mtp_num_hidden_layers=1 tied=true"},
    {"Qwen/Qwen3.5-9B", "", CatalogSource::kConfig,
     "qwen3_5_text layers=32 hidden=4096 heads=16 kv_heads=4 head_dim=256 intermediate=12288 "
     "vocab=248320 context=262144 attention_bias=false "
     "layer_types=8*(3*linear_attention,full_attention) linear_conv_kernel_dim=4 "
     "linear_key_head_dim=128 linear_num_key_heads=16 linear_num_value_heads=32 "
     "linear_value_head_dim=128 mtp_num_hidden_layers=1 mamba_ssm_dtype=float32 tied=false"},
    {"Qwen/Qwen3.5-27B", "", CatalogSource::kConfig,
     "qwen3_5_text layers=64 hidden=5120 heads=24 kv_heads=4 head_dim=256 intermediate=17408 "
     "vocab=248320 context=262144 attention_bias=false "
     "layer_types=16*(3*linear_attention,full_attention) linear_conv_kernel_dim=4 "
     "linear_key_head_dim=128 linear_num_key_heads=16 linear_num_value_heads=48 "
     "linear_value_head_dim=128 mtp_num_hidden_layers=1 mamba_ssm_dtype=float32 tied=false"},
    {"Qwen/Qwen3.5-35B-A3B", "", CatalogSource::kConfig,
     "qwen3_5_moe_text layers=40 hidden=2048 heads=16 kv_heads=2 head_dim=256 vocab=248320 "
     "context=262144 attention_bias=false layer_types=10*(3*linear_attention,full_attention) "
     "linear_conv_kernel_dim=4 linear_key_head_dim=128 linear_num_key_heads=16 "
     "linear_num_value_heads=32 linear_value_head_dim=128 expert_intermediate=512 "
     "mtp_num_hidden_layers=1 experts=256 experts_per_token=8 shared_expert_intermediate_"
     "size=512 "
     "mamba_ssm_dtype=float32 tied=false"},
    {"Qwen/Qwen3.5-122B-A10B", "", CatalogSource::kConfig,
     "qwen3_5_moe_text layers=48 hidden=3072 heads=32 kv_heads=2 head_dim=256 vocab=248320 "
     "context=262144 attention_bias=false layer_types=12*(3*linear_attention,full_attention) "
     "linear_conv_kernel_dim=4 linear_key_head_dim=128 linear_num_key_heads=16 "
     "linear_num_value_heads=64 linear_value_head_dim=128 expert_intermediate=1024 "
     "mtp_num_hidden_layers=1 experts=256 experts_per_token=8 "
     "shared_expert_intermediate_size=1024 mamba_ssm_dtype=float32 tied=false"},
    {"Qwen/Qwen3.5-397B-A17B", "", CatalogSource::kConfig,
     "qwen3_5_moe_text layers=60 hidden=4096 heads=32 kv_heads=2 head_dim=256 vocab=248320 "
     "context=262144 attention_bias=false layer_types=15*(3*linear_attention,full_attention) "
     "linear_conv_kernel_dim=4 linear_key_head_dim=128 linear_num_key_heads=16 "
     "linear_num_value_heads=64 linear_value_head_dim=128 expert_intermediate=1024 "
     "mtp_num_hidden_layers=1 experts=512 experts_per_token=10 "
     "shared_expert_intermediate_size=1024 mamba_ssm_dtype=float32 tied=false"},
    {"Qwen/Qwen3.6-27B", "", CatalogSource::kCopy,
     "qwen3_5_text layers=64 hidden=5120 heads=24 kv_heads=4 head_dim=256 intermediate=17408 "
     "vocab=248320 context=262144 attention_bias=false "
     "layer_types=16*(3*linear_attention,full_attention) linear_conv_kernel_dim=4 "
     "linear_key_head_dim=128 linear_num_key_heads=16 linear_num_value_heads=48 "
     "linear_value_head_dim=128 mamba_ssm_dtype=float32 mtp_num_hidden_layers=1 tied=false"},
    {"Qwen/Qwen3.6-35B-A3B", "", CatalogSource::kCopy,
     "qwen3_5_moe_text layers=40 hidden=2048 heads=16 kv_heads=2 head_dim=256 vocab=248320 "
     "context=262144 attention_bias=false layer_types=10*(3*linear_attention,full_attention) "
     "linear_conv_kernel_dim=4 linear_key_head_dim=128 linear_num_key_heads=16 "
     "linear_num_value_heads=32 linear_value_head_dim=128 mamba_ssm_dtype=float32 "
     "expert_intermediate=512 mtp_num_hidden_layers=1 experts=256 experts_per_token=8 "
     "shared_expert_intermediate_size=512 tied=false"},
    {"Qwen/Qwen-7B", "", CatalogSource::kConfig,
     "qwen layers=32 hidden=4096 heads=32 intermediate=22016 vocab=151936 context=32768 "
     "tied=false"},
});
// clang-format on

}  // namespace cairn

#endif  // CAIRN_SPEC_CATALOG_QWEN_H_
