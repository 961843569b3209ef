#include "cairn/base/status.h"

#include <doctest/doctest.h>

#include <memory>

namespace cairn {
namespace {

Result<int> Half(int value) {
  if (value % 2 != 0) return Fail(ErrorCode::kInvalidArgument, "{} is odd", value);
  return value / 2;
}

Result<int> Quarter(int value) {
  CAIRN_ASSIGN(const int half, Half(value));
  CAIRN_ASSIGN(const int quarter, Half(half));
  return quarter;
}

Status CheckEven(int value) {
  CAIRN_TRY(Half(value));
  return {};
}

Result<std::unique_ptr<int>> Boxed(int value) {
  CAIRN_TRY(CheckEven(value));
  return std::make_unique<int>(value);
}

}  // namespace

TEST_CASE("an error passes through its callers unchanged") {
  CHECK_EQ(Quarter(8).value(), 2);
  CHECK_EQ(Quarter(6).error().message, "3 is odd");
  CHECK_EQ(Quarter(7).error().code, ErrorCode::kInvalidArgument);
  CHECK(CheckEven(2).has_value());
  CHECK_EQ(CheckEven(5).error().message, "5 is odd");
}

TEST_CASE("a result can hold what can only be moved") {
  const auto get = [](int value) -> Result<int> {
    CAIRN_ASSIGN(const std::unique_ptr<int> box, Boxed(value));
    return *box;
  };
  CHECK_EQ(get(4).value(), 4);
  CHECK_EQ(get(3).error().message, "3 is odd");
}

TEST_CASE("bad input and failures are told apart") {
  const auto bad = [](ErrorCode code) { return Error{code, ""}.IsBadInput(); };
  CHECK(bad(ErrorCode::kInvalidArgument));
  CHECK(bad(ErrorCode::kNotFound));
  CHECK(bad(ErrorCode::kUnsupported));
  CHECK(bad(ErrorCode::kCorrupt));
  CHECK_FALSE(bad(ErrorCode::kExhausted));
  CHECK_FALSE(bad(ErrorCode::kIo));
  CHECK_FALSE(bad(ErrorCode::kCancelled));
}

}  // namespace cairn
