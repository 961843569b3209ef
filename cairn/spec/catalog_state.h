// Catalogue: publishers of models with recurrent states.
// Data only; catalog.h says what the fields mean.
#ifndef CAIRN_SPEC_CATALOG_STATE_H_
#define CAIRN_SPEC_CATALOG_STATE_H_

#include <array>

#include "cairn/spec/catalog.h"

namespace cairn {

// clang-format off
inline constexpr auto kCatalogState = std::to_array<CatalogEntry>({
    {"ai21labs/AI21-Jamba-1.5-Mini", "Jamba-1.5-Mini", CatalogSource::kConfig,
     "jamba layers=32 hidden=4096 heads=32 kv_heads=8 intermediate=14336 vocab=65536 "
     "context=262144 expert_layer_offset=1 expert_layer_period=2 mamba_d_conv=4 mamba_d_s"
     "tate=16 "
     "mamba_expand=2 experts=16 experts_per_token=2 window=null tied=false"},
    {"ai21labs/Jamba-v0.1", "Jamba", CatalogSource::kConfig,
     "jamba layers=32 hidden=4096 heads=32 kv_heads=8 intermediate=14336 vocab=65536 "
     "context=262144 expert_layer_offset=1 expert_layer_period=2 mamba_d_conv=4 mamba_d_s"
     "tate=16 "
     "mamba_expand=2 experts=16 experts_per_token=2 window=null tied=false"},
    {"fla-hub/rwkv7-1.5B-world", "", CatalogSource::kConfig,
     "rwkv7 layers=24 hidden=2048 head_dim=64 intermediate=8192 vocab=65536 context=2048 "
     "tied=false"},
    {"ibm-granite/granite-4.0-h-1b", "", CatalogSource::kRebuilt,
     "granitemoehybrid layers=40 hidden=1536 heads=12 kv_heads=4 intermediate=4096 vocab=100352 "
     "context=131072 layer_types=4*(5*mamba,attention,4*mamba) experts_per_token=0 "
     "mamba_n_heads=48 mamba_d_head=64 mamba_d_state=128 mamba_d_conv=4 mamba_expand=2 ti"
     "ed=true"},
    {"ibm-granite/granite-4.0-h-350m", "", CatalogSource::kRebuilt,
     "granitemoehybrid layers=32 hidden=768 heads=12 kv_heads=4 intermediate=2048 vocab=100352 "
     "context=32768 "
     "layer_types=10*mamba,2*(attention,2*mamba),mamba,attention,9*mamba,attention,4*mamba "
     "experts_per_token=0 mamba_n_heads=48 mamba_d_head=32 mamba_d_state=128 mamba_d_conv=4 "
     "mamba_expand=2 tied=true"},
    {"ibm-granite/granite-4.0-h-micro", "", CatalogSource::kRebuilt,
     "granitemoehybrid layers=40 hidden=2048 heads=32 kv_heads=8 intermediate=8192 vocab=100352 "
     "context=131072 layer_types=4*(5*mamba,attention,4*mamba) experts_per_token=0 "
     "mamba_n_heads=64 mamba_d_head=64 mamba_d_state=128 mamba_d_conv=4 mamba_expand=2 ti"
     "ed=true"},
    {"ibm-granite/granite-4.0-h-small", "", CatalogSource::kRebuilt,
     "granitemoehybrid layers=40 hidden=4096 heads=32 kv_heads=8 intermediate=768 vocab=100352 "
     "context=131072 layer_types=4*(5*mamba,attention,4*mamba) num_local_experts=72 "
     "experts_per_token=10 shared_intermediate_size=1536 mamba_n_heads=128 mamba_d_head=64 "
     "mamba_d_state=128 mamba_d_conv=4 mamba_expand=2 tied=true"},
    {"ibm-granite/granite-4.0-h-tiny", "", CatalogSource::kRebuilt,
     "granitemoehybrid layers=40 hidden=1536 heads=12 kv_heads=4 intermediate=512 vocab=100352 "
     "context=131072 layer_types=4*(5*mamba,attention,4*mamba) num_local_experts=64 "
     "experts_per_token=6 shared_intermediate_size=1024 mamba_n_heads=48 mamba_d_head=64 "
     "mamba_d_state=128 mamba_d_conv=4 mamba_expand=2 tied=true"},
    {"ibm-granite/granite-4.0-micro", "", CatalogSource::kRebuilt,
     "granitemoehybrid layers=40 hidden=2560 heads=40 kv_heads=8 intermediate=8192 vocab=100352 "
     "context=131072 layer_types=40*attention experts_per_token=0 mamba_d_state=256 "
     "mamba_d_conv=4 mamba_expand=2 tied=true"},
    {"LiquidAI/LFM2-1.2B", "", CatalogSource::kCopy,
     "lfm2 layers=16 hidden=2048 heads=32 kv_heads=8 head_dim=64 intermediate=8192 vocab=65536 "
     "context=128000 block_auto_adjust_ff_dim=true block_ff_dim=12288 conv_L_cache=3 "
     "full_attn_idxs=2,5,8,10,12,14"},
    {"LiquidAI/LFM2-8B-A1B", "", CatalogSource::kRebuilt,
     "lfm2_moe layers=24 hidden=2048 heads=32 kv_heads=8 conv_L_cache=3 "
     "layer_types=5*(2*conv,full_attention,conv),conv,full_attention,2*conv"},
    {"LiquidAI/LFM2-700M", "", CatalogSource::kConfig,
     "lfm2 layers=16 hidden=1536 heads=24 kv_heads=8 vocab=65536 context=128000 "
     "block_auto_adjust_ff_dim=true block_ff_dim=10240 conv_L_cache=3 "
     "full_attn_idxs=2,5,8,10,12,14"},
    {"LiquidAI/LFM2.5-VL-1.6B", "", CatalogSource::kConfig,
     "lfm2 layers=16 hidden=2048 heads=32 kv_heads=8 intermediate=12288 vocab=65536 "
     "context=128000 block_auto_adjust_ff_dim=true conv_L_cache=3 "
     "layer_types=3*(2*conv,full_attention),3*(conv,full_attention),conv"},
    {"nvidia/Llama-3_3-Nemotron-Super-49B-v1",
     "Llama-3.3-Nemotron-Super-49B", CatalogSource::kConfig,
     "nemotron-nas layers=80 hidden=8192 heads=64 kv_heads=null intermediate=null vocab=128256 "
     "context=131072 attention_bias=false block_configs={attention.n_heads_in_group=8 "
     "ffn.ffn_mult=2.625},5*{attention.n_heads_in_group=8 "
     "ffn.ffn_mult=5.25},2*{attention.no_op=true "
     "ffn.ffn_mult=2.625},3*{attention.n_heads_in_group=8 "
     "ffn.ffn_mult=5.25},{attention.no_op=true "
     "ffn.ffn_mult=3.28125},30*{attention.n_heads_in_group=8 "
     "ffn.ffn_mult=5.25},{attention.no_op=true ffn.ffn_mult=1.3125},2*{attention.no_op=true "
     "ffn.ffn_mult=2.625},{attention.no_op=true ffn.ffn_mult=1.3125},{attention.no_op=true "
     "ffn.ffn_mult=5.25},{attention.no_op=true ffn.ffn_mult=1.3125},{attention.no_op=true "
     "ffn.ffn_mult=2.625},3*{attention.no_op=true "
     "ffn.ffn_mult=1.3125},{attention.n_heads_in_group=8 "
     "ffn.ffn_mult=5.25},2*({attention.no_op=true ffn.ffn_mult=1.3125},{attention.no_op=true "
     "ffn.ffn_mult=1.0},{attention.no_op=true ffn.ffn_mult=1.0}),{attention.no_op=true "
     "ffn.ffn_mult=1.0},2*{attention.no_op=true ffn.ffn_mult=1.3125},2*{attention.no_op=true "
     "ffn.ffn_mult=0.5},2*{attention.no_op=true ffn.ffn_mult=1.0},2*{attention.no_op=true "
     "ffn.ffn_mult=0.5},{attention.no_op=true ffn.ffn_mult=1.0},2*{attention.no_op=true "
     "ffn.ffn_mult=0.5},9*{attention.n_heads_in_group=8 ffn.ffn_mult=5.25} mlp_bias=false "
     "tied=false"},
    {"nvidia/Nemotron-H-8B-Base-8K", "", CatalogSource::kRebuilt,
     "nemotron_h hidden=4096 heads=32 kv_heads=8 intermediate=21504 vocab=131072 context=8192 "
     "hybrid_override_pattern=M-M-M-M*-M-M-M-M-M*-M-M-M-M-M*-M-M-M-M-M*-M-M-M-M-M- "
     "mamba_num_heads=128 mamba_head_dim=64 ssm_state_size=128 conv_kernel=4 n_groups=8 "
     "tied=false"},
    {"nvidia/Nemotron-H-56B-Base-8K", "", CatalogSource::kConfig,
     "nemotron_h hidden=8192 heads=64 kv_heads=8 intermediate=32768 vocab=131072 context=8192 "
     "attention_bias=false conv_kernel=4 "
     "hybrid_override_pattern=M-M-M-M*-M-M-M-M-M*-M-M-M-M-M*-M-M-M-M-M*-M-M-M-M-M*-M-M-M-"
     "M-M*-M-M-M-M-M*-M-M-M-M-M*-M-M-M-M-M*-M-M-M-M-M*-M-M-M-M-M- "
     "mamba_head_dim=64 mamba_num_heads=256 mlp_bias=false n_groups=8 window=null "
     "ssm_state_size=256 tied=false"},
    {"nvidia/NVIDIA-Nemotron-3-Nano-30B-A3B-BF16",
     "Nemotron-3-Nano-30B-A3B, Nemotron-3-Nano-30B, NVIDIA-Nemotron-3-Nano-30B-A3B",
     CatalogSource::kConfig,
     "nemotron_h hidden=2688 heads=32 kv_heads=2 head_dim=128 intermediate=1856 vocab=131072 "
     "context=262144 attention_bias=false conv_kernel=4 "
     "hybrid_override_pattern=MEMEM*EMEMEM*EMEMEM*EMEMEM*EMEMEM*EMEMEMEM*EMEMEMEME "
     "mamba_head_dim=64 mamba_num_heads=64 mamba_ssm_cache_dtype=float32 mlp_bias=false "
     "expert_intermediate=1856 moe_shared_expert_intermediate_size=3712 n_groups=8 "
     "n_routed_experts=128 n_shared_experts=1 experts_per_token=6 window=null ssm_state_s"
     "ize=128 "
     "tied=false"},
    {"nvidia/NVIDIA-Nemotron-3-Super-120B-A12B-BF16",
     "Nemotron-3-Super-120B, NVIDIA-Nemotron-3-Super-120B-A12B", CatalogSource::kConfig,
     "nemotron_h hidden=4096 heads=32 kv_heads=2 head_dim=128 intermediate=2688 vocab=131072 "
     "context=262144 attention_bias=false conv_kernel=4 "
     "hybrid_override_pattern=MEMEMEM*EMEMEMEM*EMEMEMEM*EMEMEMEMEM*EMEMEMEMEM*EMEMEMEMEM*"
     "EMEMEMEMEM*EMEMEMEM*EMEMEMEME "
     "mamba_head_dim=64 mamba_num_heads=128 mamba_ssm_cache_dtype=float32 mlp_bias=false "
     "expert_intermediate=2688 moe_latent_size=1024 moe_shared_expert_intermediate_size=5376 "
     "mtp_hybrid_override_pattern=*E n_groups=8 n_routed_experts=512 n_shared_experts=1 "
     "experts_per_token=22 num_nextn_predict_layers=1 window=null ssm_state_size=128 tied=false"},
    {"nvidia/NVIDIA-Nemotron-3-Ultra-550B-A55B-BF16",
     "Nemotron-3-Ultra-550B, NVIDIA-Nemotron-3-Ultra-550B-A55B", CatalogSource::kConfig,
     "nemotron_h hidden=8192 heads=64 kv_heads=2 head_dim=128 intermediate=5120 vocab=131072 "
     "context=262144 attention_bias=false conv_kernel=4 "
     "layers_block_type=3*(mamba,moe),2*(mamba,attention,2*(moe,mamba),moe),2*(mamba,moe,"
     "mamba,attention,2*(moe,mamba),moe),2*(mamba,attention,3*(moe,mamba),moe),2*(mamba,"
     "attention,2*(moe,mamba),moe),2*(mamba,moe,mamba,attention,2*(moe,mamba),moe),"
     "2*(mamba,attention,3*(moe,mamba),moe),mamba,moe "
     "mamba_head_dim=64 mamba_num_heads=256 mamba_ssm_cache_dtype=float32 mlp_bias=false "
     "expert_intermediate=5120 moe_latent_size=2048 moe_shared_expert_intermediate_size=10240 "
     "mtp_layers_block_type=attention,moe n_groups=8 n_routed_experts=512 n_shared_experts=1 "
     "experts_per_token=22 num_nextn_predict_layers=1 window=null ssm_state_size=128 tied=false"},
    {"nvidia/NVIDIA-Nemotron-3.5-Lightning-30B-A3B-BF16",
     "NVIDIA-Nemotron-3.5-Lightning-30B-A3B", CatalogSource::kConfig,
     "nemotron_h hidden=2688 heads=32 kv_heads=2 head_dim=128 intermediate=1856 vocab=131072 "
     "context=1048576 attention_bias=false conv_kernel=4 "
     "layers_block_type=5*(2*(mamba,moe),mamba,attention,moe),3*(mamba,moe),mamba,"
     "attention,4*(moe,mamba),moe "
     "mamba_head_dim=64 mamba_num_heads=64 mamba_ssm_cache_dtype=float32 mlp_bias=false "
     "expert_intermediate=1856 moe_shared_expert_intermediate_size=3712 "
     "mtp_layers_block_type=attention,moe n_groups=8 n_routed_experts=128 n_shared_experts=1 "
     "experts_per_token=6 num_nextn_predict_layers=1 window=null ssm_state_size=128 tied=false"},
    {"nvidia/NVIDIA-Nemotron-Nano-9B-v2", "", CatalogSource::kRebuilt,
     "nemotron_h hidden=4480 heads=40 kv_heads=8 head_dim=128 intermediate=15680 vocab=131072 "
     "hybrid_override_pattern=M-M-M-MM-M-M-M*-M-M-M*-M-M-M-M*-M-M-M-M*-M-MM-M-M-M-M-M- "
     "mamba_num_heads=128 mamba_head_dim=80 ssm_state_size=128 conv_kernel=4 n_groups=8 "
     "tied=false"},
    {"RWKV/rwkv-5-world-3b", "", CatalogSource::kConfig,
     "rwkv5 layers=32 hidden=2560 intermediate=null vocab=65536 context_length=4096 tied=true"},
    {"SmerkyG/RWKV7-Goose-1.4B-Pile-HF",
     "RWKV7-Goose-1.4B-Pile", CatalogSource::kConfig,
     "rwkv7 layers=24 hidden=2048 intermediate=null vocab=50304 tied=false"},
    {"state-spaces/mamba2-130m", "", CatalogSource::kRebuilt,
     "mamba2 layers=24 hidden=768 head_dim=64 vocab=50288 num_heads=24 state_size=128 "
     "conv_kernel=4 tied=true"},
    {"state-spaces/mamba-2.8b-hf", "mamba-2.8b", CatalogSource::kRebuilt,
     "mamba hidden=2560 intermediate=5120 vocab=50280 n_layer=64 conv_kernel=4"},
    {"tiiuae/falcon-7b-instruct", "Falcon-7B", CatalogSource::kConfig,
     "falcon layers=32 hidden=4544 heads=71 vocab=65024"},
    {"tiiuae/falcon-40b", "", CatalogSource::kConfig,
     "falcon layers=60 hidden=8192 heads=128 vocab=65024 new_decoder_architecture=true "
     "num_kv_heads=8"},
    {"tiiuae/Falcon-H1-0.5B-Instruct", "Falcon-H1-0.5B", CatalogSource::kConfig,
     "falcon_h1 layers=36 hidden=1024 heads=8 kv_heads=2 head_dim=64 intermediate=2048 "
     "vocab=32784 context=16384 attention_bias=false mamba_d_conv=4 mamba_d_head=64 "
     "mamba_d_state=128 mamba_expand=2 mamba_n_heads=24 mlp_bias=false tied=false"},
    {"tiiuae/Falcon-H1-1.5B-Base", "Falcon-H1-1.5B", CatalogSource::kRebuilt,
     "falcon_h1 layers=24 hidden=2048 heads=8 kv_heads=2 head_dim=128 context=131072 "
     "mamba_n_heads=48 mamba_d_head=64 mamba_d_state=256 mamba_d_conv=4 mamba_expand=2"},
    {"tiiuae/Falcon-H1-7B-Base", "Falcon-H1-7B", CatalogSource::kRebuilt,
     "falcon_h1 layers=44 hidden=3072 heads=12 kv_heads=2 head_dim=128 intermediate=12288 "
     "vocab=130048 context=262144 mamba_n_heads=24 mamba_d_head=128 mamba_d_state=256 "
     "mamba_d_conv=4 mamba_expand=2 tied=false"},
    {"tiiuae/Falcon-H1-34B-Base", "Falcon-H1-34B", CatalogSource::kRebuilt,
     "falcon_h1 layers=72 hidden=5120 heads=20 kv_heads=4 head_dim=128 intermediate=21504 "
     "vocab=261120 context=262144 mamba_n_heads=32 mamba_d_head=128 mamba_d_state=256 "
     "mamba_d_conv=4 mamba_expand=2 mamba_n_groups=2 tied=false"},
    {"tiiuae/falcon-mamba-7b", "", CatalogSource::kConfig,
     "falcon_mamba layers=64 hidden=4096 intermediate=8192 vocab=65024 conv_kernel=4 tied=false"},
    {"Zyphra/Zamba2-2.7B-Instruct-v2", "", CatalogSource::kRebuilt,
     "zamba2 layers=54 hidden=2560 heads=32 kv_heads=32 intermediate=10240 vocab=32000 "
     "context=4096 "
     "layers_block_type=6*mamba,6*(hybrid,5*mamba),hybrid,4*mamba,hybrid,3*mamba,hybrid,2*mamba "
     "mamba_d_conv=4 mamba_d_state=64 mamba_expand=2 mamba_headdim=64 n_mamba_heads=80"},
    {"Zyphra/Zamba-7B-v1-phase1", "", CatalogSource::kConfig,
     "zamba layers=76 hidden=3712 heads=16 kv_heads=16 intermediate=14848 vocab=32000 "
     "context=4096 mamba_d_conv=4 mamba_d_state=16 mamba_expand=2 window=null"},
});
// clang-format on

}  // namespace cairn

#endif  // CAIRN_SPEC_CATALOG_STATE_H_
