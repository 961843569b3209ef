#include "cairn/sizing/request_mix.h"

#include <algorithm>
#include <charconv>
#include <limits>

namespace cairn {
namespace {

int64_t CeilDiv(int64_t value, int64_t by) { return (value + by - 1) / by; }

// Sums that may pass 63 bits before they are refused.
class Sum {
 public:
  void Add(int64_t amount, int64_t times) { sum_ += static_cast<__int128>(amount) * times; }
  bool Fits() const { return sum_ <= std::numeric_limits<int64_t>::max(); }
  int64_t value() const { return static_cast<int64_t>(sum_); }

 private:
  __int128 sum_ = 0;
};

// Rows, or blocks, of one class in one request: those of the shared prefix and its own.
struct Split {
  int64_t shared = 0;
  int64_t own = 0;
};

// The last `kept` of `completed` rows, `prefix` of which belong to the shared prefix.
Split SplitRows(int64_t completed, int64_t kept, int64_t prefix) {
  const int64_t shared = std::clamp<int64_t>(kept - (completed - prefix), 0, kept);
  return {.shared = shared, .own = kept - shared};
}

struct ClassSplits {
  Split needed;  // rows
  Split seen;    // rows
  Split blocks;
};

ClassSplits SplitClass(const StateLayout& layout, ClassIndex index, TokenCount tokens,
                       TokenCount prefix, int row_ranks) {
  const BlockClass& c = layout.classes()[static_cast<size_t>(index.value())];
  const int64_t completed = c.RowsCompleted(tokens);
  const int64_t of_prefix = c.RowsCompleted(std::min(prefix, tokens));
  if (c.lifetime.kind == Lifetime::Kind::kAll) {
    const int64_t mine = CeilDiv(completed, row_ranks);
    const int64_t shared = std::min(mine, CeilDiv(of_prefix, row_ranks));
    const int64_t whole = shared / kRowsPerBlock;
    return {.needed = {shared, mine - shared},
            .seen = {shared, mine - shared},
            .blocks = {whole, CeilDiv(mine, kRowsPerBlock) - whole}};
  }
  const BlockRange held = layout.BlocksHeld(index, tokens);
  const int64_t whole = of_prefix / kRowsPerBlock;  // blocks below this hold nothing but prefix
  const int64_t shared = std::clamp(whole - held.first, int64_t{0}, held.end - held.first);
  return {.needed = SplitRows(completed, layout.RowsNeeded(index, tokens), of_prefix),
          .seen = SplitRows(completed, layout.RowsSeen(index, tokens), of_prefix),
          .blocks = {shared, held.end - held.first - shared}};
}

struct Sums {
  Sum elements;
  Sum content;
  Sum allocated;
  Sum kv;
  Sum open;  // windows of compressors
  Sum state;
};

// Adds what all requests keep of one class. The prefix's rows count once: those of the request that
// keeps most of them.
void AddClass(const StateLayout& layout, ClassIndex index, const RequestMix& mix, int row_ranks,
              Sums& sums) {
  const BlockClass& c = layout.classes()[static_cast<size_t>(index.value())];
  ClassSplits shared;
  const auto add = [&](int64_t needed, int64_t seen, int64_t blocks, int64_t times) {
    sums.elements.Add(c.row_elements.value() * needed, times);
    sums.content.Add(c.row_bytes.value() * needed, times);
    (c.open_window ? sums.open : sums.kv).Add(c.row_bytes.value() * seen, times);
    sums.allocated.Add(c.block_bytes.value() * blocks, times);
  };
  for (const RequestGroup& group : mix.groups) {
    if (group.count == 0) continue;
    const ClassSplits split = SplitClass(layout, index, group.tokens, mix.shared_prefix, row_ranks);
    add(split.needed.own, split.seen.own, split.blocks.own, group.count);
    shared.needed.shared = std::max(shared.needed.shared, split.needed.shared);
    shared.seen.shared = std::max(shared.seen.shared, split.seen.shared);
    shared.blocks.shared = std::max(shared.blocks.shared, split.blocks.shared);
  }
  add(shared.needed.shared, shared.seen.shared, shared.blocks.shared, 1);
}

Status CheckMix(const RequestMix& mix) {
  __int128 requests = 0;
  for (const RequestGroup& group : mix.groups) {
    if (group.tokens < TokenCount(0) || group.tokens > kMaxStateTokens) {
      return Fail(ErrorCode::kInvalidArgument, "context {}, expected 0 to {} tokens",
                  group.tokens.value(), kMaxStateTokens.value());
    }
    requests += std::max<int64_t>(group.count, 0);
    if (group.count < 0 || requests > kMaxRequests) {
      return Fail(ErrorCode::kInvalidArgument, "{} requests, expected 0 to {} in all", group.count,
                  kMaxRequests);
    }
  }
  if (mix.shared_prefix < TokenCount(0) || mix.shared_prefix > kMaxStateTokens) {
    return Fail(ErrorCode::kInvalidArgument, "--shared-prefix {}, expected 0 to {} tokens",
                mix.shared_prefix.value(), kMaxStateTokens.value());
  }
  return {};
}

std::string_view Trimmed(std::string_view text) {
  constexpr std::string_view kSpace = " \t\r";
  const size_t first = text.find_first_not_of(kSpace);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kSpace) - first + 1);
}

bool ReadNumber(std::string_view text, int64_t most, int64_t& value) {
  text = Trimmed(text);
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size() && value >= 0 && value <= most;
}

bool ReadGroup(std::string_view line, RequestGroup& group) {
  int64_t tokens = 0;
  const size_t separator = line.find_first_of("x,");
  if (separator != std::string_view::npos) {
    if (!ReadNumber(line.substr(0, separator), kMaxRequests, group.count)) return false;
    line = line.substr(separator + 1);
  }
  if (!ReadNumber(line, kMaxStateTokens.value(), tokens)) return false;
  group.tokens = TokenCount(tokens);
  return true;
}

}  // namespace

int64_t RequestMix::Requests() const {
  int64_t requests = 0;
  for (const RequestGroup& group : groups) requests += group.count;
  return requests;
}

TokenCount RequestMix::Longest() const {
  TokenCount longest;
  for (const RequestGroup& group : groups) longest = std::max(longest, group.tokens);
  return longest;
}

Result<StateAmount> AmountOf(const StateLayout& layout, const RequestMix& mix, int row_ranks) {
  CAIRN_TRY(CheckMix(mix));
  Sums sums;
  for (size_t i = 0; i < layout.classes().size(); ++i) {
    AddClass(layout, ClassIndex(static_cast<int32_t>(i)), mix, row_ranks, sums);
  }
  const int64_t requests = mix.Requests();
  sums.elements.Add(layout.ContentElements(TokenCount(0)).value(), requests);
  sums.content.Add(layout.fixed_content_bytes().value(), requests);
  sums.allocated.Add(layout.fixed_bytes().value(), requests);
  sums.state.Add(layout.fixed_content_bytes().value(), requests);
  Sum total = sums.kv;
  total.Add(layout.fixed_content_bytes().value(), requests);
  if (!total.Fits() || !sums.open.Fits() || !sums.allocated.Fits() || !sums.elements.Fits()) {
    return Fail(ErrorCode::kInvalidArgument,
                "{} requests of up to {} tokens take more bytes than can be counted", requests,
                mix.Longest().value());
  }
  return StateAmount{.content_elements = ElementCount(sums.elements.value()),
                     .content_bytes = Bytes(sums.content.value()),
                     .allocated_bytes = Bytes(sums.allocated.value()),
                     .kv_bytes = Bytes(sums.kv.value()),
                     .state_bytes = Bytes(sums.state.value()),
                     .open_window_bytes = Bytes(sums.open.value())};
}

Result<std::vector<RequestGroup>> ParseRequests(std::string_view text, std::string_view where) {
  std::vector<RequestGroup> groups;
  int line_number = 0;
  while (!text.empty()) {
    ++line_number;
    const size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    line = Trimmed(line.substr(0, line.find('#')));
    if (line.empty()) continue;
    RequestGroup group;
    if (!ReadGroup(line, group)) {
      return Fail(ErrorCode::kInvalidArgument,
                  "{} line {}: expected TOKENS or COUNT x TOKENS, tokens up to {}, found {}", where,
                  line_number, kMaxStateTokens.value(), line.substr(0, 40));
    }
    groups.push_back(group);
  }
  if (groups.empty()) {
    return Fail(ErrorCode::kInvalidArgument, "{}: no requests, expected a line for each", where);
  }
  return groups;
}

}  // namespace cairn
