// Catalogue: DeepSeek, GLM, Kimi, MiniMax.
// Data only; catalog.h says what the fields mean.
#ifndef CAIRN_SPEC_CATALOG_LATENT_H_
#define CAIRN_SPEC_CATALOG_LATENT_H_

#include <array>

#include "cairn/spec/catalog.h"

namespace cairn {

// clang-format off
inline constexpr auto kCatalogLatent = std::to_array<CatalogEntry>({
    {"deepseek-ai/deepseek-llm-67b-base",
     "DeepSeek-67B, deepseek-llm-67b", CatalogSource::kCard,
     "llama layers=95 hidden=8192 heads=64 kv_heads=8 intermediate=22016 vocab=102400 "
     "context=4096 window=131072 tied=false use_sliding_window=false"},
    {"deepseek-ai/deepseek-moe-16b", "", CatalogSource::kConfig,
     "deepseek layers=28 hidden=2048 heads=16 kv_heads=16 intermediate=10944 vocab=102400 "
     "context=4096 attention_bias=false first_k_dense_replace=1 expert_intermediate=1408 "
     "moe_layer_freq=1 n_routed_experts=64 n_shared_experts=2 experts_per_token=6 tied=false"},
    {"deepseek-ai/DeepSeek-R1", "DeepSeek-R1-0528", CatalogSource::kConfig,
     "deepseek_v3 layers=61 hidden=7168 heads=128 kv_heads=128 intermediate=18432 vocab=129280 "
     "context=163840 attention_bias=false first_k_dense_replace=3 latent=512 "
     "expert_intermediate=2048 moe_layer_freq=1 n_routed_experts=256 n_shared_experts=1 "
     "experts_per_token=8 num_nextn_predict_layers=1 query_rank=1536 key_dim=128 rope=64 "
     "tied=false value_dim=128"},
    {"deepseek-ai/DeepSeek-R1-Distill-Llama-8B", "", CatalogSource::kCard,
     "llama layers=32 hidden=4096 heads=32 kv_heads=8 intermediate=14336 vocab=128256 "
     "context=131072 attention_bias=false mlp_bias=false tied=false"},
    {"deepseek-ai/DeepSeek-R1-Distill-Llama-70B", "", CatalogSource::kCard,
     "llama layers=80 hidden=8192 heads=64 kv_heads=8 intermediate=28672 vocab=128256 "
     "context=131072 attention_bias=false mlp_bias=false tied=false"},
    {"deepseek-ai/DeepSeek-R1-Distill-Qwen-7B", "", CatalogSource::kCard,
     "qwen2 layers=28 hidden=3584 heads=28 kv_heads=4 intermediate=18944 vocab=152064 "
     "context=131072 window=131072 tied=false use_sliding_window=false"},
    {"deepseek-ai/DeepSeek-R1-Distill-Qwen-32B", "", CatalogSource::kCard,
     "qwen2 layers=64 hidden=5120 heads=40 kv_heads=8 intermediate=27648 vocab=152064 "
     "context=131072 window=131072 tied=false use_sliding_window=false"},
    {"deepseek-ai/DeepSeek-V2", "", CatalogSource::kRebuilt,
     "deepseek_v2 layers=60 hidden=5120 heads=128 kv_heads=128 intermediate=12288 vocab=102400 "
     "expert_intermediate=1536 n_routed_experts=160 n_shared_experts=2 experts_per_token=6 "
     "first_k_dense_replace=1 query_rank=1536 latent=512 key_dim=128 rope=64 value_dim=128 "
     "tied=false"},
    {"deepseek-ai/DeepSeek-V2-Lite", "", CatalogSource::kConfig,
     "deepseek_v2 layers=27 hidden=2048 heads=16 kv_heads=16 intermediate=10944 vocab=102400 "
     "context=163840 attention_bias=false first_k_dense_replace=1 latent=512 "
     "expert_intermediate=1408 moe_layer_freq=1 n_routed_experts=64 n_shared_experts=2 "
     "experts_per_token=6 query_rank=null key_dim=128 rope=64 tied=false value_dim=128"},
    {"deepseek-ai/DeepSeek-V3", "DeepSeek-V3-0324", CatalogSource::kConfig,
     "deepseek_v3 layers=61 hidden=7168 heads=128 kv_heads=128 intermediate=18432 vocab=129280 "
     "context=163840 attention_bias=false first_k_dense_replace=3 latent=512 "
     "expert_intermediate=2048 moe_layer_freq=1 n_routed_experts=256 n_shared_experts=1 "
     "experts_per_token=8 num_nextn_predict_layers=1 query_rank=1536 key_dim=128 rope=64 "
     "tied=false value_dim=128"},
    {"deepseek-ai/DeepSeek-V3.1", "", CatalogSource::kCopy,
     "deepseek_v3 layers=61 hidden=7168 heads=128 kv_heads=128 intermediate=18432 vocab=129280 "
     "context=163840 attention_bias=false first_k_dense_replace=3 latent=512 "
     "expert_intermediate=2048 moe_layer_freq=1 n_routed_experts=256 n_shared_experts=1 "
     "experts_per_token=8 num_nextn_predict_layers=1 query_rank=1536 key_dim=128 rope=64 "
     "tied=false value_dim=128"},
    {"deepseek-ai/DeepSeek-V3.2", "", CatalogSource::kConfig,
     "deepseek_v32 layers=61 hidden=7168 heads=128 kv_heads=128 intermediate=18432 vocab=129280 "
     "context=163840 attention_bias=false first_k_dense_replace=3 index=128 index_n_heads=64 "
     "index_topk=2048 latent=512 expert_intermediate=2048 moe_layer_freq=1 n_routed_experts=256 "
     "n_shared_experts=1 experts_per_token=8 num_nextn_predict_layers=1 query_rank=1536 "
     "key_dim=128 rope=64 tied=false value_dim=128"},
    {"deepseek-ai/DeepSeek-V4-Flash", "", CatalogSource::kConfig,
     "deepseek_v4 layers=43 hidden=4096 heads=64 kv_heads=1 head_dim=512 vocab=129280 "
     "context=1048576 attention_bias=false index=128 index_n_heads=64 index_topk=512 "
     "expert_intermediate=2048 n_routed_experts=256 n_shared_experts=1 experts_per_token=6 "
     "num_hash_layers=3 num_nextn_predict_layers=1 o_groups=8 o_lora_rank=1024 query_rank=1024 "
     "rope=64 window=128 tied=false compress_ratios=2*0,20*(4,128),4,0"},
    {"deepseek-ai/DeepSeek-V4-Pro", "", CatalogSource::kConfig,
     "deepseek_v4 layers=61 hidden=7168 heads=128 kv_heads=1 head_dim=512 vocab=129280 "
     "context=1048576 attention_bias=false index=128 index_n_heads=64 index_topk=1024 "
     "expert_intermediate=3072 n_routed_experts=384 n_shared_experts=1 experts_per_token=6 "
     "num_hash_layers=3 num_nextn_predict_layers=1 o_groups=16 o_lora_rank=1024 query_rank=1536 "
     "rope=64 window=128 tied=false compress_ratios=2*128,29*(4,128),4,0"},
    {"deepseek-ai/deepseek-vl2-tiny", "", CatalogSource::kConfig,
     "deepseek_v2 layers=12 hidden=1280 heads=10 kv_heads=10 intermediate=6848 vocab=129280 "
     "context=4096 first_k_dense_replace=1 latent=null expert_intermediate=896 "
     "n_routed_experts=64 n_shared_experts=2 experts_per_token=6 query_rank=null key_dim="
     "0 rope=0 "
     "value_dim=0"},
    {"deepseek-ai/Janus-1.3B", "", CatalogSource::kConfig,
     "llama layers=24 hidden=2048 heads=16 kv_heads=16 intermediate=5632 vocab=102400 "
     "context=16384"},
    {"MiniMaxAI/MiniMax-M1-80k", "MiniMax-M1", CatalogSource::kConfig,
     "minimax_m1 layers=80 hidden=6144 heads=64 kv_heads=8 head_dim=128 intermediate=9216 "
     "vocab=200064 context=10240000 experts_per_token=2 num_local_experts=32 window=null "
     "attn_type_list=10*(7*0,1) tied=false"},
    {"MiniMaxAI/MiniMax-M2.5", "", CatalogSource::kConfig,
     "minimax_m2 layers=62 hidden=3072 heads=48 kv_heads=8 head_dim=128 intermediate=1536 "
     "vocab=200064 context=196608 experts_per_token=8 num_local_experts=256 tied=false "
     "use_qk_norm=true use_routing_bias=true num_mtp_modules=3"},
    {"MiniMaxAI/MiniMax-M2.7", "", CatalogSource::kConfig,
     "minimax_m2 layers=62 hidden=3072 heads=48 kv_heads=8 head_dim=128 intermediate=1536 "
     "vocab=200064 context=204800 experts_per_token=8 num_local_experts=256 num_mtp_modules=3 "
     "tied=false use_qk_norm=true use_routing_bias=true"},
    {"MiniMaxAI/MiniMax-M3", "", CatalogSource::kConfig,
     "minimax_m3 layers=60 hidden=6144 heads=64 kv_heads=4 head_dim=128 intermediate=3072 "
     "vocab=200064 context=1048576 dense_intermediate_size=12288 first_k_dense_replace=3 "
     "expert_intermediate=3072 moe_layer_freq=3*0,57*1 n_shared_experts=1 experts_per_token=4 "
     "num_local_experts=128 num_mtp_modules=7 num_nextn_predict_layers=1 "
     "sparse_attention_config.sparse_attention_freq=3*0,57*1 "
     "sparse_attention_config.sparse_block_size=128 sparse_attention_config.sparse_index_"
     "dim=128 "
     "sparse_attention_config.sparse_num_index_heads=4 "
     "sparse_attention_config.sparse_topk_blocks=16 tied=false"},
    {"MiniMaxAI/MiniMax-Text-01", "", CatalogSource::kRebuilt,
     "minimax_text_01 layers=80 hidden=6144 heads=64 kv_heads=8 head_dim=128 intermediate=9216 "
     "vocab=200064 context=10240000 experts_per_token=2 num_local_experts=32 "
     "attn_type_list=10*(7*0,1) tied=false"},
    {"moonshotai/Kimi-K2-Instruct", "Kimi-K2", CatalogSource::kConfig,
     "kimi_k2 layers=61 hidden=7168 heads=64 kv_heads=64 intermediate=18432 vocab=163840 "
     "context=131072 attention_bias=false first_k_dense_replace=1 latent=512 "
     "expert_intermediate=2048 moe_layer_freq=1 n_routed_experts=384 n_shared_experts=1 "
     "experts_per_token=8 num_nextn_predict_layers=0 query_rank=1536 key_dim=128 rope=64 "
     "tied=false value_dim=128"},
    {"moonshotai/Kimi-K2.5", "", CatalogSource::kConfig,
     "kimi_k2 layers=61 hidden=7168 heads=64 kv_heads=64 intermediate=18432 vocab=163840 "
     "context=262144 attention_bias=false first_k_dense_replace=1 latent=512 "
     "expert_intermediate=2048 moe_layer_freq=1 n_routed_experts=384 n_shared_experts=1 "
     "experts_per_token=8 num_nextn_predict_layers=0 query_rank=1536 key_dim=128 rope=64 "
     "tied=false value_dim=128"},
    {"moonshotai/Kimi-K2.6", "", CatalogSource::kCopy,
     "deepseek_v3 layers=61 hidden=7168 heads=64 kv_heads=64 intermediate=18432 vocab=163840 "
     "context=262144 attention_bias=false first_k_dense_replace=1 latent=512 "
     "expert_intermediate=2048 moe_layer_freq=1 n_routed_experts=384 n_shared_experts=1 "
     "experts_per_token=8 num_nextn_predict_layers=0 query_rank=1536 key_dim=128 rope=64 "
     "tied=false value_dim=128"},
    {"moonshotai/Kimi-K3", "", CatalogSource::kConfig,
     "kimi_linear layers=93 hidden=7168 heads=96 kv_heads=96 intermediate=33792 vocab=163840 "
     "context=1048576 first_k_dense_replace=1 latent=512 linear_attn_config.head_dim=128 "
     "linear_attn_config.full_attn_layers=4,8,12,16,20,24,28,32,36,40,44,48,52,56,60,64,68,"
     "72,76,80,84,88,92,93 "
     "linear_attn_config.num_heads=96 linear_attn_config.use_full_rank_gate=true "
     "attn_res_block_size=12 latent_moe_use_norm=true "
     "mla_use_output_gate=true expert_intermediate=3072 "
     "moe_layer_freq=1 experts=896 num_experts_per_token=16 num_nextn_predict_layers=0 "
     "num_shared_experts=2 query_rank=1536 key_dim=128 rope=64 routed_expert_hidden_size=3584 "
     "tied=false value_dim=128"},
    {"moonshotai/Kimi-Linear-48B-A3B-Instruct",
     "Kimi-Linear-48B-A3B, Kimi-Linear", CatalogSource::kRebuilt,
     "kimi_linear layers=27 hidden=2304 heads=32 kv_heads=32 head_dim=72 intermediate=9216 "
     "vocab=163840 model_max_length=1048576 linear_attn_config.head_dim=128 "
     "linear_attn_config.full_attn_layers=4,8,12,16,20,24,27 linear_attn_config.num_heads=32 "
     "experts=256 expert_intermediate=1024 latent=512 query_rank=null key_dim=128 rope=64 "
     "value_dim=128 num_experts_per_token=8 num_shared_experts=1 first_k_dense_replace=1 "
     "num_nextn_predict_layers=0 tied=false"},
    {"zai-org/chatglm3-6b", "", CatalogSource::kCopy,
     "chatglm hidden=4096 heads=32 add_qkv_bias=true ffn_hidden_size=13696 "
     "multi_query_attention=true multi_query_group_num=2 num_layers=28 padded_vocab_size=65024 "
     "seq_length=8192 tied=false"},
    {"zai-org/glm-4-9b", "", CatalogSource::kCopy,
     "chatglm hidden=4096 heads=32 add_qkv_bias=true ffn_hidden_size=13696 "
     "multi_query_attention=true multi_query_group_num=2 num_layers=40 padded_vocab_size=151552 "
     "seq_length=8192 tied=false"},
    {"zai-org/GLM-4.5", "", CatalogSource::kConfig,
     "glm4_moe layers=92 hidden=5120 heads=96 kv_heads=8 head_dim=128 intermediate=12288 "
     "vocab=151552 context=131072 attention_bias=true expert_intermediate=1536 "
     "n_routed_experts=160 n_shared_experts=1 experts_per_token=8 first_k_dense_replace=3 "
     "num_nextn_predict_layers=1 tied=false use_qk_norm=true"},
    {"zai-org/GLM-4.7", "", CatalogSource::kConfig,
     "glm4_moe layers=92 hidden=5120 heads=96 kv_heads=8 head_dim=128 intermediate=12288 "
     "vocab=151552 context=202752 n_routed_experts=160 n_shared_experts=1 experts_per_token=8 "
     "expert_intermediate=1536 first_k_dense_replace=3"},
    {"zai-org/GLM-4.7-Flash", "", CatalogSource::kConfig,
     "glm4_moe_lite layers=47 hidden=2048 heads=20 kv_heads=20 head_dim=64 intermediate=10240 "
     "vocab=154880 context=202752 n_routed_experts=64 n_shared_experts=1 experts_per_token=4 "
     "expert_intermediate=1536 first_k_dense_replace=1 latent=512 query_rank=768 key_dim=192 "
     "rope=64 value_dim=256 tied=false"},
    {"zai-org/GLM-5", "", CatalogSource::kConfig,
     "glm_moe_dsa layers=78 hidden=6144 heads=64 kv_heads=64 head_dim=64 intermediate=12288 "
     "vocab=154880 context=202752 attention_bias=false first_k_dense_replace=3 index=128 "
     "index_n_heads=32 index_topk=2048 latent=512 expert_intermediate=2048 moe_layer_freq=1 "
     "n_routed_experts=256 n_shared_experts=1 experts_per_token=8 num_nextn_predict_layers=1 "
     "query_rank=2048 key_dim=192 rope=64 tied=false value_dim=256"},
    {"zai-org/GLM-5.1", "", CatalogSource::kConfig,
     "glm_moe_dsa layers=78 hidden=6144 heads=64 kv_heads=64 head_dim=64 intermediate=12288 "
     "vocab=154880 context=202752 attention_bias=false first_k_dense_replace=3 index=128 "
     "index_n_heads=32 index_topk=2048 latent=512 expert_intermediate=2048 moe_layer_freq=1 "
     "n_routed_experts=256 n_shared_experts=1 experts_per_token=8 num_nextn_predict_layers=1 "
     "query_rank=2048 key_dim=192 rope=64 tied=false value_dim=256"},
    {"zai-org/GLM-5.2", "", CatalogSource::kConfig,
     "glm_moe_dsa layers=78 hidden=6144 heads=64 kv_heads=64 head_dim=192 intermediate=12288 "
     "vocab=154880 context=1048576 attention_bias=false first_k_dense_replace=3 index=128 "
     "index_n_heads=32 index_topk=2048 indexer_types=3*full,18*(3*shared,full),3*shared "
     "latent=512 expert_intermediate=2048 moe_layer_freq=1 n_routed_experts=256 "
     "n_shared_experts=1 experts_per_token=8 num_nextn_predict_layers=1 query_rank=2048 "
     "key_dim=192 rope=64 tied=false value_dim=256"},
    {"zai-org/GLM-5.3", "", CatalogSource::kConfig,
     "glm_moe_dsa layers=78 hidden=6144 heads=64 kv_heads=64 head_dim=192 intermediate=12288 "
     "vocab=154880 context=1048576 attention_bias=false first_k_dense_replace=3 index=128 "
     "index_n_heads=32 index_topk=2048 indexer_types=3*full,18*(3*shared,full),3*shared "
     "latent=512 expert_intermediate=2048 moe_layer_freq=1 n_routed_experts=256 "
     "n_shared_experts=1 experts_per_token=8 num_nextn_predict_layers=1 query_rank=2048 "
     "key_dim=192 rope=64 tied=false value_dim=256"},
});
// clang-format on

}  // namespace cairn

#endif  // CAIRN_SPEC_CATALOG_LATENT_H_
