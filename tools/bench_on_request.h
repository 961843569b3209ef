// `cairn bench --on-request`: measures what lines on standard input ask for, so that another
// program can take turns with it. Words in, a line of JSON out:
//
//   prompt 512 depth 4096        {"ns": 1212345000}
//   answer 64 sequences 8        {"ns": 412345000}
//   depth 4096                   {"ns": 0}, and the state at that depth is at hand
//   anything else                {"error": "..."}, and the next line is read
//
// A test that differs from the one before runs once unmeasured, without its depth.
#ifndef CAIRN_TOOLS_BENCH_ON_REQUEST_H_
#define CAIRN_TOOLS_BENCH_ON_REQUEST_H_

#include <istream>
#include <string_view>

#include "cairn/base/status.h"
#include "tools/bench_runner.h"

namespace cairn {

// kInvalidArgument: a word that isn't known, or no number behind it.
Result<BenchTest> ParseBenchRequest(std::string_view line);

// Answers until `in` ends; kCancelled at an interrupt.
Status AnswerBenchRequests(BenchRunner& runner, std::istream& in);

}  // namespace cairn

#endif  // CAIRN_TOOLS_BENCH_ON_REQUEST_H_
