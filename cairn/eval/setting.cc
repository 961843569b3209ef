#include "cairn/eval/setting.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace cairn {
namespace {

struct BitsOfRows {
  Bytes bytes;
  ElementCount elements;

  // So many of its rows.
  void Add(const Rows& rows, int64_t count) {
    bytes += BytesPerRow(rows) * count;
    elements += rows.ElementsPerRow() * count;
  }
  std::optional<double> PerElement() const {
    if (elements == ElementCount(0)) return std::nullopt;
    return 8.0 * static_cast<double>(bytes.value()) / static_cast<double>(elements.value());
  }
};

}  // namespace

StateCost StateCostOf(const StateLayout& layout, TokenCount tokens) {
  BitsOfRows keys;
  BitsOfRows values;
  for (size_t i = 0; i < layout.classes().size(); ++i) {
    const BlockClass& block_class = layout.classes()[i];
    if (block_class.open_window) continue;
    const int64_t seen = layout.RowsSeen(ClassIndex(static_cast<int32_t>(i)), tokens);
    for (const RowsSlot& slot : block_class.slots) {
      const LayerState& layer = layout.spec().layers[static_cast<size_t>(slot.layer.value())];
      const Rows& rows = std::get<Rows>(layer.components[static_cast<size_t>(slot.component)]);
      if (rows.exact_copy) continue;
      (rows.name == "values" ? values : keys).Add(rows, seen);
    }
  }
  return {layout.AllocatedBytes(tokens), keys.PerElement(), values.PerElement()};
}

Result<std::unique_ptr<EvalSequence>> EvalSequence::Begin(const EvalSetting& setting,
                                                          TokenCount context, int64_t forks) {
  const SequenceRunner::Options options = {
      .context = context, .chunk = std::min(setting.chunk, context), .policy = setting.policy};
  const Bytes each = StateBytesFor(setting.model->layout(), options);
  CAIRN_ASSIGN(std::unique_ptr<StateStore> store,
               StateStore::Make(setting.model->layout(), {.budget = each * (forks + 1),
                                                          .max_sequences = forks + 1,
                                                          .reserved_tokens = context}));
  auto sequence = std::make_unique<EvalSequence>(setting, options, std::move(store));
  CAIRN_ASSIGN(sequence->runner_, SequenceRunner::Make(*setting.model, *sequence->store_, options));
  return sequence;
}

Status EvalSequence::EndContext() {
  return setting_.policy == nullptr ? Status() : runner_->EndPrompt();
}

Result<std::unique_ptr<SequenceRunner>> EvalSequence::Fork() {
  CAIRN_ASSIGN(const SequenceId id, store_->Fork(runner_->id()));
  const std::span<const TokenId> tokens = runner_->tokens();
  return SequenceRunner::Continue(*setting_.model, *store_, options_, id,
                                  {tokens.begin(), tokens.end()});
}

Status EvalSequence::CheckBytes() const {
  const TokenCount tokens = store_->Length(runner_->id());
  const DroppedRows* lost = runner_->dropped();
  const TokenCount dropped = lost == nullptr ? TokenCount(0) : lost->rows;
  const Bytes sized = store_->layout().AllocatedBytesWithout(dropped, tokens, TokenCount(0));
  if (store_->LiveBytes() == sized) return {};
  return Fail(ErrorCode::kCorrupt, "{}: {} tokens take {} bytes of state, but {} were predicted",
              setting_.name, tokens.value(), store_->LiveBytes().value(), sized.value());
}

}  // namespace cairn
