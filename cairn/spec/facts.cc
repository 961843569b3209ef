#include "cairn/spec/facts.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>
#include <vector>

#include "cairn/base/parse_number.h"
#include "cairn/spec/limits.h"
#include "cairn/spec/quoted.h"

namespace cairn {
namespace {

// Keys stay in the order they were written in, and so do errors about them.
using Json = nlohmann::ordered_json;

constexpr size_t kMaxFactBytes = size_t{64} << 10;
// Of all lists together, each time that they are repeated.
constexpr size_t kMaxValues = size_t{1} << 16;
constexpr size_t kMaxListItems = 4096;
constexpr int kMaxDepth = 8;

constexpr auto kShortKeys = std::to_array<ShortKey>({
    {"layers", "num_hidden_layers"},
    {"hidden", "hidden_size"},
    {"heads", "num_attention_heads"},
    {"kv_heads", "num_key_value_heads"},
    {"head_dim", "head_dim"},
    {"intermediate", "intermediate_size"},
    {"vocab", "vocab_size"},
    {"context", "max_position_embeddings"},
    {"tied", "tie_word_embeddings"},
    {"window", "sliding_window"},
    {"latent", "kv_lora_rank"},
    {"rope", "qk_rope_head_dim"},
    {"key_dim", "qk_nope_head_dim"},
    {"value_dim", "v_head_dim"},
    {"query_rank", "q_lora_rank"},
    {"index", "index_head_dim"},
    {"experts", "num_experts"},
    {"experts_per_token", "num_experts_per_tok"},
    {"expert_intermediate", "moe_intermediate_size"},
});

constexpr std::string_view kBetweenPairs = " ,";

bool IsKeyCharacter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         c == '.';
}

bool IsWordCharacter(char c) { return IsKeyCharacter(c) || c == '-' || c == '+' || c == '*'; }

Json AtomJson(std::string_view word) {
  if (word == "true") return true;
  if (word == "false") return false;
  if (word == "null") return nullptr;
  int64_t integer = 0;
  const char* end = word.data() + word.size();
  if (const auto [at, error] = std::from_chars(word.data(), end, integer);
      error == std::errc() && at == end) {
    return integer;
  }
  if (const std::optional<double> number = ParseDouble(word)) return *number;
  return word;
}

// The value and all within it.
size_t CountValues(const Json& value) {
  size_t count = 1;
  if (!value.is_structured()) return count;
  for (const Json& inner : value) count += CountValues(inner);
  return count;
}

// One pass from left to right; recursion is bounded by kMaxDepth.
class Reader {
 public:
  Reader(std::string_view text, std::string_view where, KeyStyle style)
      : text_(text), where_(where), style_(style) {}

  Result<Json> ReadAll() {
    if (text_.size() > kMaxFactBytes) {
      return Fail(ErrorCode::kInvalidArgument, "{}: {} bytes, expected at most {}", Where(),
                  text_.size(), kMaxFactBytes);
    }
    Json object = Json::object();
    SkipSeparators();
    const std::string_view word = Peek(IsWordCharacter);
    if (!word.empty() && (at_ + word.size() == text_.size() || text_[at_ + word.size()] != '=')) {
      object["model_type"] = word;
      at_ += word.size();
    }
    CAIRN_TRY(ReadPairs(object, '\0', 0));
    return object;
  }

 private:
  std::string Where() const { return Quoted(where_); }

  // The characters from here on that the predicate takes.
  std::string_view Peek(bool (*takes)(char)) const {
    size_t end = at_;
    while (end < text_.size() && takes(text_[end])) ++end;
    return text_.substr(at_, end - at_);
  }

  bool At(char c) const { return at_ < text_.size() && text_[at_] == c; }

  void SkipSeparators() {
    while (at_ < text_.size() && kBetweenPairs.find(text_[at_]) != kBetweenPairs.npos) ++at_;
  }

  std::unexpected<Error> Wrong(std::string_view expected) const {
    return Fail(ErrorCode::kInvalidArgument, "{}: {} found {}, expected {}", Where(),
                key_.empty() ? "at the start" : fmt::format("after {}", key_),
                at_ < text_.size() ? Quoted(text_.substr(at_, 1)) : "the end", expected);
  }

  // Up to `end`, which is left unread.
  Status ReadPairs(Json& object, char end, int depth) {
    for (;;) {
      SkipSeparators();
      if (at_ == text_.size() && end == '\0') return {};
      if (end != '\0' && At(end)) return {};
      const std::string_view key = Peek(IsKeyCharacter);
      if (key.empty()) return Wrong("key=value");
      at_ += key.size();
      key_ = key;
      if (!At('=')) return Wrong("= and a value");
      ++at_;
      CAIRN_ASSIGN(Json value, ReadValue(depth));
      CAIRN_TRY(Set(object, key, std::move(value)));
    }
  }

  std::string_view Spelled(std::string_view key) const {
    if (style_ == KeyStyle::kAsWritten) return key;
    const auto found = std::ranges::find(kShortKeys, key, &ShortKey::name);
    return found == kShortKeys.end() ? key : found->key;
  }

  Status Set(Json& object, std::string_view path, Json value) const {
    Json* inner = &object;
    std::string_view rest = path;
    for (size_t dot = rest.find('.'); dot != rest.npos; dot = rest.find('.')) {
      Json& child = (*inner)[std::string(rest.substr(0, dot))];
      if (child.is_null()) child = Json::object();
      if (!child.is_object()) return Twice(path);
      inner = &child;
      rest.remove_prefix(dot + 1);
    }
    if (rest.empty()) return Wrong("a key without a dot at its end");
    const std::string name(Spelled(rest));
    if (inner->contains(name)) return Twice(path);
    (*inner)[name] = std::move(value);
    return {};
  }

  std::unexpected<Error> Twice(std::string_view path) const {
    return Fail(ErrorCode::kInvalidArgument, "{}: {} comes twice, expected each key once", Where(),
                path);
  }

  Result<Json> ReadValue(int depth) {
    Json list = Json::array();
    bool repeated = false;
    CAIRN_TRY(ReadItems(list, depth, repeated));
    if (list.size() == 1 && !repeated) return std::move(list.front());
    return list;
  }

  // A comma goes on with the list unless a pair follows it.
  bool ItemFollows() const {
    if (!At(',')) return false;
    size_t end = at_ + 1;
    while (end < text_.size() && IsWordCharacter(text_[end])) ++end;
    return end == text_.size() || text_[end] != '=';
  }

  Status ReadItems(Json& list, int depth, bool& repeated) {
    if (depth > kMaxDepth) return Wrong(fmt::format("at most {} levels", kMaxDepth));
    CAIRN_TRY(ReadItem(list, depth, repeated));
    while (ItemFollows()) {
      ++at_;
      CAIRN_TRY(ReadItem(list, depth, repeated));
    }
    return {};
  }

  // Digits and a star: how often the item comes.
  std::optional<int64_t> Count() {
    size_t end = at_;
    while (end < text_.size() && text_[end] >= '0' && text_[end] <= '9') ++end;
    if (end == at_ || end == text_.size() || text_[end] != '*') return std::nullopt;
    int64_t count = 0;
    const auto read = std::from_chars(text_.data() + at_, text_.data() + end, count);
    at_ = end + 1;
    return read.ec == std::errc() ? count : 0;
  }

  Status ReadItem(Json& list, int depth, bool& repeated) {
    const std::optional<int64_t> count = Count();
    if (count && (*count < 1 || *count > kMaxLayers)) {
      return Wrong(fmt::format("1 to {} repetitions", kMaxLayers));
    }
    Json items = Json::array();
    if (At('(')) {
      ++at_;
      bool inner = false;
      CAIRN_TRY(ReadItems(items, depth + 1, inner));
      CAIRN_TRY(Close(')'));
      repeated = true;
    } else {
      CAIRN_ASSIGN(Json one, ReadOne(depth));
      items.push_back(std::move(one));
    }
    if (count) repeated = true;
    const auto times = static_cast<size_t>(count.value_or(1));
    if (list.size() + times * items.size() > kMaxListItems) {
      return Wrong(fmt::format("a list of at most {}", kMaxListItems));
    }
    values_ += times * CountValues(items);
    if (values_ > kMaxValues) {
      return Wrong(fmt::format("at most {} values in all", kMaxValues));
    }
    for (size_t i = 0; i < times; ++i) list.insert(list.end(), items.begin(), items.end());
    return {};
  }

  Status Close(char bracket) {
    if (!At(bracket)) return Wrong(std::string(1, bracket));
    ++at_;
    return {};
  }

  Result<Json> ReadOne(int depth) {
    if (At('[')) {
      ++at_;
      Json list = Json::array();
      bool repeated = false;
      if (!At(']')) CAIRN_TRY(ReadItems(list, depth + 1, repeated));
      CAIRN_TRY(Close(']'));
      return list;
    }
    if (At('{')) {
      ++at_;
      if (depth > kMaxDepth) return Wrong(fmt::format("at most {} levels", kMaxDepth));
      Json object = Json::object();
      CAIRN_TRY(ReadPairs(object, '}', depth + 1));
      CAIRN_TRY(Close('}'));
      return object;
    }
    const std::string_view word = Peek(IsWordCharacter);
    if (word.empty()) return Wrong("a value");
    at_ += word.size();
    return AtomJson(word);
  }

  std::string_view text_;
  std::string_view where_;
  KeyStyle style_;
  std::string_view key_;  // last read
  size_t at_ = 0;
  size_t values_ = 0;
};

void AddKeys(const Json& value, const std::string& prefix, std::vector<std::string>& keys) {
  if (value.is_array()) {
    for (const Json& item : value) AddKeys(item, prefix, keys);
    return;
  }
  if (!value.is_object()) return;
  for (const auto& [key, inner] : value.items()) {
    if (!inner.is_object()) keys.push_back(prefix + key);
    AddKeys(inner, prefix + key + ".", keys);
  }
}

}  // namespace

std::span<const ShortKey> ShortKeys() { return kShortKeys; }

Result<std::string> JsonOfFacts(std::string_view facts, std::string_view where, KeyStyle style) {
  CAIRN_ASSIGN(const Json object, Reader(facts, where, style).ReadAll());
  return object.dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::vector<std::string> KeysOfFacts(std::string_view facts) {
  std::vector<std::string> keys;
  const Result<Json> object = Reader(facts, facts, KeyStyle::kAsWritten).ReadAll();
  if (object) AddKeys(*object, "", keys);
  return keys;
}

}  // namespace cairn
