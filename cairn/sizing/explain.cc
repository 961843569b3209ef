#include "cairn/sizing/explain.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <utility>
#include <variant>

#include "cairn/sizing/format.h"

namespace cairn {
namespace {

// "2 bytes", or "34/32 bytes" where numbers of a block share a scale.
std::string ElementBytes(DType dtype) {
  const DTypeInfo& info = InfoOf(dtype);
  if (info.block_elements == 1) {
    return fmt::format("{} byte{}", info.block_bytes, info.block_bytes == 1 ? "" : "s");
  }
  return fmt::format("{}/{} bytes", info.block_bytes, info.block_elements);
}

struct TermOf {
  std::string operator()(const Rows& rows) const {
    std::string term = fmt::format("{} {} x {}", rows.width, rows.name, ElementBytes(rows.codec));
    const int scale_bytes = InfoOf(rows.codec).row_bytes;
    if (scale_bytes > 0) term = fmt::format("({} + {})", term, scale_bytes);
    if (rows.heads > 1) term = fmt::format("{} x {}", rows.heads, term);
    if (rows.tokens_per_row > TokenCount(1)) {
      term += fmt::format(" / {} tokens", rows.tokens_per_row.value());
    }
    return term;
  }
  std::string operator()(const Fixed& fixed) const {
    return fmt::format("{} {} x {}", Grouped(fixed.elements.value()), fixed.name,
                       ElementBytes(fixed.dtype));
  }
  std::string operator()(const Alias& /*alias*/) const { return "nothing of its own"; }
};

// Terms of the components that grow, or of those that don't.
template <class Kind>
std::string TermsOf(const LayerState& state) {
  std::string terms;
  for (const Component& component : state.components) {
    if (!std::holds_alternative<Kind>(component)) continue;
    if (!terms.empty()) terms += " + ";
    terms += std::visit(TermOf(), component);
  }
  return terms;
}

std::string LifetimeText(const LayerState& state) {
  for (const Component& component : state.components) {
    const auto* rows = std::get_if<Rows>(&component);
    if (rows == nullptr || rows->exact_copy || rows->lifetime.KeepsAll()) continue;
    const char* what = rows->lifetime.kind == Lifetime::Kind::kWindow ? "window" : "chunk";
    return fmt::format("min(T, {} of {})", what, Grouped(rows->lifetime.tokens.value()));
  }
  return "T";
}

void AddGroup(const LayerGroup& group, Section& section) {
  const size_t count = group.layers.size();
  const std::string layers = fmt::format("{} layer{}", count, count == 1 ? "" : "s");
  if (!group.sources.empty()) {
    section.notes.push_back(
        fmt::format("{}: {} read another layer's rows and keep nothing.", group.kind, layers));
    return;
  }
  const std::string rows = TermsOf<Rows>(group.state);
  if (!rows.empty()) {
    const std::string tokens = LifetimeText(group.state);
    const bool grows = group.bytes_per_token > Bytes(0);
    section.notes.push_back(fmt::format(
        "{}: {} x ({}) x {} tokens{}.", group.kind, layers, rows, tokens,
        grows
            ? fmt::format("; {} bytes for each token more", Grouped(group.bytes_per_token.value()))
            : "; nothing more once it is full"));
  }
  const std::string fixed = TermsOf<Fixed>(group.state);
  if (!fixed.empty()) {
    section.notes.push_back(fmt::format("{}: {} x ({}), once a request, whatever its length.",
                                        group.kind, layers, fixed));
  }
  if (rows.empty() && fixed.empty()) {
    section.notes.push_back(fmt::format("{}: {} keep nothing.", group.kind, layers));
  }
}

std::string AnswerText(const SizeReport& report, size_t index) {
  const SizeAnswer& answer = report.sizing.answers[index];
  std::string sum;
  for (const LayerGroup& group : report.sizing.groups) {
    const Bytes bytes = group.amounts[index].TotalBytes();
    if (bytes == Bytes(0)) continue;
    sum += fmt::format("{}{} {}", sum.empty() ? "" : " + ", group.kind, Grouped(bytes.value()));
  }
  const std::string requests =
      answer.requests == 1 ? fmt::format("one request of {} tokens", Grouped(answer.tokens.value()))
                           : fmt::format("{} requests of up to {} tokens", Grouped(answer.requests),
                                         Grouped(answer.tokens.value()));
  std::string text = fmt::format("{}: {} = {}", requests, sum.empty() ? "nothing" : sum,
                                 ExactBytes(answer.total.TotalBytes()));
  const TokenCount prefix = report.request.question.shared_prefix;
  if (prefix > TokenCount(0) && answer.requests > 1) {
    text +=
        fmt::format("; the first {} tokens' rows are kept once for all", Grouped(prefix.value()));
  }
  return text + ".";
}

struct AttentionNameOf {
  static std::string OfHeads(int64_t heads, int64_t kv_heads) {
    if (kv_heads == heads) return "mha";
    return kv_heads == 1 ? "mqa" : "gqa";
  }
  std::string operator()(const AttentionSpec& attention) const {
    std::string name = OfHeads(attention.heads, attention.kv_heads);
    if (attention.lifetime.kind == Lifetime::Kind::kWindow) name += " in a window";
    if (attention.lifetime.kind == Lifetime::Kind::kChunk) name += " in chunks";
    return attention.index ? name + " with index" : name;
  }
  std::string operator()(const SharedAttentionSpec& shared) const {
    return OfHeads(shared.attention.heads, shared.attention.kv_heads) + " of another layer";
  }
  std::string operator()(const auto& other) const { return KindOf(MixerSpec(other)); }
};

}  // namespace

std::string ComponentsFormula(const LayerState& state) {
  const std::string rows = TermsOf<Rows>(state);
  const std::string fixed = TermsOf<Fixed>(state);
  return rows + (rows.empty() || fixed.empty() ? "" : " + ") + fixed;
}

Section ExplainSection(const SizeReport& report) {
  Section section = {.key = "explain", .title = "How it adds up (T: tokens of a request)"};
  for (const LayerGroup& group : report.sizing.groups) AddGroup(group, section);
  for (size_t i = 0; i < report.sizing.answers.size(); ++i) {
    section.notes.push_back(AnswerText(report, i));
  }
  return section;
}

std::string AttentionName(const ModelSpec& model) {
  std::vector<std::string> names;
  for (const LayerSpec& layer : model.layers) {
    std::string name = std::visit(AttentionNameOf(), layer.mixer);
    if (name == "none" || std::ranges::find(names, name) != names.end()) continue;
    names.push_back(std::move(name));
  }
  return fmt::format("{}", fmt::join(names, " + "));
}

}  // namespace cairn
