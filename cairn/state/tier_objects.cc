#include "cairn/state/tier_objects.h"

#include <algorithm>
#include <cstring>
#include <string_view>

#include "cairn/base/check.h"

namespace cairn {
namespace {

// Objects near this size move at the full speed of a disk, and few of them wait for one another.
constexpr Bytes kRunBytes{int64_t{8} << 20};
constexpr int64_t kMostRunTokens = 256;

ClassIndex ClassOf(size_t index) { return ClassIndex(static_cast<int32_t>(index)); }

Bytes BytesOf(const StateLayout& layout, const TierBlocks& blocks) {
  Bytes bytes;
  for (size_t i = 0; i < blocks.ranges.size(); ++i) {
    bytes += layout.classes()[i].block_bytes * blocks.ranges[i].count().value();
  }
  return blocks.fixed ? bytes + layout.fixed_bytes() : bytes;
}

uint64_t TagOf(const Sha256::Digest& digest) {
  uint64_t tag;
  std::memcpy(&tag, digest.data(), sizeof tag);
  return tag;
}

// Objects of different kinds, or of runs of another length, never share a key.
ObjectKey KeyOf(std::string_view kind, TokenCount run_tokens, const Sha256& chain) {
  Sha256 hash;
  hash.Update(std::as_bytes(std::span(kind.data(), kind.size())));
  const int64_t length = run_tokens.value();
  hash.Update(std::as_bytes(std::span(&length, 1)));
  hash.Update(chain.Finish());
  return {hash.Finish()};
}

}  // namespace

uint64_t TagOf(const StateKey& key) { return TagOf(key.bytes); }

ObjectMetadata MetadataOf(const TierObject& object) {
  return {static_cast<uint64_t>(object.kind),
          static_cast<uint64_t>(object.from.value()),
          static_cast<uint64_t>(object.to.value()),
          object.state_key,
          object.before,
          object.after};
}

std::optional<TierObject> TierObjectOf(const ObjectMetadata& metadata) {
  const auto most = static_cast<uint64_t>(kMaxStateTokens.value());
  const auto kind = static_cast<TierObjectKind>(metadata[0]);
  if (kind != TierObjectKind::kRun && kind != TierObjectKind::kEnd) return std::nullopt;
  if (metadata[1] > metadata[2] || metadata[2] > most || metadata[2] == 0) return std::nullopt;
  // An end may have no tokens of its own: all of them lie in runs.
  if (kind == TierObjectKind::kRun && metadata[1] == metadata[2]) return std::nullopt;
  return TierObject{.kind = kind,
                    .from = TokenCount(static_cast<int64_t>(metadata[1])),
                    .to = TokenCount(static_cast<int64_t>(metadata[2])),
                    .state_key = metadata[3],
                    .before = metadata[4],
                    .after = metadata[5]};
}

TokenCount RunTokensFor(const StateLayout& layout) {
  const Bytes per_token = layout.MarginalBytesPerToken();
  int64_t tokens = kMostRunTokens;
  while (tokens > kRowsPerBlock && per_token * tokens > kRunBytes) tokens /= 2;
  return TokenCount(tokens);
}

TierBlocks RunBlocks(const StateLayout& layout, TokenCount run_tokens, int64_t run) {
  TierBlocks blocks;
  for (const BlockClass& c : layout.classes()) {
    BlockRange& range = blocks.ranges.emplace_back();
    if (!c.KeepsAll()) continue;
    range = {.first = c.BlocksFilled(run_tokens * run),
             .end = c.BlocksFilled(run_tokens * (run + 1))};
  }
  blocks.bytes = BytesOf(layout, blocks);
  return blocks;
}

TierBlocks EndBlocks(const StateLayout& layout, TokenCount run_tokens, TokenCount tokens) {
  const TokenCount in_runs = run_tokens * (tokens.value() / run_tokens.value());
  TierBlocks blocks;
  for (size_t i = 0; i < layout.classes().size(); ++i) {
    const BlockClass& c = layout.classes()[i];
    BlockRange& range = blocks.ranges.emplace_back(layout.BlocksHeld(ClassOf(i), tokens));
    if (c.KeepsAll()) range.first = c.BlocksFilled(in_runs);
  }
  blocks.fixed = layout.fixed_bytes() > Bytes(0);
  blocks.bytes = BytesOf(layout, blocks);
  return blocks;
}

PrefixChain::PrefixChain(const StateKey& key, std::span<const TokenId> tokens,
                         TokenCount run_tokens)
    : tokens_(tokens), run_tokens_(run_tokens), state_key_(TagOf(key)) {
  CAIRN_CHECK(run_tokens > TokenCount(0));
  const auto run = static_cast<size_t>(run_tokens.value());
  chain_.reserve(tokens.size() / run + 1);
  Sha256& start = chain_.emplace_back();
  start.Update(key.bytes);
  for (size_t at = run; at <= tokens.size(); at += run) {
    Sha256 next = chain_.back();
    next.Update(std::as_bytes(tokens.subspan(at - run, run)));
    chain_.push_back(std::move(next));
  }
}

uint64_t PrefixChain::Tag(int64_t runs) const {
  return TagOf(chain_[static_cast<size_t>(runs)].Finish());
}

ObjectKey PrefixChain::RunKey(int64_t run) const {
  CAIRN_CHECK(run >= 0 && run < whole_runs());
  return KeyOf("run", run_tokens_, chain_[static_cast<size_t>(run) + 1]);
}

TierObject PrefixChain::Run(int64_t run) const {
  return {.kind = TierObjectKind::kRun,
          .from = run_tokens_ * run,
          .to = run_tokens_ * (run + 1),
          .state_key = state_key_,
          .before = Tag(run),
          .after = Tag(run + 1)};
}

Sha256 PrefixChain::ChainAt(TokenCount n) const {
  CAIRN_CHECK(n > TokenCount(0) && n <= tokens());
  const int64_t runs = n.value() / run_tokens_.value();
  const int64_t from = runs * run_tokens_.value();
  Sha256 chain = chain_[static_cast<size_t>(runs)];
  chain.Update(std::as_bytes(
      tokens_.subspan(static_cast<size_t>(from), static_cast<size_t>(n.value() - from))));
  return chain;
}

ObjectKey PrefixChain::EndKey(TokenCount n) const { return KeyOf("end", run_tokens_, ChainAt(n)); }

TierObject PrefixChain::End(TokenCount n) const {
  const int64_t runs = n.value() / run_tokens_.value();
  return {.kind = TierObjectKind::kEnd,
          .from = run_tokens_ * runs,
          .to = n,
          .state_key = state_key_,
          .before = Tag(runs),
          .after = TagOf(ChainAt(n).Finish())};
}

std::span<const TokenId> PrefixChain::TokensOf(const TierObject& object) const {
  return tokens_.subspan(static_cast<size_t>(object.from.value()),
                         static_cast<size_t>((object.to - object.from).value()));
}

}  // namespace cairn
