// Catalogue: other publishers.
// Data only; catalog.h says what the fields mean.
#ifndef CAIRN_SPEC_CATALOG_OTHER_H_
#define CAIRN_SPEC_CATALOG_OTHER_H_

#include <array>

#include "cairn/spec/catalog.h"

namespace cairn {

// clang-format off
inline constexpr auto kCatalogOther = std::to_array<CatalogEntry>({
    {"01-ai/Yi-34B", "", CatalogSource::kConfig,
     "llama layers=60 hidden=7168 heads=56 kv_heads=8 intermediate=20480 vocab=64000 cont"
     "ext=4096 "
     "tied=false"},
    {"allenai/OLMo-2-0325-32B", "", CatalogSource::kConfig,
     "olmo2 layers=64 hidden=5120 heads=40 kv_heads=8 intermediate=27648 vocab=100352 "
     "context=4096 tied=false"},
    {"allenai/OLMo-2-1124-7B", "", CatalogSource::kConfig,
     "olmo2 layers=32 hidden=4096 heads=32 kv_heads=32 intermediate=11008 vocab=100352 "
     "context=4096 tied=false"},
    {"allenai/OLMo-2-1124-13B", "", CatalogSource::kConfig,
     "olmo2 layers=40 hidden=5120 heads=40 kv_heads=40 intermediate=13824 vocab=100352 "
     "context=4096 tied=false"},
    {"allenai/Olmo-3-1025-7B", "", CatalogSource::kConfig,
     "olmo3 layers=32 hidden=4096 heads=32 kv_heads=32 intermediate=11008 vocab=100278 "
     "context=8192 window=4096 tied=false attention_bias=false"},
    {"allenai/Olmo-3.1-32B-Instruct", "Olmo-3.1-32B", CatalogSource::kConfig,
     "olmo3 layers=64 hidden=5120 heads=40 kv_heads=8 intermediate=27648 vocab=100278 "
     "context=65536 attention_bias=false layer_types=16*(3*sliding_attention,full_attention) "
     "window=4096 tied=false"},
    {"apple/OpenELM-1_1B", "OpenELM-1.1B", CatalogSource::kRebuilt,
     "openelm head_dim=64 vocab=32000 "
     "ffn_multipliers=0.5,0.63,0.76,0.89,1.02,1.15,1.28,1.41,1.54,1.67,1.8,1.93,2.06,2.19,"
     "2.31,2.44,2.57,2.7,2.83,2.96,3.09,3.22,3.35,3.48,3.61,3.74,3.87,4.0 "
     "max_context_length=2048 model_dim=2048 num_kv_heads=3*4,7*5,8*6,6*7,4*8 "
     "num_query_heads=3*16,7*20,8*24,6*28,4*32 num_transformer_layers=28"},
    {"apple/OpenELM-270M", "", CatalogSource::kRebuilt,
     "openelm head_dim=64 vocab=32000 model_dim=1280 max_context_length=2048 "
     "num_kv_heads=5*3,7*4,4*5 num_query_heads=5*12,7*16,4*20 num_transformer_layers=16 "
     "ffn_multipliers=0.5,0.73,0.97,1.2,1.43,1.67,1.9,2.13,2.37,2.6,2.83,3.07,3.3,3.53,3.77,4.0"},
    {"arcee-ai/Trinity-Nano-Preview", "Trinity-Nano", CatalogSource::kRebuilt,
     "afmoe layers=56 kv_heads=2 head_dim=128 window=2048 "
     "layer_types=14*(3*sliding_attention,full_attention)"},
    {"baichuan-inc/Baichuan2-7B-Chat", "Baichuan2-7B", CatalogSource::kConfig,
     "baichuan layers=32 hidden=4096 heads=32 intermediate=11008 vocab=125696 context=4096 "
     "tied=false"},
    {"baichuan-inc/Baichuan-M1-14B-Instruct",
     "Baichuan-M1-14B", CatalogSource::kRebuilt,
     "baichuan_m1 layers=40 hidden=5120 heads=20 kv_heads=2 num_swa_attention_heads=40 "
     "num_swa_key_value_heads=8 window=8192 "
     "sliding_window_layers=1,3,5,7,9,11,13,15,17,19,21,23,25,27,29,31,33,35,37,39"},
    {"bigcode/gpt_bigcode-santacoder", "", CatalogSource::kConfig,
     "gpt_bigcode vocab=49280 n_embd=2048 n_head=16 n_layer=24 n_positions=2048"},
    {"bigcode/starcoder", "", CatalogSource::kCopy,
     "gpt_bigcode vocab=49152 n_embd=6144 n_head=48 n_layer=40 n_positions=8192"},
    {"bigcode/starcoder2-7b", "", CatalogSource::kConfig,
     "starcoder2 layers=32 hidden=4608 heads=36 kv_heads=4 intermediate=18432 vocab=49152 "
     "context=16384 window=4096"},
    {"bigscience/bloom", "", CatalogSource::kCopy,
     "bloom hidden=14336 vocab=250880 n_head=112 n_layer=70"},
    {"CohereLabs/aya-23-8B", "", CatalogSource::kCopy,
     "cohere layers=32 hidden=4096 heads=32 kv_heads=8 intermediate=14336 vocab=256000 "
     "context=8192 attention_bias=false"},
    {"CohereLabs/c4ai-command-r7b-12-2024", "", CatalogSource::kCopy,
     "cohere2 layers=32 hidden=4096 heads=32 kv_heads=8 head_dim=128 intermediate=14336 "
     "vocab=256000 context=8192 attention_bias=false window=4096"},
    {"CohereLabs/c4ai-command-r-08-2024", "", CatalogSource::kCopy,
     "cohere layers=40 hidden=8192 heads=64 kv_heads=8 intermediate=24576 vocab=256000 "
     "context=131072 attention_bias=false"},
    {"CohereLabs/c4ai-command-r-v01", "", CatalogSource::kCopy,
     "cohere layers=40 hidden=8192 heads=64 kv_heads=64 intermediate=22528 vocab=256000 "
     "context=131072"},
    {"CohereLabs/command-a-translate-08-2025", "", CatalogSource::kRebuilt,
     "cohere2 layers=64 hidden=12288 heads=96 kv_heads=8 head_dim=128 intermediate=36864 "
     "vocab=256000 layer_types=16*(3*sliding_attention,full_attention) window=4096 tied=true"},
    {"CohereLabs/tiny-aya", "", CatalogSource::kRebuilt,
     "cohere2 layers=36 hidden=2048 heads=16 kv_heads=4 head_dim=128 intermediate=11008 "
     "vocab=262144 context=500000 layer_types=9*(3*sliding_attention,"
     "full_attention) window=4096 "
     "tied=true"},
    {"databricks/dbrx-base", "dbrx", CatalogSource::kRebuilt,
     "dbrx vocab=100352 d_model=6144 n_heads=48 n_layers=40 max_seq_len=32768 "
     "attn_config.kv_n_heads=8 ffn_config.ffn_hidden_size=10752 ffn_config.moe_num_experts=16 "
     "ffn_config.moe_top_k=4 tied=false"},
    {"EleutherAI/gpt-j-6b", "", CatalogSource::kConfig,
     "gptj vocab=50400 n_embd=4096 n_head=16 n_layer=28 n_positions=2048 tied=false"},
    {"EleutherAI/gpt-neox-20b", "", CatalogSource::kCopy,
     "gpt_neox layers=44 hidden=6144 heads=64 intermediate=24576 vocab=50432 context=2048 "
     "tied=false"},
    {"facebook/opt-13b", "", CatalogSource::kCopy,
     "opt layers=40 hidden=5120 heads=40 vocab=50272 context=2048"},
    {"HuggingFaceTB/SmolLM2-135M-Instruct", "SmolLM2-135M", CatalogSource::kConfig,
     "llama layers=30 hidden=576 heads=9 kv_heads=3 intermediate=1536 vocab=49152 context=8192 "
     "attention_bias=false mlp_bias=false tied=true"},
    {"HuggingFaceTB/SmolLM2-360M", "SmolLM2-360M-Instruct", CatalogSource::kCard,
     "llama layers=32 hidden=960 heads=15 kv_heads=5 head_dim=64 intermediate=2560 vocab=49152 "
     "context=8192 attention_bias=false mlp_bias=false tied=true"},
    {"HuggingFaceTB/SmolLM3-3B", "", CatalogSource::kRebuilt,
     "smollm3 layers=36 hidden=2048 heads=16 kv_heads=4 intermediate=11008 vocab=128256 "
     "context=65536 attention_bias=false layer_types=36*full_attention mlp_bias=false win"
     "dow=null "
     "use_sliding_window=false tied=true"},
    {"HuggingFaceTB/SmolLM-1.7B", "", CatalogSource::kConfig,
     "llama layers=24 hidden=2048 heads=32 kv_heads=32 intermediate=8192 vocab=49152 cont"
     "ext=2048 "
     "attention_bias=false tied=true"},
    {"internlm/internlm2-7b", "", CatalogSource::kConfig,
     "internlm2 layers=32 hidden=4096 heads=32 kv_heads=8 intermediate=14336 vocab=92544 "
     "context=32768 tied=false"},
    {"internlm/internlm-chat-7b", "", CatalogSource::kConfig,
     "internlm layers=32 hidden=4096 heads=32 intermediate=11008 vocab=103168 context=2048 "
     "tied=false"},
    {"LGAI-EXAONE/EXAONE-3.0-7.8B-Instruct",
     "EXAONE-3.0-7.8B", CatalogSource::kConfig,
     "exaone hidden=4096 heads=32 kv_heads=8 head_dim=128 intermediate=14336 vocab=102400 "
     "context=32768 num_layers=32 tied=false"},
    {"LGAI-EXAONE/EXAONE-4.0-32B", "", CatalogSource::kConfig,
     "exaone4 layers=64 hidden=5120 heads=40 kv_heads=8 head_dim=128 intermediate=27392 "
     "vocab=102400 context=131072 layer_types=16*(3*sliding_attention,"
     "full_attention) window=4096 "
     "tied=false"},
    {"meituan-longcat/LongCat-Flash-Chat", "LongCat-Flash", CatalogSource::kRebuilt,
     "longcat_flash hidden=6144 heads=64 vocab=131072 num_layers=28 latent=512 query_rank=1536 "
     "key_dim=128 rope=64 value_dim=128"},
    {"mosaicml/mpt-7b", "", CatalogSource::kConfig,
     "mpt vocab=50432 attn_config.alibi=true d_model=4096 max_seq_len=2048 n_heads=32 n_l"
     "ayers=32"},
    {"openai-community/gpt2", "GPT-2", CatalogSource::kConfig,
     "gpt2 vocab=50257 n_embd=768 n_head=12 n_layer=12 n_positions=1024"},
    {"openai-community/gpt2-medium", "", CatalogSource::kConfig,
     "gpt2 vocab=50257 n_embd=1024 n_head=16 n_layer=24 n_positions=1024"},
    {"openai/gpt-oss-20b", "", CatalogSource::kConfig,
     "gpt_oss layers=24 hidden=2880 heads=64 kv_heads=8 head_dim=64 intermediate=2880 "
     "vocab=201088 context=131072 attention_bias=true "
     "layer_types=12*(sliding_attention,"
     "full_attention) experts_per_token=4 num_local_experts=32 "
     "window=128 tied=false"},
    {"openai/gpt-oss-120b", "", CatalogSource::kConfig,
     "gpt_oss layers=36 hidden=2880 heads=64 kv_heads=8 head_dim=64 intermediate=2880 "
     "vocab=201088 context=131072 attention_bias=true "
     "layer_types=18*(sliding_attention,"
     "full_attention) experts_per_token=4 num_local_experts=128 "
     "window=128 tied=false"},
    {"openbmb/MiniCPM3-4B", "", CatalogSource::kConfig,
     "minicpm3 layers=62 hidden=2560 heads=40 kv_heads=40 intermediate=6400 vocab=73448 "
     "context=32768 key_dim=64 rope=32 query_rank=768 latent=256"},
    {"openbmb/MiniCPM-2B-128k", "", CatalogSource::kConfig,
     "minicpm layers=40 hidden=2304 heads=36 kv_heads=36 intermediate=5760 vocab=122760 "
     "context=65536 tied=false"},
    {"openbmb/MiniCPM-2B-sft-bf16", "MiniCPM-2B-sft", CatalogSource::kConfig,
     "minicpm layers=40 hidden=2304 heads=36 kv_heads=36 intermediate=5760 vocab=122753 "
     "context=4096 tied=true"},
    {"openbmb/MiniCPM-MoE-8x2B", "", CatalogSource::kConfig,
     "minicpm layers=40 hidden=2304 heads=36 kv_heads=36 intermediate=5760 vocab=122753 "
     "context=4096 tied=true experts=8 experts_per_token=2"},
    {"OrionStarAI/Orion-14B-Chat", "Orion-14B", CatalogSource::kConfig,
     "orion layers=40 hidden=5120 heads=40 kv_heads=40 intermediate=15360 vocab=84608 "
     "context=4096 tied=false"},
    {"stabilityai/stablelm-2-zephyr-1_6b", "", CatalogSource::kConfig,
     "stablelm layers=24 hidden=2048 heads=32 kv_heads=32 intermediate=5632 vocab=100352 "
     "context=4096 tied=false use_qkv_bias=true"},
    {"stabilityai/stablelm-3b-4e1t", "", CatalogSource::kConfig,
     "stablelm layers=32 hidden=2560 heads=32 kv_heads=32 intermediate=6912 vocab=50304 "
     "context=4096 tied=false"},
    {"stepfun-ai/Step-3.7-Flash", "", CatalogSource::kConfig,
     "step3p7 layers=45 hidden=4096 heads=64 kv_heads=8 head_dim=128 intermediate=11264 "
     "vocab=128896 context=65536 window=512 "
     "layer_types=11*(full_attention,3*sliding_attention),"
     "full_attention first_k_dense_replace=3 "
     "experts=288 experts_per_token=8 expert_intermediate=1280 n_shared_experts=1 "
     "num_nextn_predict_layers=3"},
    {"tencent/Hy-MT2-7B", "", CatalogSource::kRebuilt,
     "hunyuan_v1_dense layers=32 hidden=4096 heads=32 kv_heads=8 head_dim=128 intermediat"
     "e=14336 "
     "vocab=128167 context=262144 tied=true"},
    {"tencent/Tencent-Hunyuan-Large-A50B-Pretrain",
     "Hunyuan-Large", CatalogSource::kConfig,
     "hunyuan layers=64 hidden=6400 heads=80 kv_heads=8 intermediate=18304 vocab=128512 "
     "context=262144 attention_bias=false moe_topk=1 experts=16 num_shared_expert=1 tied=true "
     "use_cla=true use_qk_norm=true"},
    {"togethercomputer/RedPajama-INCITE-Chat-3B-v1", "", CatalogSource::kConfig,
     "gpt_neox layers=32 hidden=2560 heads=32 intermediate=10240 vocab=50432 context=2048 "
     "tied=false"},
    {"XiaomiMiMo/MiMo-7B-Base", "MiMo-7B", CatalogSource::kConfig,
     "mimo layers=36 hidden=4096 heads=32 kv_heads=8 head_dim=128 intermediate=11008 voca"
     "b=151680 "
     "context=32768 attention_bias=true window=32768 use_sliding_window=false "
     "num_nextn_predict_layers=1 tied=false"},
    {"XiaomiMiMo/MiMo-V2-Flash", "", CatalogSource::kConfig,
     "mimo_v2_flash layers=48 hidden=4096 heads=64 kv_heads=4 head_dim=192 intermediate=16384 "
     "vocab=152576 context=262144 value_dim=128 window=128 swa_num_key_value_heads=8 "
     "hybrid_layer_pattern=2*(0,4*1),6*(1,0,4*1),1,0 moe_layer_freq=0,47*1 "
     "expert_intermediate=2048 n_routed_experts=256 n_shared_experts=null experts_per_token=8 "
     "attention_bias=false add_swa_attention_sink_bias=true tied=false"},
    {"xverse/XVERSE-7B", "", CatalogSource::kConfig,
     "xverse layers=32 hidden=4096 heads=32 intermediate=11008 vocab=100534 context=8192 "
     "tied=false"},
});
// clang-format on

}  // namespace cairn

#endif  // CAIRN_SPEC_CATALOG_OTHER_H_
