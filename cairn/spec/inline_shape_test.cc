#include "cairn/spec/inline_shape.h"

#include <doctest/doctest.h>

#include <string>

#include "cairn/spec/catalog.h"
#include "cairn/spec/families_for_tests.h"

namespace cairn {
namespace {

const StateCodecs kBFloat16 = {.keys = DType::kBF16, .values = DType::kBF16};

ModelSpec Shape(std::string_view text) {
  const auto model = ModelFromShape(text);
  REQUIRE_MESSAGE(model.has_value(), model.error().message);
  return *model;
}

StateLayout LayoutOf(std::string_view text) {
  const auto layout = StateLayout::Make(StateSpecOf(Shape(text), kBFloat16));
  REQUIRE_MESSAGE(layout.has_value(), layout.error().message);
  return *layout;
}

std::string ShapeError(std::string_view text) {
  const auto model = ModelFromShape(text);
  REQUIRE_FALSE(model.has_value());
  CHECK(model.error().IsBadInput());
  CHECK_EQ(model.error().message.find('\n'), std::string::npos);
  return model.error().message;
}

}  // namespace

TEST_CASE("three numbers size grouped attention") {
  CHECK_EQ(LayoutOf("layers=32,kv_heads=8,head_dim=128").MarginalBytesPerToken(), Bytes(131072));
  CHECK_EQ(LayoutOf("layers=32 hidden=4096 heads=32").MarginalBytesPerToken(), Bytes(524288));
  CHECK_EQ(LayoutOf("layers=1,kv_heads=2,head_dim=64,value_dim=32").MarginalBytesPerToken(),
           Bytes(2 * (64 + 32) * 2));
}

TEST_CASE("latent rows, windows, chunks and shared caches are shapes too") {
  CHECK_EQ(LayoutOf("layers=61,latent=512,rope=64").MarginalBytesPerToken(), Bytes(70272));
  CHECK_EQ(LayoutOf("layers=61,latent=512,rope=64,index=128").MarginalBytesPerToken(),
           Bytes(61 * 704 * 2));
  const StateLayout window = LayoutOf("layers=32,kv_heads=8,head_dim=128,window=4096");
  CHECK_EQ(window.MarginalBytesPerToken(), Bytes(0));
  CHECK_EQ(window.SeenRowBytes(TokenCount(100000)), Bytes(536870912));
  const StateLayout mixed = LayoutOf("layers=6,kv_heads=1,head_dim=1,window=8,full_every=3");
  CHECK_EQ(mixed.SeenRowBytes(TokenCount(100)), Bytes(4 * (2 * 100 + 4 * 8)));
  CHECK_EQ(LayoutOf("layers=2,kv_heads=1,head_dim=1,chunk=8").SeenRowBytes(TokenCount(100)),
           Bytes(2 * 4 * 8));
  CHECK_EQ(LayoutOf("layers=32,kv_heads=8,head_dim=128,share=2").MarginalBytesPerToken(),
           Bytes(65536));
}

TEST_CASE("parameters are counted only where the shape tells them all") {
  CHECK_EQ(Shape("layers=32,kv_heads=8,head_dim=128").uncounted, "hidden isn't given");
  CHECK_EQ(Shape("layers=32,heads=8,hidden=1024,vocab=99").uncounted, "intermediate isn't given");
  CHECK_EQ(Shape("layers=2,heads=8,hidden=64,vocab=99,intermediate=128").uncounted, "");
  CHECK_EQ(Shape("layers=2,latent=8,hidden=64,vocab=99,heads=2,intermediate=9").uncounted,
           "query_rank isn't given");
}

TEST_CASE("with a model_type the family reads the shape") {
  const StateLayout layout = LayoutOf(
      "model_type=qwen3_next,layers=4,hidden=64,heads=4,kv_heads=2,head_dim=16,vocab=99,"
      "linear_num_key_heads=2,linear_num_value_heads=4,linear_key_head_dim=8,"
      "linear_value_head_dim=8,linear_conv_kernel_dim=4");
  CHECK_EQ(layout.MarginalBytesPerToken(), Bytes(2 * 2 * 16 * 2));
  CHECK_GT(layout.fixed_bytes(), Bytes(0));
  CHECK_EQ(Shape("mamba,hidden=64,layers=2,vocab=9").layers.size(), 2);
}

TEST_CASE("a key that can't be right is named with what is allowed") {
  CHECK_NE(ShapeError("layers=32,kv_head=8").find(R"(no such key: "kv_head"; without model_type)"),
           std::string::npos);
  CHECK_NE(ShapeError("llama layers=32,nonsense=8").find(R"(no such key: "nonsense"; with model)"),
           std::string::npos);
  CHECK_EQ(ShapeError("layers=32"), R"("layers=32": kv_heads is missing)");
  CHECK_EQ(ShapeError("layers=0,kv_heads=8,head_dim=128"),
           R"("layers=0,kv_heads=8,head_dim=128": layers is 0, expected an integer from 1 to 512)");
  CHECK_NE(ShapeError("layers=2,kv_heads=8").find("head_dim is missing"), std::string::npos);
  CHECK_NE(ShapeError("layers=2,heads=6,kv_heads=4,head_dim=8").find("a divisor of heads (6)"),
           std::string::npos);
  CHECK_NE(ShapeError("layers=2,latent=8,window=4").find("no such key beside latent"),
           std::string::npos);
  CHECK_NE(ShapeError("layers=2,kv_heads=1,head_dim=8,full_every=2").find("a window or a chunk"),
           std::string::npos);
  CHECK_NE(ShapeError("layers=2,kv_heads=1,head_dim=8,rope=2").find("latent beside it"),
           std::string::npos);
  CHECK_NE(ShapeError("layers=2,kv_heads=1,head_dim=x").find(R"(head_dim is "x", expected)"),
           std::string::npos);
  CHECK_NE(ShapeError("layers=2,kv_heads=16384,head_dim=16384").find("in all heads"),
           std::string::npos);
}

}  // namespace cairn
