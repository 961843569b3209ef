#include "cairn/state/audit.h"

#include <doctest/doctest.h>

#include <utility>

namespace cairn {
namespace {

std::unique_ptr<StateStore> MakeStore(RowOrder order) {
  Rows rows;
  rows.name = "keys";
  rows.heads = 2;
  rows.width = 4;
  rows.order = order;
  auto layout = StateLayout::Make({{{{rows}}}});
  REQUIRE(layout.has_value());
  auto store = StateStore::Make(*std::move(layout), {.budget = Bytes(1 << 20)});
  REQUIRE(store.has_value());
  return *std::move(store);
}

}  // namespace

TEST_CASE("a byte after a sequence's last row is found, one inside it isn't") {
  for (const RowOrder order : {RowOrder::kRowMajor, RowOrder::kTransposedTiles}) {
    const auto store = MakeStore(order);
    const auto id = store->Create();
    REQUIRE(id.has_value());
    REQUIRE(store->Prepare(*id, TokenCount(20)).has_value());
    store->Commit(*id, TokenCount(20));
    CHECK_NOTHROW(Audit(*store));
    std::byte* open = store->View(*id).tables[0].Block(1);
    const auto block_bytes = store->layout().classes()[0].block_bytes.value();
    int64_t found = 0;
    for (int64_t i = 0; i < block_bytes; ++i) {
      open[i] = std::byte{1};
      try {
        Audit(*store);
      } catch (const std::logic_error&) {
        ++found;
      }
      open[i] = std::byte{0};
    }
    CHECK_EQ(found, block_bytes * 12 / 16);  // rows 4..15 of the block are unwritten
  }
}

TEST_CASE("a prepared sequence passes whatever the model has written so far") {
  const auto store = MakeStore(RowOrder::kRowMajor);
  const auto id = store->Create();
  REQUIRE(id.has_value());
  REQUIRE(store->Prepare(*id, TokenCount(3)).has_value());
  store->View(*id).tables[0].Block(0)[8] = std::byte{1};  // row 1 of head 0
  CHECK_NOTHROW(Audit(*store));
  store->Commit(*id, TokenCount(2));
  CHECK_NOTHROW(Audit(*store));
}

}  // namespace cairn
