#include "cairn/spec/metadata.h"

#include <doctest/doctest.h>

namespace cairn {
namespace {

Metadata Example() {
  Metadata metadata("m.gguf");
  metadata.Set("flag", true);
  metadata.Set("layers", int64_t{4});
  metadata.Set("huge", uint64_t{1} << 63);
  metadata.Set("epsilon", 1e-5);
  metadata.Set("name", "tiny");
  metadata.Set("heads", std::vector<int64_t>{8, 8, 0, 4});
  metadata.Set("scales", std::vector<double>{0.5, 2});
  metadata.Set("tokens", std::vector<std::string>{"a", "b"});
  return metadata;
}

}  // namespace

TEST_CASE("a value is read as its own type") {
  const Metadata metadata = Example();
  CHECK_EQ(metadata.Bool("flag").value(), true);
  CHECK_EQ(metadata.Int("layers").value(), 4);
  CHECK_EQ(metadata.Float("epsilon").value(), 1e-5);
  CHECK_EQ(metadata.String("name").value(), "tiny");
  CHECK_EQ(metadata.Ints("heads").value(), std::vector<int64_t>{8, 8, 0, 4});
  CHECK_EQ(metadata.Floats("scales").value(), std::vector<double>{0.5, 2});
  CHECK_EQ(metadata.Strings("tokens").value()[1], "b");
}

TEST_CASE("an integer is read as a float, but not the other way round") {
  const Metadata metadata = Example();
  CHECK_EQ(metadata.Float("layers").value(), 4.0);
  CHECK_EQ(metadata.Float("huge").value(), 9223372036854775808.0);
  CHECK_EQ(metadata.Floats("heads").value(), std::vector<double>{8, 8, 0, 4});
  CHECK_EQ(metadata.Int("epsilon").error().message,
           "m.gguf: key epsilon is a float, expected an integer");
  CHECK_EQ(metadata.Int("huge").error().message,
           "m.gguf: key huge is an integer above 2^63 - 1, expected an integer");
}

TEST_CASE("an absent key is an error or the default") {
  const Metadata metadata = Example();
  CHECK_EQ(metadata.Int("nothing").error().code, ErrorCode::kNotFound);
  CHECK_EQ(metadata.Int("nothing").error().message, "m.gguf: key nothing is missing");
  CHECK_EQ(metadata.IntOr("nothing", 7).value(), 7);
  CHECK_EQ(metadata.FloatOr("nothing", 0.5).value(), 0.5);
  CHECK_EQ(metadata.BoolOr("nothing", true).value(), true);
  CHECK_EQ(metadata.StringOr("nothing", "x").value(), "x");
}

TEST_CASE("a default does not hide a wrong type") {
  const Metadata metadata = Example();
  CHECK_EQ(metadata.IntOr("name", 7).error().message,
           "m.gguf: key name is a string, expected an integer");
  CHECK_EQ(metadata.StringOr("heads", "x").error().message,
           "m.gguf: key heads is an array of 4 integers, expected a string");
  CHECK_FALSE(metadata.FloatOr("flag", 1).has_value());
  CHECK_FALSE(metadata.BoolOr("layers", true).has_value());
  CHECK_FALSE(metadata.Ints("layers").has_value());
  CHECK_FALSE(metadata.Floats("tokens").has_value());
  CHECK_FALSE(metadata.Strings("name").has_value());
}

TEST_CASE("a number per layer comes from a scalar, an exact array or the default") {
  const Metadata metadata = Example();
  CHECK_EQ(metadata.IntPerLayer("layers", 3, std::nullopt).value(), std::vector<int64_t>{4, 4, 4});
  CHECK_EQ(metadata.IntPerLayer("heads", 4, std::nullopt).value(),
           std::vector<int64_t>{8, 8, 0, 4});
  CHECK_EQ(metadata.IntPerLayer("nothing", 2, 9).value(), std::vector<int64_t>{9, 9});
  CHECK_EQ(metadata.IntPerLayer("nothing", 2, std::nullopt).error().code, ErrorCode::kNotFound);
  CHECK_EQ(metadata.IntPerLayer("heads", 5, 1).error().message,
           "m.gguf: key heads is an array of 4 integers, expected an integer or an array of 5 "
           "integers, one per layer");
  CHECK_FALSE(metadata.IntPerLayer("heads", 3, 1).has_value());
  CHECK_FALSE(metadata.IntPerLayer("scales", 2, 1).has_value());
  CHECK_FALSE(metadata.IntPerLayer("layers", -1, 1).has_value());
  CHECK_FALSE(metadata.IntPerLayer("layers", int64_t{1} << 60, 1).has_value());
}

TEST_CASE("a skipped array has a size and no elements") {
  Metadata metadata("m.gguf");
  metadata.Set("numbers", std::vector<int64_t>{1, 2, 3});
  metadata.Set("one", int64_t{1});
  metadata.SetSkippedArray("skipped", 5);
  CHECK_EQ(metadata.ArraySize("numbers"), 3);
  CHECK_EQ(metadata.ArraySize("skipped"), 5);
  CHECK_FALSE(metadata.ArraySize("one").has_value());
  CHECK_FALSE(metadata.ArraySize("none").has_value());
  CHECK_FALSE(metadata.Has("skipped"));
  CHECK_FALSE(metadata.Strings("skipped").has_value());
}

}  // namespace cairn
