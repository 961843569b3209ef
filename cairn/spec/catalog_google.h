// Catalogue: Gemma and RecurrentGemma.
// Data only; catalog.h says what the fields mean.
#ifndef CAIRN_SPEC_CATALOG_GOOGLE_H_
#define CAIRN_SPEC_CATALOG_GOOGLE_H_

#include <array>

#include "cairn/spec/catalog.h"

namespace cairn {

// clang-format off
inline constexpr auto kCatalogGoogle = std::to_array<CatalogEntry>({
    {"google/functiongemma-270m-it", "functiongemma-270m", CatalogSource::kRebuilt,
     "gemma3_text layers=18 hidden=640 heads=4 kv_heads=1 head_dim=256 intermediate=2048 "
     "vocab=262144 context=32768 window=512 layer_types=3*(5*sliding_attention,full_attention)"},
    {"google/gemma-2-2b", "", CatalogSource::kConfig,
     "gemma2 layers=26 hidden=2304 heads=8 kv_heads=4 head_dim=256 intermediate=9216 voca"
     "b=256000 "
     "context=8192 attention_bias=false window=4096"},
    {"google/gemma-2-9b-it", "gemma-2-9b", CatalogSource::kConfig,
     "gemma2 layers=42 hidden=3584 heads=16 kv_heads=8 head_dim=256 intermediate=14336 "
     "vocab=256000 context=8192 attention_bias=false window=4096"},
    {"google/gemma-2-27b-it", "Gemma-2-27B", CatalogSource::kConfig,
     "gemma2 layers=46 hidden=4608 heads=32 kv_heads=16 head_dim=128 intermediate=36864 "
     "vocab=256000 context=8192 attention_bias=false window=4096"},
    {"google/gemma-2b", "Gemma-1-2B", CatalogSource::kConfig,
     "gemma layers=18 hidden=2048 heads=8 kv_heads=1 head_dim=256 intermediate=16384 voca"
     "b=256000 "
     "context=8192 attention_bias=false"},
    {"google/gemma-3-1b-it", "gemma-3-1b", CatalogSource::kConfig,
     "gemma3_text layers=26 hidden=1152 heads=4 kv_heads=1 head_dim=256 intermediate=6912 "
     "vocab=262144 context=32768 attention_bias=false window=512"},
    {"google/gemma-3-4b-it", "gemma-3-4b", CatalogSource::kCopy,
     "gemma3 text_config.layers=34 text_config.hidden=2560 text_config.intermediate=10240 "
     "text_config.model_type=gemma3_text text_config.window=1024"},
    {"google/gemma-3-12b-it", "Gemma-3-12B", CatalogSource::kCard,
     "gemma3_text layers=48 hidden=3840 heads=16 kv_heads=8 head_dim=256 intermediate=15360 "
     "vocab=262208 context=131072 attention_bias=false window=1024"},
    {"google/gemma-3-27b-it", "Gemma-3-27B", CatalogSource::kConfig,
     "gemma3 text_config.layers=62 text_config.hidden=5376 text_config.heads=32 "
     "text_config.kv_heads=16 text_config.head_dim=128 text_config.intermediate=21504 "
     "text_config.model_type=gemma3_text text_config.window=1024"},
    {"google/gemma-3n-E2B-it", "gemma-3n-E2B", CatalogSource::kRebuilt,
     "gemma3n_text layers=30 hidden=2048 heads=8 kv_heads=2 head_dim=256 intermediate=30*8192 "
     "vocab=262400 context=32768 hidden_size_per_layer_input=256 "
     "vocab_size_per_layer_input=262144 window=512 num_kv_shared_layers=10 "
     "layer_types=6*(4*sliding_attention,full_attention)"},
    {"google/gemma-3n-E4B-it", "gemma-3n-E4B", CatalogSource::kRebuilt,
     "gemma3n_text layers=35 hidden=2048 heads=8 kv_heads=2 head_dim=256 intermediate=35*16384 "
     "vocab=262400 context=32768 hidden_size_per_layer_input=256 "
     "vocab_size_per_layer_input=262144 window=512 num_kv_shared_layers=15 "
     "layer_types=7*(4*sliding_attention,full_attention)"},
    {"google/gemma-4-26B-A4B", "", CatalogSource::kConfig,
     "gemma4_text layers=30 hidden=2816 heads=16 kv_heads=8 head_dim=256 intermediate=2112 "
     "vocab=262144 context=262144 attention_bias=false attention_k_eq_v=true "
     "enable_moe_block=true global_head_dim=512 "
     "layer_types=5*(5*sliding_attention,full_attention) expert_intermediate=704 experts=128 "
     "num_global_key_value_heads=2 window=1024 tied=true top_k_experts=8"},
    {"google/gemma-4-31B-it", "Gemma-4-31B", CatalogSource::kCopy,
     "gemma4_text layers=60 hidden=5376 heads=32 kv_heads=16 head_dim=256 intermediate=21504 "
     "vocab=262144 context=262144 attention_bias=false attention_k_eq_v=true global_head_"
     "dim=512 "
     "layer_types=10*(5*sliding_attention,full_attention) num_global_key_value_heads=4 "
     "window=1024 tied=true"},
    {"google/gemma-4-E2B", "", CatalogSource::kConfig,
     "gemma4_text layers=35 hidden=1536 heads=8 kv_heads=1 head_dim=256 intermediate=6144 "
     "vocab=262144 context=131072 attention_bias=false global_head_dim=512 "
     "hidden_size_per_layer_input=256 layer_types=7*(4*sliding_attention,full_attention) "
     "num_kv_shared_layers=20 window=512 tied=true use_double_wide_mlp=true"},
    {"google/gemma-4-E4B", "", CatalogSource::kConfig,
     "gemma4_text layers=42 hidden=2560 heads=8 kv_heads=2 head_dim=256 intermediate=10240 "
     "vocab=262144 context=131072 attention_bias=false global_head_dim=512 "
     "hidden_size_per_layer_input=256 layer_types=7*(5*sliding_attention,full_attention) "
     "num_kv_shared_layers=18 window=512 tied=true"},
    {"google/gemma-7b", "Gemma-1-7B", CatalogSource::kConfig,
     "gemma layers=28 hidden=3072 heads=16 kv_heads=16 head_dim=256 intermediate=24576 "
     "vocab=256000 context=8192 attention_bias=false"},
    {"google/recurrentgemma-2b-it", "recurrentgemma-2b", CatalogSource::kCopy,
     "recurrent_gemma layers=26 hidden=2560 heads=10 kv_heads=1 head_dim=256 intermediate=15360 "
     "vocab=256000 attention_bias=false attention_window_size=2048"},
    {"google/recurrentgemma-9b", "", CatalogSource::kCopy,
     "recurrent_gemma layers=38 hidden=4096 heads=16 kv_heads=1 head_dim=256 intermediate=24576 "
     "vocab=256000 attention_bias=false attention_window_size=2048"},
});
// clang-format on

}  // namespace cairn

#endif  // CAIRN_SPEC_CATALOG_GOOGLE_H_
