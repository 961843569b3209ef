#include "cairn/text/token_table.h"

#include <cstring>

#include "cairn/base/check.h"

namespace cairn {
namespace {

constexpr uint8_t kFlagSpecial = 2;  // decoding.rs

// Takes bytes off the front of records that our own crate wrote.
class RecordReader {
 public:
  explicit RecordReader(std::string_view records) : rest_(records) {}

  std::string_view Take(size_t size) {
    CAIRN_CHECK(size <= rest_.size());
    const std::string_view taken = rest_.substr(0, size);
    rest_.remove_prefix(size);
    return taken;
  }
  uint8_t TakeByte() { return static_cast<uint8_t>(Take(1)[0]); }
  uint32_t TakeU32() {
    uint32_t value;
    std::memcpy(&value, Take(sizeof(value)).data(), sizeof(value));
    return value;
  }
  bool empty() const { return rest_.empty(); }

 private:
  std::string_view rest_;
};

}  // namespace

TokenTable TokenTable::FromRecords(std::string_view records) {
  RecordReader reader(records);
  const uint32_t count = reader.TakeU32();
  TokenTable table(static_cast<int>(reader.TakeU32()));
  table.records_.reserve(count);
  table.storage_.reserve(records.size());
  for (uint32_t i = 0; i < count; ++i) {
    const uint8_t flags = reader.TakeByte();
    const uint32_t text_size = reader.TakeU32();
    const uint32_t bytes_size = reader.TakeU32();
    const std::string_view text = reader.Take(text_size);
    table.Add(text, reader.Take(bytes_size), (flags & kFlagSpecial) != 0);
  }
  CAIRN_CHECK(reader.empty());
  return table;
}

void TokenTable::Add(std::string_view text, std::string_view bytes, bool special) {
  records_.push_back({storage_.size(), static_cast<uint32_t>(text.size()),
                      static_cast<uint32_t>(bytes.size()), special});
  storage_.append(text).append(bytes);
}

const TokenTable::Record* TokenTable::Find(TokenId id) const {
  if (id.value() < 0 || id.value() >= size()) return nullptr;
  return &records_[static_cast<size_t>(id.value())];
}

std::string_view TokenTable::Text(TokenId id) const {
  const Record* record = Find(id);
  if (record == nullptr) return {};
  return std::string_view(storage_).substr(record->offset, record->text_size);
}

std::string_view TokenTable::Bytes(TokenId id) const {
  const Record* record = Find(id);
  if (record == nullptr) return {};
  return std::string_view(storage_).substr(record->offset + record->text_size, record->bytes_size);
}

bool TokenTable::IsSpecial(TokenId id) const {
  const Record* record = Find(id);
  return record != nullptr && record->special;
}

std::optional<TokenId> TokenTable::FindText(std::string_view text) const {
  if (text.empty()) return std::nullopt;
  for (int32_t i = 0; i < size(); ++i) {
    if (Text(TokenId(i)) == text) return TokenId(i);
  }
  return std::nullopt;
}

}  // namespace cairn
