#include "cairn/kernels/hadamard.h"

#include <doctest/doctest.h>

#include "cairn/kernels/recurrence_for_tests.h"

namespace cairn {
namespace {

TEST_CASE("a rotation equals its definition, the same bits on every instruction set") {
  for (const int64_t width : {1, 4, 8, 16, 32, 64, 80, 96, 128, 192, 256, 576}) {
    CAPTURE(width);
    const Floats x = Normal(3 * width, 7);
    Floats expected = x;
    RotateHeadsReference(expected.data(), 3, width);
    Floats first;
    OnEachTarget([&] {
      Floats out = x;
      RotateHeads(out.data(), 3, width);
      for (size_t i = 0; i < out.size(); ++i)
        CHECK(out[i] == doctest::Approx(expected[i]).epsilon(1e-5));
      if (first.empty()) first = out;
      CHECK(SameBits(out, first));
    });
  }
}

TEST_CASE("a rotation spreads one large channel and keeps products") {
  Floats one(64, 0);
  one[5] = 8;
  RotateHeads(one.data(), 1, 64);
  for (const float v : one) CHECK(std::abs(v) == 1);
  Floats a = Normal(96, 1);
  Floats b = Normal(96, 2);
  const auto product = [&] {
    double sum = 0;
    for (size_t i = 0; i < a.size(); ++i) sum += double{a[i]} * b[i];
    return sum;
  };
  const double before = product();
  RotateHeads(a.data(), 1, 96);
  RotateHeads(b.data(), 1, 96);
  CHECK(product() == doctest::Approx(before).epsilon(1e-5));
}

TEST_CASE("a rotation twice is none") {
  const Floats x = Normal(256, 3);
  Floats twice = x;
  RotateHeads(twice.data(), 1, 256);
  RotateHeads(twice.data(), 1, 256);
  for (size_t i = 0; i < x.size(); ++i) CHECK(twice[i] == doctest::Approx(x[i]).epsilon(1e-5));
}

TEST_CASE("blocks are the largest powers of two that fit") {
  CHECK(HadamardBlock(64) == 64);
  CHECK(HadamardBlock(192) == 64);
  CHECK(HadamardBlock(96) == 32);
  CHECK(HadamardBlock(80) == 16);
  CHECK(HadamardBlock(512) == 256);
  CHECK(HadamardBlock(3) == 1);
}

}  // namespace
}  // namespace cairn
