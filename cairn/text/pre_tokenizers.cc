#include "cairn/text/pre_tokenizers.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <vector>

#include "cairn/text/utf8.h"

namespace cairn {
namespace {

using Pattern = std::string_view;

constexpr Pattern kGpt2Words =
    R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";
constexpr Pattern kOneDigit = R"(\p{N})";
constexpr Pattern kAsciiDigits = "[0-9][0-9][0-9]";
constexpr Pattern kThreeDigits = R"(\p{N}{1,3})";
constexpr Pattern kCjkAndKana = "[一-龥぀-ゟ゠-ヿ]+";

constexpr Pattern kGpt2[] = {kGpt2Words};
constexpr Pattern kDigitsThenGpt2[] = {kOneDigit, kGpt2Words};
constexpr Pattern kDefault[] = {R"([\p{P}\$\+<=>\^~\|]+)", kGpt2Words, R"(\p{N}+)", kAsciiDigits};
constexpr Pattern kFalcon[] = {R"([\p{P}\$\+<=>\^~\|`]+)", kGpt2Words, kAsciiDigits};
constexpr Pattern kLlama3[] = {
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}|)"
    R"( ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)"};
constexpr Pattern kJais2[] = {
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}|)"
    R"( ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s{512}(?!\S)|\s{256}(?!\S)|\s{128}(?!\S)|)"
    R"(\s{64}(?!\S)|\s{32}(?!\S)|\s{16}(?!\S)|\s{8}(?!\S)|\s{4}(?!\S)|\s{1,2}(?!\S)|\s{1})"};
constexpr Pattern kQwen2[] = {
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|)"
    R"(\s*[\r\n]+|\s+(?!\S)|\s+)"};
constexpr Pattern kQwen35[] = {
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}|)"
    R"( ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)"};
constexpr Pattern kUfakzeka[] = {
    R"([^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)"};
constexpr Pattern kLaguna[] = {R"([^\n]+|[\n]+)", kQwen2[0]};
constexpr Pattern kMiniCpm5[] = {kThreeDigits,
                                 R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}+|)"
                                 R"( ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)"};
constexpr Pattern kSeedCoder[] = {
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1}| ?[^\s\p{L}\p{N}\r\n]+|)"
    R"(\s*[\r\n]+|\s+(?!\S)|\s+)"};
constexpr Pattern kBailingMoe[] = {
    R"('(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]++[\r\n]*|)"
    R"(\s*[\r\n]|\s+(?!\S)|\s+)"};
constexpr Pattern kExaoneMoe[] = {
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?(?:\p{L}\p{M}*(?: \p{L}\p{M}*)*)+|)"
    R"(\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]?|\s*[\r\n]|\s+(?!\S)|\s+)"};
constexpr Pattern kTekken[] = {
    R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+|)"
    R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*|\p{N}|)"
    R"( ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+)"};
constexpr Pattern kGpt4o[] = {
    R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+)"
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)?|)"
    R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*)"
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)?|)"
    R"(\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+)"};
constexpr Pattern kTinyAya[] = {R"(\d{1,3}(?=(?:\d{3})*\b))", kGpt4o[0]};
constexpr Pattern kKimiK2[] = {R"([\p{Han}]+|)"
                               R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]*)"
                               R"([\p{Ll}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]+)"
                               R"((?i:'s|'t|'re|'ve|'m|'ll|'d)?|)"
                               R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]+)"
                               R"([\p{Ll}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]*)"
                               R"((?i:'s|'t|'re|'ve|'m|'ll|'d)?|)"
                               R"(\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)"};
constexpr Pattern kDeepSeekLlm[] = {
    R"([\r\n])",
    R"(\s?[)"
    "A-Za-zµÀ-ÖØ-öø-ƺƼ-ƿǄ-ʓʕ-ʯͰ-ͳͶͷͻ-ͽͿΆΈ-ΊΌΎ-ΡΣ-ϵϷ-ҁҊ-ԯԱ-ՖႠ-ჅᎠ-Ᏽᏸ-ᏽᲐ-ᲺᲽ-Ჿᴀ-ᴫ"
    "ᵫ-ᵷᵹ-ᶚḀ-ἕἘ-Ἕἠ-ὅὈ-Ὅὐ-ὗὙὛὝὟ-ώᾀ-ᾴᾶ-ᾼιῂ-ῄῆ-ῌῐ-ΐῖ-Ίῠ-Ῥῲ-ῴῶ-ῼℂℇℊ-ℓℕℙ-ℝℤΩℨK-ℭ"
    "ℯ-ℴℹℼ-ℿⅅ-ⅉⅎↃↄⰀ-ⱻⱾ-ⳤⳫ-ⳮⳲⳳꙀ-ꙭꚀ-ꚛꜢ-ꝯꝱ-ꞇꞋ-ꞎꭰ-ꮿﬀ-ﬆﬓ-ﬗＡ-Ｚａ-ｚ𐐀-𐑏𐒰-𐓓𐓘-𐓻𐲀-𐲲𐳀-𐳲𑢠-𑣟"
    "𞤀-𞥃"
    "]+",
    R"(\s?[!-/:-~！-／：-～‘-‟　-。]+)",
    R"(\s+$)",
    "[一-龥ࠀ-一가-퟿]+",
    R"(\p{N}+)"};
constexpr Pattern kDeepSeekCoder[] = {R"([\r\n])", R"(\s?\p{L}+)", R"(\s?\p{P}+)",
                                      "[一-龥ࠀ-一가-퟿]+", R"(\p{N})"};
constexpr Pattern kDeepSeekV3[] = {
    kThreeDigits, kCjkAndKana,
    R"([!"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+|)"
    R"( ?[\p{P}\p{S}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)"};
constexpr Pattern kSpark25[] = {
    kThreeDigits, kCjkAndKana,
    R"([!"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+|)"
    R"( ?[\p{P}\p{S}]+|[\r\n]|\s+(?!\S)|\s+)",
    kOneDigit};
constexpr Pattern kYoutu[] = {
    "[가-힣ㄱ-ㆎ]+|"
    "[！…“”‘’—：；，、-〿︰-﹏]+|"
    "[ㄅ-ㄯ]+|"
    "[一-龥぀-ゟ゠-ヿ]+",
    R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+)"
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)?|)"
    R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*)"
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)?|)"
    R"(\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+)"};
constexpr Pattern kBloomWords = R"( ?[^(\s|.,!?…。，、।۔،)]+)";
constexpr Pattern kBloom[] = {kBloomWords};
constexpr Pattern kViking[] = {kBloomWords, kOneDigit};
constexpr Pattern kChameleon[] = {"<sentinel:[0-9]+>",       "(IMGIMG)((A|B|C|D|E|F|G|H|I){1,4})Z",
                                  R"(([\t\n]|    |  ))",     kOneDigit,
                                  R"([\p{P}!-/:-@\[-`{-~])", kGpt2Words};

constexpr PreTokenizer kPreTokenizers[] = {
    {.name = "default", .patterns = kDefault},
    {.name = "gpt-2", .patterns = kGpt2},
    {.name = "gpt2", .patterns = kGpt2},
    {.name = "phi-2", .patterns = kGpt2},
    {.name = "exaone4", .patterns = kGpt2},
    {.name = "gigachat", .patterns = kGpt2},
    {.name = "a.x-4.0", .patterns = kGpt2},
    {.name = "mellum", .patterns = kGpt2},
    {.name = "jais", .patterns = kGpt2},
    {.name = "trillion", .patterns = kGpt2},
    {.name = "granite-docling", .patterns = kGpt2},
    {.name = "mpt", .patterns = kGpt2, .nfc = true},
    {.name = "olmo", .patterns = kGpt2, .nfc = true},
    {.name = "starcoder", .patterns = kDigitsThenGpt2},
    {.name = "refact", .patterns = kDigitsThenGpt2},
    {.name = "smollm", .patterns = kDigitsThenGpt2},
    {.name = "codeshell", .patterns = kDigitsThenGpt2},
    {.name = "exaone", .patterns = kDigitsThenGpt2},
    {.name = "minerva-7b", .patterns = kDigitsThenGpt2},
    {.name = "mellum2", .patterns = kDigitsThenGpt2},
    {.name = "command-r", .patterns = kDigitsThenGpt2, .nfc = true},
    {.name = "llama-bpe", .patterns = kLlama3, .ignore_merges = true, .add_bos = true},
    {.name = "llama3", .patterns = kLlama3, .ignore_merges = true, .add_bos = true},
    {.name = "llama-v3", .patterns = kLlama3, .ignore_merges = true, .add_bos = true},
    {.name = "falcon3", .patterns = kLlama3, .ignore_merges = true, .add_bos = true},
    {.name = "falcon-h1", .patterns = kLlama3, .ignore_merges = true, .add_bos = true},
    {.name = "pixtral", .patterns = kLlama3, .ignore_merges = true, .add_bos = true},
    {.name = "midm-2.0", .patterns = kLlama3, .ignore_merges = true, .add_bos = true},
    {.name = "lfm2", .patterns = kLlama3, .ignore_merges = true, .add_bos = true},
    {.name = "dbrx", .patterns = kLlama3},
    {.name = "smaug-bpe", .patterns = kLlama3},
    {.name = "chatglm-bpe", .patterns = kLlama3},
    {.name = "glm4", .patterns = kLlama3, .ignore_merges = true},
    {.name = "glm5", .patterns = kLlama3, .ignore_merges = true},
    {.name = "jais-2", .patterns = kJais2},
    {.name = "qwen2", .patterns = kQwen2, .nfc = true},
    {.name = "megrez", .patterns = kQwen2, .nfc = true},
    {.name = "stablelm2", .patterns = kQwen2, .nfc = true},
    {.name = "deepseek-r1-qwen", .patterns = kQwen2},
    {.name = "kormo", .patterns = kQwen2},
    {.name = "hunyuan", .patterns = kQwen2},
    {.name = "solar-open", .patterns = kQwen2},
    {.name = "grok-2", .patterns = kQwen2},
    {.name = "qwen35", .patterns = kQwen35, .nfc = true},
    {.name = "ufakzeka", .patterns = kUfakzeka},
    {.name = "laguna", .patterns = kLaguna},
    {.name = "minicpm5", .patterns = kMiniCpm5, .ignore_merges = true},
    {.name = "seed-coder", .patterns = kSeedCoder},
    {.name = "bailingmoe", .patterns = kBailingMoe},
    {.name = "bailingmoe2", .patterns = kBailingMoe},
    {.name = "llada-moe", .patterns = kBailingMoe},
    {.name = "exaone-moe", .patterns = kExaoneMoe},
    {.name = "tekken", .patterns = kTekken, .ignore_merges = true, .add_bos = true},
    {.name = "gpt-4o", .patterns = kGpt4o},
    {.name = "llama4", .patterns = kGpt4o},
    {.name = "kanana2", .patterns = kGpt4o},
    {.name = "talkie", .patterns = kGpt4o},
    {.name = "minimax-m2", .patterns = kGpt4o},
    {.name = "tiny_aya", .patterns = kTinyAya},
    {.name = "cohere2moe", .patterns = kTinyAya},
    {.name = "kimi-k2", .patterns = kKimiK2},
    {.name = "deepseek-llm", .patterns = kDeepSeekLlm},
    {.name = "deepseek-coder", .patterns = kDeepSeekCoder},
    {.name = "deepseek-v3", .patterns = kDeepSeekV3},
    {.name = "hunyuan-dense", .patterns = kDeepSeekV3},
    {.name = "joyai-llm", .patterns = kDeepSeekV3},
    {.name = "hy_v4", .patterns = kDeepSeekV3},
    {.name = "spark2_5", .patterns = kSpark25},
    {.name = "youtu", .patterns = kYoutu, .ignore_merges = true},
    {.name = "falcon", .patterns = kFalcon},
    {.name = "bloom", .patterns = kBloom},
    {.name = "poro-chat", .patterns = kBloom},
    {.name = "gpt3-finnish", .patterns = kBloom},
    {.name = "viking", .patterns = kViking},
    {.name = "chameleon", .patterns = kChameleon, .add_bos = true},
    {.name = "gemma4", .patterns = {}, .add_bos = true, .byte_level = false},
    {.name = "sarvam-moe", .patterns = {}, .byte_level = false},
};

}  // namespace

Result<const PreTokenizer*> FindPreTokenizer(std::string_view name) {
  if (name.empty()) name = "default";
  const auto found = std::ranges::find(kPreTokenizers, name, &PreTokenizer::name);
  if (found != std::end(kPreTokenizers)) return &*found;
  std::vector<std::string_view> known;
  for (const PreTokenizer& row : kPreTokenizers) known.push_back(row.name);
  return Fail(ErrorCode::kUnsupported, "unknown pre-tokenizer \"{}\"; known are {}",
              ForMessage(name), fmt::join(known, ", "));
}

std::string SettingsJson(const PreTokenizer& pre_tokenizer) {
  using Json = nlohmann::json;
  Json settings = {{"normalizer", nullptr},
                   {"pre_tokenizer", nullptr},
                   {"ignore_merges", pre_tokenizer.ignore_merges},
                   {"byte_fallback", !pre_tokenizer.byte_level}};
  if (!pre_tokenizer.byte_level) {
    const Json space = {{"String", " "}};
    const Json marker = {{"String", "\u2581"}};
    settings["normalizer"] = {{"type", "Replace"}, {"pattern", space}, {"content", "\u2581"}};
    settings["decoder"] = {
        {"type", "Sequence"},
        {"decoders", Json::array({{{"type", "Replace"}, {"pattern", marker}, {"content", " "}},
                                  {{"type", "ByteFallback"}},
                                  {{"type", "Fuse"}}})}};
    return settings.dump();
  }
  if (pre_tokenizer.nfc) settings["normalizer"] = {{"type", "NFC"}};
  const Json byte_level = {{"type", "ByteLevel"},
                           {"add_prefix_space", false},
                           {"trim_offsets", false},
                           {"use_regex", false}};
  Json steps = Json::array();
  for (std::string_view pattern : pre_tokenizer.patterns) {
    steps.push_back({{"type", "Split"},
                     {"pattern", {{"Regex", pattern}}},
                     {"behavior", "Isolated"},
                     {"invert", false}});
  }
  steps.push_back(byte_level);
  settings["pre_tokenizer"] = {{"type", "Sequence"}, {"pretokenizers", steps}};
  settings["decoder"] = byte_level;
  return settings.dump();
}

}  // namespace cairn
