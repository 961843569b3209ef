#include <doctest/doctest.h>

#include "cairn/sizing/profile_models_for_tests.h"

namespace cairn {

// Lines of Llama-3.2-3B, Ling-3.0-tiny and Qwen3.x logs.
TEST_CASE("cells take the bytes of the types of keys and values") {
  const Section section = MustAsk(DenseModel(28, 8, 128), "llama.cpp@b8247",
                                  {"cells=4096", "type_k=q8_0", "type_v=f16"});
  CHECK_EQ(NumberOf(section, "K_MiB"), 119.0);
  CHECK_EQ(NumberOf(section, "V_MiB"), 224.0);
  CHECK(Prints(section, "size =  343.00 MiB (  4096 cells,  28 layers"));
  CHECK_EQ(NumberOf(MustAsk(DenseModel(28, 8, 128), "llama.cpp", {"cells=4096", "type_k=q4_0"}),
                    "K_MiB"),
           63.0);
}

TEST_CASE("latent rows are keys only, in each stream") {
  ModelSpec model;
  AddLayers(model, 6, Latent(false));
  const Section section = MustAsk(model, "llama.cpp", {"cells=4096", "streams=2"});
  CHECK_EQ(NumberOf(section, "K_MiB"), 54.0);
  CHECK_EQ(NumberOf(section, "V_MiB"), 0.0);
}

TEST_CASE("recurrent rows are float, a copy for each sequence and rollback") {
  ModelSpec model;
  AddLayers(model, 48, DeltaRule(16, 48));
  AddLayers(model, 16, Heads(4, 256));
  const auto total = [&](const char* copies) {
    return NumberOf(MustAsk(model, "llama.cpp", {copies}), "recurrent_total_MiB");
  };
  CHECK_EQ(total("state_copies=1"), 149.625);
  CHECK_EQ(total("state_copies=3"), 448.875);
  CHECK_EQ(total("state_copies=7"), 1047.375);
  CHECK_EQ(total("seqs=4"), 4 * 149.625);
}

TEST_CASE("windows have cells for their tokens, the sequences and a batch") {
  ModelSpec model;
  AddLayers(model, 5, Heads(8, 128, 1024));
  AddLayers(model, 1, Heads(8, 128));
  const auto cells = [&](std::initializer_list<const char*> settings) {
    return IntOf(MustAsk(model, "llama.cpp", settings), "swa_cells");
  };
  CHECK_EQ(cells({"cells=32768"}), 1536);
  CHECK_EQ(cells({"cells=32768", "seqs=4"}), 4608 + 0);
  CHECK_EQ(cells({"cells=32768", "seqs=4", "streams=4"}), 1536);
  CHECK_EQ(cells({"cells=1000"}), 1024);
  CHECK_EQ(cells({"cells=32768", "swa_full=on"}), 32768);
}

TEST_CASE("a type that doesn't fit the width is refused") {
  CHECK_FALSE(AskProfile(DenseModel(1, 1, 48), "llama.cpp", {"type_k=q8_0"}).has_value());
  CHECK_FALSE(AskProfile(DenseModel(1, 1, 64), "llama.cpp", {"type_v=fp8"}).has_value());
  CHECK_FALSE(AskProfile(DenseModel(1, 1, 64), "llama.cpp", {"type_k=lm4"}).has_value());
}

TEST_CASE("compressed attention has a buffer for the windows and one for each ratio") {
  const Section section = MustAsk(CompressedModel(), "llama.cpp", {"cells=65536"});
  CHECK_EQ(IntOf(section, "swa_cells"), 768);
  CHECK_EQ(NumberOf(section, "swa_K_MiB"), 43.0 * 768 * 1024 / (1 << 20));
  CHECK_EQ(IntOf(section, "ratio_4_cells"), 16384);
  CHECK_EQ(NumberOf(section, "ratio_4_K_MiB"), 21.0 * 16384 * 1024 / (1 << 20));
  CHECK_EQ(IntOf(section, "ratio_128_cells"), 512);
  CHECK_EQ(IntOf(section, "index_cells"), 16384);
  const double open = 21.0 * 2 * 8 * 2 * (512 + 128) + 20.0 * 2 * 128 * 512;
  CHECK_EQ(NumberOf(section, "compressor_MiB"), open * 4 / (1 << 20));
}

}  // namespace cairn
