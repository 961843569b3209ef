// Any bytes as a shape: an error of one line, or a model whose state can be laid out.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "cairn/base/check.h"
#include "cairn/spec/catalog.h"
#include "cairn/spec/facts.h"
#include "cairn/spec/state_layout.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  CAIRN_CHECK(cairn::KeysOfFacts(text).size() <= size_t{1} << 20);
  const auto model = cairn::ModelFromName(text);
  if (!model) {
    CAIRN_CHECK(model.error().IsBadInput());
    CAIRN_CHECK(model.error().message.find('\n') == std::string_view::npos);
    return 0;
  }
  const auto layout = cairn::StateLayout::Make(StateSpecOf(*model, {}));
  if (!layout) CAIRN_CHECK(layout.error().IsBadInput());
  return 0;
}
