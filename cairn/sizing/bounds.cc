#include "cairn/sizing/bounds.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "cairn/base/check.h"
#include "cairn/sizing/bounds_flops.h"
#include "cairn/sizing/bounds_reads.h"
#include "cairn/sizing/sizing.h"

namespace cairn {
namespace {

Cell CellOr(const std::optional<double>& value) {
  return value ? Cell(*value) : Cell(std::monostate());
}

Result<Bytes> Times(Bytes bytes, int64_t factor) {
  int64_t product = 0;
  if (__builtin_mul_overflow(bytes.value(), factor, &product)) {
    return Fail(ErrorCode::kInvalidArgument,
                "the state of {} requests takes more bytes than can be counted", factor);
  }
  return Bytes(product);
}

Status Add(Bytes bytes, Bytes& sum) {
  int64_t total = 0;
  if (__builtin_add_overflow(sum.value(), bytes.value(), &total)) {
    return Fail(ErrorCode::kInvalidArgument, "a step moves more bytes than can be counted");
  }
  sum = Bytes(total);
  return {};
}

Status CheckQuestion(const BoundsQuestion& question) {
  const auto in_range = [](TokenCount tokens) {
    return tokens >= TokenCount(0) && tokens < kMaxStateTokens;
  };
  const TokenCount prompt = question.prompt.value_or(question.context);
  if (question.cached > prompt) {
    return Fail(ErrorCode::kInvalidArgument, "{} tokens cached, expected at most the prompt's {}",
                question.cached.value(), prompt.value());
  }
  if (!in_range(question.context) || !in_range(prompt) || !in_range(question.cached)) {
    return Fail(ErrorCode::kInvalidArgument,
                "context {}, prompt {} of which {} cached: expected 0 to {} tokens",
                question.context.value(), prompt.value(), question.cached.value(),
                kMaxStateTokens.value() - 1);
  }
  if (question.batch < 1 || question.batch > kMaxBatch) {
    return Fail(ErrorCode::kInvalidArgument, "batch {}, expected 1 to {}", question.batch,
                kMaxBatch);
  }
  if (!(question.compute_share > 0 && question.compute_share <= 1)) {
    return Fail(ErrorCode::kInvalidArgument, "a share of {} of the compute, expected 0 to 1",
                question.compute_share);
  }
  return {};
}

// Rows that cards of one stage divide by position; each reads its part.
Bytes OfOneCard(Bytes rows, const Parallelism& parallel) {
  return Bytes((rows.value() + parallel.dcp - 1) / parallel.dcp);
}

// Products of a stage are divided over its cards.
std::optional<double> ComputeMs(const BoundsQuestion& question, double flops) {
  const double cards = question.parallel.tp;
  return Milliseconds(flops / cards, question.Compute());
}

// What a copy's cards together can't be faster than, for `batch` requests a step.
void AddRates(const BoundsQuestion& question, const DecodeBound& bound, Section& section) {
  if (!bound.bound_ms || *bound.bound_ms <= 0) return;
  const double each = 1000.0 / *bound.bound_ms;
  const double total = each * static_cast<double>(question.batch) * question.parallel.dp;
  section.fields.push_back({"tokens_per_second", "tokens/s of a request, at most", each,
                            Unit::kTokensPerSecond,
                            fmt::format("1000 / {:.6g} ms", *bound.bound_ms)});
  section.fields.push_back({"total_tokens_per_second", "tokens/s of all, at most", total,
                            Unit::kTokensPerSecond,
                            fmt::format("{:.6g} x {} x {} (requests of a copy x copies)", each,
                                        question.batch, question.parallel.dp)});
}

void AddDecode(const BoundsQuestion& question, const DecodeBound& bound, Section& section) {
  const auto over = [&](Bytes bytes) {
    return fmt::format("{} bytes / {:.6g} bytes/s", bytes.value(), question.Bandwidth());
  };
  if (question.weights) {
    section.fields.push_back({"weights_read_bytes", "weights read a step",
                              CellOf(bound.weights_read), Unit::kBytes,
                              "all but the embedding's table; of the experts those expected to be "
                              "picked"});
    section.fields.push_back({"weights_read_ms", "to read them", CellOr(bound.weights_ms),
                              Unit::kMilliseconds, over(bound.weights_read)});
  }
  section.fields.push_back(
      {"state_read_bytes", "state read a step", CellOf(bound.state_read), Unit::kBytes,
       fmt::format("{} requests of {} tokens", question.batch, question.context.value())});
  section.fields.push_back({"state_read_ms", "to read it", CellOr(bound.state_ms),
                            Unit::kMilliseconds, over(bound.state_read)});
  section.fields.push_back({"state_written_bytes", "state written a step",
                            CellOf(bound.state_written), Unit::kBytes,
                            "new rows, and recurrent states as a whole"});
  section.fields.push_back({"step_bytes", "bytes a step, on a card of each stage",
                            CellOf(bound.step), Unit::kBytes,
                            fmt::format("{} + {} + {}", bound.weights_read.value(),
                                        bound.state_read.value(), bound.state_written.value())});
  section.fields.push_back({"step_ms", "a step by bandwidth", CellOr(bound.step_ms),
                            Unit::kMilliseconds, over(bound.step)});
  section.fields.push_back(
      {"step_compute_ms", "a step by compute", CellOr(bound.compute_ms), Unit::kMilliseconds});
  AddRates(question, bound, section);
}

// Storage against reads, where an index, a window or a shared row makes them differ.
Status AddTraffic(const BoundsQuestion& question, Section& section) {
  CAIRN_ASSIGN(const StateTraffic traffic,
               TrafficOfStep(question.model, question.codecs, question.context));
  Table table{
      .key = "traffic", .label = "State of one request: stored and moved a step", .columns = {}};
  table.columns = {{"what", "what"}, {"bytes", "bytes", Unit::kBytes}};
  table.rows = {{std::string("stored"), CellOf(traffic.stored)},
                {std::string("rows read"), CellOf(traffic.rows)},
                {std::string("index keys read"), CellOf(traffic.index)},
                {std::string("recurrent states read"), CellOf(traffic.fixed_read)},
                {std::string("recurrent states written"), CellOf(traffic.fixed_written)},
                {std::string("new rows written"), CellOf(traffic.row_written)}};
  section.tables.push_back(std::move(table));
  if (traffic.rows < traffic.all_rows) {
    const double ratio = static_cast<double>(traffic.all_rows.value()) /
                         static_cast<double>((traffic.rows + traffic.index).value());
    section.fields.push_back(
        {"sparse_read_ratio", "reads that the index saves", ratio, Unit::kTimes,
         fmt::format("{} bytes of all rows / ({} picked + {} index keys)", traffic.all_rows.value(),
                     traffic.rows.value(), traffic.index.value())});
    section.notes.emplace_back(
        "sparse attention stores every row and reads a few: it saves traffic, not memory; its "
        "index "
        "keys are all read");
  }
  return {};
}

void AddPrefill(const BoundsQuestion& question, Section& section) {
  const TokenCount prompt = question.prompt.value_or(question.context);
  if (!question.weights || !question.weights->multiplied) {
    section.warnings.emplace_back(
        "the weights that a token passes aren't known: no bound on "
        "reading a prompt");
    return;
  }
  const int64_t multiplied = *question.weights->multiplied;
  const Flops flops = PrefillFlops(question.model, multiplied, prompt, question.cached);
  const int64_t read = (prompt - question.cached).value();
  section.fields.push_back({"prefill_tokens", "prompt tokens to read", read, Unit::kTokens});
  section.fields.push_back(
      {"prefill_flops", "operations to read them", flops.Total(), Unit::kFlops,
       fmt::format("{:.6g} matrices + {:.6g} attention + {:.6g} index + "
                   "{:.6g} recurrence + {:.6g} head",
                   flops.matrices, flops.attention, flops.index, flops.recurrence, flops.head)});
  section.fields.push_back({"prefill_matrix_flops", "of them in matrices", flops.matrices,
                            Unit::kFlops,
                            fmt::format("2 x {} weights x {} tokens", multiplied, read)});
  section.fields.push_back({"prefill_attention_flops", "of them in attention",
                            flops.attention + flops.index, Unit::kFlops,
                            "2 x heads x (key + value width) for each pair of a query and a key "
                            "that it sees"});
  const auto ms = ComputeMs(question, flops.Total());
  section.fields.push_back({"prefill_ms", "to read the prompt, at least", CellOr(ms),
                            Unit::kMilliseconds,
                            fmt::format("{:.6g} / {} cards / {:.6g} operations/s", flops.Total(),
                                        question.parallel.tp, question.Compute())});
  if (!ms || *ms <= 0) return;
  section.fields.push_back({"prefill_tokens_per_second", "tokens/s of reading, at most",
                            1000.0 * static_cast<double>(read) / *ms, Unit::kTokensPerSecond});
}

}  // namespace

double BoundsQuestion::Bandwidth() const {
  if (bytes_per_second > 0) return bytes_per_second;
  return gpu != nullptr ? gpu->BytesPerSecond() : 0;
}

double BoundsQuestion::Compute() const {
  if (flops_per_second > 0) return flops_per_second * compute_share;
  if (gpu == nullptr) return 0;
  int bits = 16;
  if (weights && weights->parameters.value_or(0) > 0) {
    const double per_weight = 8.0 * static_cast<double>(weights->total.value()) /
                              static_cast<double>(*weights->parameters);
    // Formats that only the weights have (GGUF, AWQ) are multiplied in 16 bits.
    const bool native = weights->storage.starts_with("fp8") || weights->storage == "int8";
    if (native && per_weight < 12) bits = 8;
    if (weights->storage == "nvfp4" && per_weight < 8) bits = 4;
  }
  return gpu->FlopsPerSecondAt(bits) * compute_share;
}

std::optional<double> Milliseconds(double amount, double per_second) {
  if (!(per_second > 0)) return std::nullopt;
  return amount / per_second * 1000.0;
}

Result<DecodeBound> BoundDecode(const BoundsQuestion& question) {
  CAIRN_TRY(CheckQuestion(question));
  CAIRN_ASSIGN(const auto ranks, RankModels(question.model, question.parallel));
  DecodeBound bound;
  for (const RankModel& rank : ranks) {
    CAIRN_ASSIGN(const StateTraffic traffic,
                 TrafficOfStep(rank.spec, question.codecs, question.context));
    const Bytes rows = OfOneCard(traffic.rows + traffic.index, question.parallel);
    CAIRN_ASSIGN(const Bytes read, Times(rows + traffic.fixed_read, question.batch));
    CAIRN_ASSIGN(const Bytes written,
                 Times(traffic.row_written + traffic.fixed_written, question.batch));
    CAIRN_TRY(Add(read, bound.state_read));
    CAIRN_TRY(Add(written, bound.state_written));
  }
  if (question.weights) {
    // Replicas that share experts bring their tokens together.
    const bool joined = question.parallel.ep > question.parallel.tp;
    const double tokens = static_cast<double>(question.batch) * (joined ? question.parallel.dp : 1);
    for (const CardWeights& card : question.weights->cards)
      bound.weights_read += card.ReadBy(tokens);
  }
  for (const Bytes part : {bound.weights_read, bound.state_read, bound.state_written}) {
    CAIRN_TRY(Add(part, bound.step));
  }
  const auto ms = [&](Bytes bytes) {
    return Milliseconds(static_cast<double>(bytes.value()), question.Bandwidth());
  };
  bound.weights_ms = ms(bound.weights_read);
  bound.state_ms = ms(bound.state_read);
  bound.step_ms = ms(bound.step);
  if (question.weights && question.weights->multiplied) {
    const Flops flops =
        DecodeFlops(question.model, *question.weights->multiplied, question.context);
    bound.compute_ms = ComputeMs(question, flops.Total() * static_cast<double>(question.batch));
  }
  bound.bound_ms = bound.step_ms;
  if (bound.step_ms && bound.compute_ms)
    bound.bound_ms = std::max(*bound.step_ms, *bound.compute_ms);
  return bound;
}

Result<Section> BoundsSection(const BoundsQuestion& question) {
  CAIRN_ASSIGN(const DecodeBound bound, BoundDecode(question));
  Section section{.key = "bounds", .title = "Time bounds"};
  if (question.gpu != nullptr) {
    section.fields.push_back({"card", "card", std::string(question.gpu->name)});
  }
  if (question.Bandwidth() > 0) {
    section.fields.push_back({"bandwidth_bytes_per_second", "memory bandwidth of a card",
                              question.Bandwidth(), Unit::kBytesPerSecond});
  }
  if (question.Compute() > 0) {
    section.fields.push_back({"compute_flops_per_second", "compute of a card", question.Compute(),
                              Unit::kFlopsPerSecond});
  }
  AddDecode(question, bound, section);
  CAIRN_TRY(AddTraffic(question, section));
  AddPrefill(question, section);
  section.notes.emplace_back(
      "bounds of the hardware: every byte once at full bandwidth, every operation at peak; stages "
      "of "
      "a pipeline work one after the other for a request");
  if (!question.weights) {
    section.warnings.emplace_back("the weights aren't known: a step is bounded by its state alone");
  }
  return section;
}

}  // namespace cairn
