#include "cairn/spec/config_writer.h"

#include <doctest/doctest.h>

#include <string>
#include <vector>

namespace cairn {

TEST_CASE("a config is read as it was written, objects by dotted keys") {
  ConfigWriter writer;
  CHECK_EQ(writer.Text(), "{}");
  writer.Set("layers", int64_t{3});
  writer.Set("layers", int64_t{4});
  writer.Set("rope.theta", 0.5);
  writer.Set("rope.type", "yarn");
  writer.Set("tied", true);
  writer.Set("types", std::vector<std::string>{"a", "b"});
  writer.Set("gone", int64_t{1});
  writer.Drop("gone");
  CHECK(writer.Has("layers"));
  CHECK_FALSE(writer.Has("gone"));
  CHECK_EQ(writer.Text(), R"({"layers":4,"rope":{"theta":0.5,"type":"yarn"},"tied":true,)"
                          R"("types":["a","b"]})");
}

}  // namespace cairn
