#include <doctest/doctest.h>

#include "cairn/spec/families_for_tests.h"
#include "cairn/spec/family.h"

namespace cairn {
namespace {

std::vector<bool> Sliding(const Metadata& metadata, size_t layers) {
  const auto sliding = SlidingLayersFromGguf(metadata, "gemma3", layers, 6);
  REQUIRE_MESSAGE(sliding.has_value(), sliding.error().message);
  return *sliding;
}

}  // namespace

TEST_CASE("a GGUF pattern is a period or one flag a layer") {
  const std::string key = "gemma3.attention.sliding_window_pattern";
  Metadata metadata("m.gguf");
  CHECK_EQ(Sliding(metadata, 7), std::vector<bool>{true, true, true, true, true, false, true});
  metadata.Set(key, int64_t{2});
  CHECK_EQ(Sliding(metadata, 4), std::vector<bool>{true, false, true, false});
  metadata.Set(key, int64_t{1});
  CHECK_EQ(Sliding(metadata, 2), std::vector<bool>{false, false});
  metadata.Set(key, int64_t{0});
  CHECK_EQ(Sliding(metadata, 2), std::vector<bool>{true, true});
  metadata.Set(key, std::vector<int64_t>{0, 1, 1});
  CHECK_EQ(Sliding(metadata, 3), std::vector<bool>{false, true, true});

  const auto short_list = SlidingLayersFromGguf(metadata, "gemma3", 4, 6);
  REQUIRE_FALSE(short_list.has_value());
  CHECK_EQ(short_list.error().message,
           "m.gguf: key gemma3.attention.sliding_window_pattern is an array of 3 integers, "
           "expected an integer or an array of 4 integers, one per layer");
  metadata.Set(key, int64_t{-3});
  const auto negative = SlidingLayersFromGguf(metadata, "gemma3", 4, 6);
  REQUIRE_FALSE(negative.has_value());
  CHECK_EQ(negative.error().message,
           "m.gguf: key gemma3.attention.sliding_window_pattern is -3, expected an integer from 0 "
           "to 512");
}

}  // namespace cairn
