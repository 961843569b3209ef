// The one main() of every unit test: a failed CHECK throws, so that a test can assert it.
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>

#include <stdexcept>

#include "cairn/base/check.h"

namespace {

[[noreturn]] void Throw(const std::string& message) { throw std::logic_error(message); }

const auto g_previous = cairn::SetCheckFailureHandler(&Throw);

}  // namespace
