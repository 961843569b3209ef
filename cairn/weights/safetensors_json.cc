#include "cairn/weights/safetensors_json.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "cairn/spec/quoted.h"

namespace cairn {
namespace {

using Json = nlohmann::json;

constexpr size_t kMaxDepth = 16;  // of the index; the header is at most 3 deep
constexpr size_t kMaxDimensions = 16;
constexpr size_t kMaxShownKeys = 3;

// Follows the keys down to the current value and keeps the first problem. A subclass is told of the
// values it cares about and answers with Problem(...) or true.
class Handler : public nlohmann::json_sax<Json> {
 public:
  // "key "a" / "shape": expected ..."
  const std::string& problem() const { return problem_; }

  bool null() override { return OnOther(); }
  bool boolean(bool) override { return OnOther(); }
  bool number_integer(number_integer_t) override { return OnOther(); }
  bool number_float(number_float_t, const string_t&) override { return OnOther(); }
  bool binary(binary_t&) override { return OnOther(); }
  bool number_unsigned(number_unsigned_t value) override { return OnNumber(value); }
  bool string(string_t& value) override { return OnString(value); }
  bool key(string_t& name) override {
    path_.back() = name;
    return true;
  }
  bool start_object(std::size_t) override { return OnObject() && Enter(); }
  bool start_array(std::size_t) override { return OnArray() && Enter(); }
  bool end_object() override {
    path_.pop_back();
    return OnObjectEnd();
  }
  bool end_array() override {
    path_.pop_back();
    return OnArrayEnd();
  }
  bool parse_error(std::size_t position, const std::string&,
                   const nlohmann::detail::exception&) override {
    path_.clear();
    return Problem(fmt::format("not valid JSON at byte {}", position));
  }

 protected:
  // Keys from the outermost object down to the current value.
  const std::vector<std::string>& path() const { return path_; }

  bool Problem(std::string_view what) {
    if (!problem_.empty()) return false;
    std::string keys;
    for (size_t i = 0; i < std::min(path_.size(), kMaxShownKeys); ++i) {
      keys += (i == 0 ? "key " : " / ") + Quoted(path_[i]);
    }
    problem_ = keys.empty() ? std::string(what) : fmt::format("{}: {}", keys, what);
    return false;
  }

  virtual bool OnNumber(uint64_t value) = 0;
  virtual bool OnString(const std::string& value) = 0;
  virtual bool OnOther() = 0;  // any other scalar
  // Called with the path of the object or array itself.
  virtual bool OnObject() = 0;
  virtual bool OnObjectEnd() { return true; }
  virtual bool OnArray() = 0;
  virtual bool OnArrayEnd() { return true; }

 private:
  bool Enter() {
    if (path_.size() == kMaxDepth) return Problem(fmt::format("more than {} deep", kMaxDepth));
    path_.emplace_back();
    return true;
  }

  std::vector<std::string> path_;
  std::string problem_;
};

// {"__metadata__": {"k": "v"}, "tensor": {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]}}
class HeaderHandler : public Handler {
 public:
  explicit HeaderHandler(Metadata& metadata) : metadata_(metadata) {}
  std::vector<SafetensorsEntry>& entries() { return entries_; }

 private:
  static constexpr const char* kStructure =
      "expected an object with dtype (a string), shape and data_offsets (arrays of sizes)";

  bool InMetadata() const { return path().front() == "__metadata__"; }
  bool AtField(std::string_view field) const {
    return path().size() == 2 && !InMetadata() && path()[1] == field;
  }

  bool OnObject() override {
    if (path().size() > 1) return Problem(kStructure);
    if (path().size() == 1) {
      type_.reset();
      shape_.reset();
      offsets_.reset();
    }
    return true;
  }

  bool OnArray() override {
    std::optional<std::vector<uint64_t>>* array = ArrayHere();
    if (array == nullptr || array->has_value()) return Problem(kStructure);
    open_array_ = &array->emplace();
    return true;
  }

  bool OnArrayEnd() override {
    open_array_ = nullptr;
    return true;
  }

  bool OnNumber(uint64_t value) override {
    if (open_array_ == nullptr) return Problem(kStructure);
    if (open_array_->size() == kMaxDimensions || !std::in_range<int64_t>(value)) {
      return Problem(fmt::format("expected at most {} sizes below 2^63", kMaxDimensions));
    }
    open_array_->push_back(value);
    return true;
  }

  bool OnString(const std::string& value) override {
    if (AtField("dtype") && !type_) {
      type_ = value;
      return true;
    }
    if (path().size() != 2 || !InMetadata()) return Problem(kStructure);
    const std::string key = "safetensors." + path()[1];
    if (metadata_.Has(key)) return Problem("is there twice");
    metadata_.Set(key, value);
    return true;
  }

  bool OnOther() override { return Problem(kStructure); }

  bool OnObjectEnd() override {
    if (path().size() != 1 || InMetadata()) return true;
    if (!type_ || !shape_ || !offsets_ || offsets_->size() != 2) return Problem(kStructure);
    entries_.push_back({path().front(),
                        std::move(*type_),
                        {shape_->begin(), shape_->end()},
                        offsets_->front(),
                        offsets_->back()});
    return true;
  }

  std::optional<std::vector<uint64_t>>* ArrayOf(std::string_view field) {
    if (field == "shape") return &shape_;
    return field == "data_offsets" ? &offsets_ : nullptr;
  }
  // The array that may start at the current path; null: none.
  std::optional<std::vector<uint64_t>>* ArrayHere() {
    return path().size() == 2 && !InMetadata() ? ArrayOf(path()[1]) : nullptr;
  }

  Metadata& metadata_;
  std::vector<SafetensorsEntry> entries_;
  // Fields of the current tensor.
  std::optional<std::string> type_;
  std::optional<std::vector<uint64_t>> shape_;
  std::optional<std::vector<uint64_t>> offsets_;
  std::vector<uint64_t>* open_array_ = nullptr;
};

// {"metadata": anything, "weight_map": {"tensor": "file"}}
class IndexHandler : public Handler {
 public:
  std::map<std::string, std::string>& files() { return files_; }

 private:
  bool InMap() const { return !path().empty() && path().front() == "weight_map"; }
  bool Check() { return (!path().empty() && !InMap()) || Problem("expected names of files"); }

  bool OnNumber(uint64_t) override { return Check(); }
  bool OnOther() override { return Check(); }
  bool OnArray() override { return Check(); }
  bool OnObject() override { return path().size() <= 1 || Check(); }
  bool OnString(const std::string& value) override {
    if (path().size() != 2 || !InMap()) return Check();
    return files_.emplace(path()[1], value).second || Problem("is there twice");
  }

  std::map<std::string, std::string> files_;
};

Status Run(std::string_view json, Handler& handler, const std::string& what) {
  if (Json::sax_parse(json, &handler)) return {};
  return Fail(ErrorCode::kCorrupt, "{}: {}", what, handler.problem());
}

}  // namespace

Result<std::vector<SafetensorsEntry>> ParseSafetensorsHeader(std::string_view json,
                                                             Metadata& metadata) {
  HeaderHandler handler(metadata);
  CAIRN_TRY(Run(json, handler, metadata.where() + ": header"));
  return std::move(handler.entries());
}

Result<std::map<std::string, std::string>> ParseSafetensorsIndex(std::string_view json,
                                                                 const std::string& where) {
  IndexHandler handler;
  CAIRN_TRY(Run(json, handler, where));
  return std::move(handler.files());
}

}  // namespace cairn
