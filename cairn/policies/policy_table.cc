// All kinds of token policy with their keys. Where a number isn't told to be ours, it is that of
// the policy's own code.
#include <array>

#include "cairn/policies/policies.h"

namespace cairn {
namespace {

constexpr PolicyKey Sinks(double fallback) {
  return {"sinks", fallback, 0, 1 << 20, 1, "first rows that stay"};
}
constexpr PolicyKey Recent(double fallback) {
  return {"recent", fallback, 0, 1 << 20, 1, "last rows that stay"};
}
constexpr PolicyKey Window(double fallback) {
  return {"window", fallback, 1, 1024, 1, "last queries whose weights count"};
}
constexpr PolicyKey kPool = {"pool", 7, 1, 255, 2, "rows, an odd number, that are smoothed over"};
constexpr PolicyKey kMean = {"mean", 0, 0, 1, 1, "1: smoothed by the mean, 0: by the largest"};
constexpr PolicyKey kNorm = {"norm", 0, 0, 1, 1, "1: scores are divided by the row's age"};

constexpr std::array kStreaming = {Sinks(4)};
constexpr std::array kHeavyHitters = {
    PolicyKey{"heavy", 0.5, 0, 1, 0, "share of the rows that go by weight, the rest by age"},
    kNorm};
constexpr std::array kScissorhands = {
    Window(64), Sinks(4), Recent(32),
    PolicyKey{"decay", 1, 0, 1, 0, "what a query counts beside the next one"}};
constexpr std::array kSnap = {Window(32), kPool, kMean};
constexpr std::array kPyramidKv = {
    Window(32), kPool, kMean,
    PolicyKey{"beta", 20, 1, 1000, 1, "the last layer keeps a beta-th of the mean"}};
constexpr std::array kPyramidInfer = {
    Window(64), Sinks(4),
    PolicyKey{"recent", 0.2, 0, 1, 0, "share of a layer's rows that are the last ones"},
    PolicyKey{"decay", 0.3, 0.01, 1, 0, "share of the first layer's rows that the last keeps"},
    PolicyKey{"nearness", 1.2, 1, 100, 0, "what the last query counts beside the first"}};
constexpr std::array kAda = {
    Window(32), kPool, kMean,
    PolicyKey{"floor", 0.2, 0, 1, 0, "share of its rows that a head is sure of"}};
constexpr std::array kExpected = {
    Sinks(4), Recent(0), PolicyKey{"future", 512, 1, 1 << 16, 1, "positions to come"},
    PolicyKey{"epsilon", 0, 0, 1, 0, "added to weights before values count"}};
constexpr std::array kKeys = {Sinks(0), Recent(0)};
constexpr std::array kLag = {Sinks(4), PolicyKey{"lag", 128, 2, 1 << 16, 1, "rows of a part"}};
constexpr std::array kAreas = {
    Sinks(32),
    Recent(128),
    PolicyKey{"block", 16, 1, 1024, 1, "rows that go together"},
    Window(8),
    PolicyKey{"pool", 7, 1, 255, 1, "rows whose largest score counts"},
    kNorm,
    PolicyKey{"mass", 1, 0, 1, 0, "below 1: share of scores that blocks are kept for"}};
constexpr std::array kRandom = {Sinks(4), Recent(0),
                                PolicyKey{"seed", 1, 0, 65535, 1, "another draw"}};

constexpr std::array kKinds = {
    PolicyKind{"streaming", "the first rows and the last", MakeStreaming, kStreaming},
    PolicyKind{"h2o", "rows that all queries weighed most", MakeHeavyHitters, kHeavyHitters},
    PolicyKind{"scissorhands", "rows that late queries weighed most", MakeScissorhands,
               kScissorhands},
    PolicyKind{"tova", "rows that the last query weighs most, for all heads", MakeTova, {}},
    PolicyKind{"snapkv", "rows that the prompt's end weighs most, smoothed", MakeSnapKv, kSnap},
    PolicyKind{"pyramidkv", "snapkv with fewer rows in deeper layers", MakePyramidKv, kPyramidKv},
    PolicyKind{"pyramidinfer", "rows that the prompt's end weighs most, fewer in deeper layers",
               MakePyramidInfer, kPyramidInfer},
    PolicyKind{"adakv", "snapkv with rows where a layer's best are", MakeAdaKv, kAda},
    PolicyKind{"expected", "rows that queries to come are expected to weigh most",
               MakeExpectedAttention, kExpected},
    PolicyKind{"keydiff", "keys unlike the others", MakeKeyDiff, kKeys},
    PolicyKind{"knorm", "short keys", MakeKeyNorm, kKeys},
    PolicyKind{"lagkv", "rows that stand out from what follows", MakeLag, kLag},
    PolicyKind{"areas", "first, last, and whole blocks by weight (OpenVINO)", MakeAreas, kAreas},
    PolicyKind{"random", "rows by lot", MakeRandom, kRandom},
};

}  // namespace

std::span<const PolicyKind> AllPolicyKinds() { return kKinds; }

}  // namespace cairn
