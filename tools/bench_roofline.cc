#include "tools/bench_roofline.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <nlohmann/json.hpp>

#include "cairn/sizing/bounds_reads.h"
#include "tools/terminal.h"

namespace cairn {
namespace {

// Shares of the bounds that the engine is meant to reach.
constexpr double kAnswerTarget = 0.85;
constexpr double kProductsTarget = 0.50;
constexpr double kAttentionTarget = 0.60;  // after a context; without one there is hardly any

constexpr std::array<std::string_view, kArithmetics> kArithmeticNames = {"int8", "bf16", "f32"};

std::string RateText(const Rate& rate, std::string_view unit) {
  return fmt::format("{:.1f} {} (median {:.1f})", rate.best / 1e9, unit, rate.median / 1e9);
}

nlohmann::json JsonOf(const Rate& rate) { return {{"best", rate.best}, {"median", rate.median}}; }

nlohmann::json JsonOf(const OperationCounts& counts) {
  nlohmann::json json;
  for (size_t i = 0; i < kArithmetics; ++i)
    json[std::string(kArithmeticNames[i])] = counts.counts[i];
  return json;
}

nlohmann::json JsonOf(const BoundPart& part) {
  nlohmann::json json = {{"name", part.name},
                         {"time_us", part.time_us},
                         {"operations", JsonOf(part.operations)},
                         {"bytes", part.bytes},
                         {"bound_us", part.bound_us},
                         {"share", part.Share()},
                         {"executed_share", part.ExecutedShare()}};
  if (part.target) {
    json["target"] = *part.target;
    json["met"] = part.Met();
  }
  return json;
}

int64_t Sum(const OperationCounts& counts) {
  int64_t sum = 0;
  for (const int64_t count : counts.counts) sum += count;
  return sum;
}

std::string WorkText(const BoundPart& part) {
  return fmt::format("{:.3f} Gop, {:.1f} MB", static_cast<double>(Sum(part.operations)) / 1e9,
                     static_cast<double>(part.bytes) / 1e6);
}

std::string TargetText(const BoundPart& part) {
  if (!part.target) return "";
  return fmt::format(">= {:.0f} %: {}", 100 * *part.target, part.Met() ? "met" : "missed");
}

}  // namespace

// What the attention of a test must read: all rows once for each token of an answer, and at least
// once for a prompt.
Result<int64_t> Roofline::StateBytes(const MeasuredTest& test) const {
  int64_t bytes = 0;
  const int64_t steps = std::max<int64_t>(test.test.answer, 1);
  for (int64_t i = 0; i < steps; ++i) {
    const TokenCount context(test.test.depth + test.test.prompt + i);
    CAIRN_ASSIGN(const StateTraffic traffic, TrafficOfStep(model_.spec(), codecs_, context));
    bytes += test.test.sequences * traffic.Moved().value();
  }
  return bytes;
}

BoundPart Roofline::PartOf(std::string_view name, const WorkDone& done, int64_t bytes,
                           double bytes_per_second) const {
  BoundPart part = {.name = name, .time_us = done.time_us, .operations = done.operations};
  for (size_t i = 0; i < kArithmetics; ++i) {
    const double per_us = limits_.arithmetic[i].best / 1e6;
    part.operations_us += static_cast<double>(done.operations.counts[i]) / per_us;
    part.executed_us += static_cast<double>(done.executed.counts[i]) / per_us;
  }
  part.bytes = bytes;
  part.bytes_us = 1e6 * static_cast<double>(bytes) / bytes_per_second;
  part.bound_us = std::max(part.operations_us, part.bytes_us);
  return part;
}

Result<TestBounds> Roofline::BoundsOf(const MeasuredTest& test) {
  TestBounds bounds = {.test = test, .limits = limits_};
  const bool is_answer = test.test.answer > 0;
  const WorkDone& products = test.log[WorkKind::kMatrixProduct];
  CAIRN_ASSIGN(const int64_t state_bytes, StateBytes(test));
  const int64_t steps = std::max<int64_t>(test.test.answer, 1);
  bounds.weight_bytes = products.weight_bytes / steps;
  bounds.state_bytes = state_bytes / steps;
  // Small models' weights may stay in a cache, which memory's bandwidth doesn't bound.
  bounds.reading = meter_.Reading(std::max<int64_t>(1, bounds.weight_bytes + bounds.state_bytes));
  const double bandwidth = std::max(bounds.reading.best, limits_.memory.best);

  BoundPart matrices = PartOf("matrix products", products, products.weight_bytes, bandwidth);
  BoundPart attention = PartOf("attention", test.log[WorkKind::kAttention], state_bytes, bandwidth);
  BoundPart all = {.name = "all", .time_us = test.elapsed_us};
  for (const BoundPart* part : {&matrices, &attention}) {
    for (size_t i = 0; i < kArithmetics; ++i) {
      all.operations.counts[i] += part->operations.counts[i];
    }
    all.bytes += part->bytes;
    all.operations_us += part->operations_us;
    all.executed_us += part->executed_us;
    all.bytes_us += part->bytes_us;
    all.bound_us += part->bound_us;
  }
  if (is_answer) {
    all.bound_us = all.bytes_us;  // what streams from memory, and no sum of other limits
    all.target = kAnswerTarget;
  } else {
    matrices.target = kProductsTarget;
  }
  if (test.test.depth > 0) attention.target = kAttentionTarget;
  bounds.parts = {matrices, attention, all};
  return bounds;
}

std::string RooflineMarkdown(const std::vector<TestBounds>& tests) {
  if (tests.empty()) return "";
  const MachineLimits& limits = tests[0].limits;
  std::string text;
  const auto out = std::back_inserter(text);
  fmt::format_to(out, "\nLimits of {} {}: reads {} of {} MiB", limits.threads,
                 limits.threads == 1 ? "thread" : "threads", RateText(limits.memory, "GB/s"),
                 kMemoryBytes >> 20);
  for (size_t i = 0; i < kArithmetics; ++i) {
    fmt::format_to(out, "; {} {}", kArithmeticNames[i], RateText(limits.arithmetic[i], "Gop/s"));
  }
  fmt::format_to(out, "\n\n| test | part | time | work | bound | reached | target |\n");
  fmt::format_to(out, "| --- | --- | ---: | ---: | ---: | ---: | --- |\n");
  for (const TestBounds& bounds : tests) {
    int64_t rest_us = bounds.test.elapsed_us;
    const auto row = [&](std::string_view name, int64_t time_us, const std::string& cells) {
      const double share =
          static_cast<double>(time_us) / static_cast<double>(bounds.test.elapsed_us);
      fmt::format_to(out, "| {} | {} | {:.2f} ms, {:.0f} % | {} |\n", bounds.test.test.Name(), name,
                     static_cast<double>(time_us) / 1e3, 100 * share, cells);
    };
    for (const BoundPart& part : bounds.parts) {
      if (part.name == "all") row("rest", rest_us, " | | |");
      rest_us -= part.time_us;
      row(part.name, part.time_us,
          fmt::format("{} | {:.2f} ms | {:.1f} % | {}", WorkText(part), part.bound_us / 1e3,
                      100 * part.Share(), TargetText(part)));
    }
  }
  fmt::format_to(out, "\n");
  for (const TestBounds& bounds : tests) {
    const BoundPart& products = bounds.parts[0];
    const BoundPart& all = bounds.parts.back();
    if (bounds.test.test.answer > 0) {
      fmt::format_to(out,
                     "{}: each token reads {:.1f} MB of weights and {:.1f} MB of state; so much is "
                     "read at {}; of memory's bandwidth {:.1f} % is reached\n",
                     bounds.test.test.Name(), static_cast<double>(bounds.weight_bytes) / 1e6,
                     static_cast<double>(bounds.state_bytes) / 1e6,
                     RateText(bounds.reading, "GB/s"),
                     1e8 * static_cast<double>(all.bytes) / limits.memory.best /
                         static_cast<double>(all.time_us));
    } else {
      fmt::format_to(out,
                     "{}: with 16-bit products as the two of 8 bits that they take, {:.1f} %\n",
                     bounds.test.test.Name(), 100 * products.ExecutedShare());
    }
  }
  return text;
}

std::string RooflineJson(const TestBounds& bounds) {
  const MachineLimits& limits = bounds.limits;
  nlohmann::json limits_json = {{"threads", limits.threads},
                                {"memory_buffer_bytes", kMemoryBytes},
                                {"memory_bytes_per_second", JsonOf(limits.memory)}};
  for (size_t i = 0; i < kArithmetics; ++i) {
    limits_json[fmt::format("{}_operations_per_second", kArithmeticNames[i])] =
        JsonOf(limits.arithmetic[i]);
  }
  nlohmann::json parts = nlohmann::json::array();
  int64_t rest_us = bounds.test.elapsed_us;
  for (const BoundPart& part : bounds.parts) {
    if (part.name != "all") rest_us -= part.time_us;
    parts.push_back(JsonOf(part));
  }
  const nlohmann::json json = {{"limits", limits_json},
                               {"weight_bytes", bounds.weight_bytes},
                               {"state_bytes", bounds.state_bytes},
                               {"reading_bytes_per_second", JsonOf(bounds.reading)},
                               {"elapsed_us", bounds.test.elapsed_us},
                               {"rest_us", rest_us},
                               {"parts", parts}};
  return json.dump();
}

}  // namespace cairn
