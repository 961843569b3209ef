#include <filesystem>
#include <utility>

#include "cairn/base/env.h"
#include "cairn/text/gguf_vocabulary.h"
#include "cairn/weights/weight_file.h"
#include "tools/generation.h"

namespace cairn {
namespace {

constexpr std::string_view kPrefix = "tokenizer.ggml.";

std::string Key(std::string_view name) { return fmt::format("{}{}", kPrefix, name); }

// Members of a vocabulary from the metadata: absent keys leave them empty, keys of another type are
// errors.
class VocabularyReader {
 public:
  explicit VocabularyReader(const Metadata& metadata) : metadata_(metadata) {}

  Status Text(const std::string& key, std::string& to) const {
    if (metadata_.Find(key) == nullptr) return {};
    CAIRN_ASSIGN(const std::string_view value, metadata_.String(key));
    to = value;
    return {};
  }

  Status Id(std::string_view name, std::optional<int64_t>& to) const {
    if (metadata_.Find(Key(name)) == nullptr) return {};
    CAIRN_ASSIGN(to, metadata_.Int(Key(name)));
    return {};
  }

  Status Flag(std::string_view name, std::optional<bool>& to) const {
    if (metadata_.Find(Key(name)) == nullptr) return {};
    CAIRN_ASSIGN(to, metadata_.Bool(Key(name)));
    return {};
  }

  Status Strings(std::string_view name, std::vector<std::string_view>& to) const {
    if (metadata_.Find(Key(name)) == nullptr) return {};
    CAIRN_ASSIGN(const auto values, metadata_.Strings(Key(name)));
    to.assign(values.begin(), values.end());
    return {};
  }

  template <class Number>
  Status Numbers(std::string_view name, std::vector<Number>& to) const {
    if (metadata_.Find(Key(name)) == nullptr) return {};
    if constexpr (std::is_floating_point_v<Number>) {
      CAIRN_ASSIGN(const auto values, metadata_.Floats(Key(name)));
      for (const double v : values) to.push_back(static_cast<Number>(v));
    } else {
      CAIRN_ASSIGN(const auto values, metadata_.Ints(Key(name)));
      for (const int64_t v : values) to.push_back(static_cast<Number>(v));
    }
    return {};
  }

 private:
  const Metadata& metadata_;
};

Result<GgufVocabulary> VocabularyOf(const Metadata& metadata) {
  const VocabularyReader read(metadata);
  GgufVocabulary v;
  v.where = metadata.where();
  CAIRN_TRY(read.Text("general.name", v.general_name));
  CAIRN_TRY(read.Text(Key("model"), v.model));
  CAIRN_TRY(read.Text(Key("pre"), v.pre));
  CAIRN_TRY(read.Strings("tokens", v.tokens));
  CAIRN_TRY(read.Numbers("scores", v.scores));
  CAIRN_TRY(read.Numbers("token_type", v.token_types));
  CAIRN_TRY(read.Strings("merges", v.merges));
  CAIRN_TRY(read.Id("bos_token_id", v.bos_id));
  CAIRN_TRY(read.Id("eos_token_id", v.eos_id));
  CAIRN_TRY(read.Id("eot_token_id", v.eot_id));
  CAIRN_TRY(read.Id("eom_token_id", v.eom_id));
  CAIRN_TRY(read.Id("unknown_token_id", v.unk_id));
  CAIRN_TRY(read.Id("padding_token_id", v.pad_id));
  CAIRN_TRY(read.Flag("add_bos_token", v.add_bos));
  CAIRN_TRY(read.Flag("add_eos_token", v.add_eos));
  CAIRN_TRY(read.Flag("add_space_prefix", v.add_space_prefix));
  CAIRN_TRY(read.Flag("remove_extra_whitespaces", v.remove_extra_whitespaces));
  std::string chat_template;
  CAIRN_TRY(read.Text("tokenizer.chat_template", chat_template));
  if (!chat_template.empty()) v.chat_template = std::move(chat_template);
  return v;
}

}  // namespace

Result<Tokenizer> OpenTokenizer(const WeightFile& file, const std::string& path) {
  if (file.metadata().Find("general.architecture") == nullptr) {
    const std::filesystem::path given(path);
    return Tokenizer::FromFolder(IsDirectory(path) ? given : given.parent_path());
  }
  CAIRN_ASSIGN(const GgufVocabulary vocabulary, VocabularyOf(file.metadata()));
  return Tokenizer::FromGguf(vocabulary);
}

}  // namespace cairn
