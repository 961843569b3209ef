// Filler: plain sentences about nothing, between which facts are hidden.
//
// Made from lists of our own; what a seed makes is the same everywhere, and sentence n does not
// depend on how many are asked for. A sentence has no digit and no word of FactKinds or FactThings.
#ifndef CAIRN_EVAL_FILLER_H_
#define CAIRN_EVAL_FILLER_H_

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cairn/eval/random_stream.h"

namespace cairn {

std::vector<std::string> FillerSentences(uint64_t seed, int64_t index, int64_t count);

// What facts are about: "the copper lantern". 24 kinds of 24 things.
std::span<const std::string_view> FactKinds();
std::span<const std::string_view> FactThings();

// A decimal number of so many digits, at most 9, that doesn't begin with 0.
std::string NumberOf(RandomStream& random, int digits);

}  // namespace cairn

#endif  // CAIRN_EVAL_FILLER_H_
