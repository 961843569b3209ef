#include "cairn/spec/rope_config.h"

#include <cmath>
#include <string>
#include <utility>

#include "cairn/spec/limits.h"
#include "cairn/spec/quoted.h"

namespace cairn {
namespace {

constexpr FloatRange kBaseRange = {1, 1e15};
constexpr FloatRange kFactorRange = {1e-3, 1e6};
constexpr FloatRange kContextRange = {1, static_cast<double>(kMaxContext)};
constexpr FloatRange kRotationRange = {1e-3, 1e6};
constexpr FloatRange kMscaleRange = {0, 100};
constexpr std::string_view kSupportedTypes =
    "default, linear, llama3, yarn, longrope, dynamic with alpha";

// YaRN's growth of the attention logits, arXiv:2309.00071 section 3.4.
double YarnMscale(double factor, double mscale) {
  return factor <= 1 ? 1 : 0.1 * mscale * std::log(factor) + 1;
}

Result<RopeLlama3> ReadLlama3(const HfConfig& section, double context) {
  RopeLlama3 llama3;
  CAIRN_ASSIGN(llama3.factor, section.FloatOr("factor", kFactorRange, 8));
  CAIRN_ASSIGN(llama3.low_frequency_factor, section.FloatOr("low_freq_factor", kFactorRange, 1));
  CAIRN_ASSIGN(llama3.high_frequency_factor, section.FloatOr("high_freq_factor", kFactorRange, 4));
  CAIRN_ASSIGN(llama3.original_context,
               section.FloatOr("original_max_position_embeddings", kContextRange, context));
  if (llama3.high_frequency_factor <= llama3.low_frequency_factor) {
    return section.Wrong("high_freq_factor", "a number above low_freq_factor");
  }
  return llama3;
}

Result<RopeYarn> ReadYarn(const HfConfig& section, double context) {
  RopeYarn yarn;
  CAIRN_ASSIGN(yarn.original_context,
               section.FloatOr("original_max_position_embeddings", kContextRange, context));
  CAIRN_ASSIGN(yarn.factor,
               section.FloatOr("factor", kFactorRange, context / yarn.original_context));
  CAIRN_ASSIGN(yarn.beta_fast, section.FloatOr("beta_fast", kRotationRange, 32));
  CAIRN_ASSIGN(yarn.beta_slow, section.FloatOr("beta_slow", kRotationRange, 1));
  CAIRN_ASSIGN(yarn.truncate, section.BoolOr("truncate", true));
  if (yarn.beta_fast < yarn.beta_slow) return section.Wrong("beta_fast", "at least beta_slow");
  CAIRN_ASSIGN(const double mscale, section.FloatOr("mscale", kMscaleRange, 0));
  CAIRN_ASSIGN(const double mscale_all, section.FloatOr("mscale_all_dim", kMscaleRange, 0));
  const double computed = mscale != 0 && mscale_all != 0 ? YarnMscale(yarn.factor, mscale) /
                                                               YarnMscale(yarn.factor, mscale_all)
                                                         : YarnMscale(yarn.factor, 1);
  CAIRN_ASSIGN(yarn.attention_factor, section.FloatOr("attention_factor", kFactorRange, computed));
  return yarn;
}

Result<RopeLong> ReadLong(const HfConfig& section, const HfConfig& config, int64_t width,
                          double context) {
  constexpr std::string_view kOriginal = "original_max_position_embeddings";
  const auto pairs = static_cast<size_t>(width / 2);
  RopeLong scaling;
  for (const auto& [key, to] : {std::pair{"short_factor", &scaling.short_divisors},
                                std::pair{"long_factor", &scaling.long_divisors}}) {
    CAIRN_ASSIGN(const auto divisors, section.Floats(key, pairs, kFactorRange));
    for (const double divisor : divisors) to->push_back(static_cast<float>(divisor));
  }
  CAIRN_ASSIGN(const double outer, config.FloatOr(kOriginal, kContextRange, context));
  CAIRN_ASSIGN(scaling.original_context, section.FloatOr(kOriginal, kContextRange, outer));
  CAIRN_ASSIGN(const double factor,
               section.FloatOr("factor", kFactorRange, context / scaling.original_context));
  const double computed =
      factor <= 1 || scaling.original_context <= 1
          ? 1
          : std::sqrt(1 + std::log(factor) / std::log(scaling.original_context));
  CAIRN_ASSIGN(scaling.attention_factor,
               section.FloatOr("attention_factor", kFactorRange, computed));
  return scaling;
}

// Older files say "type".
std::string_view TypeKey(const HfConfig& section) {
  return section.Has("rope_type") ? "rope_type" : "type";
}

Result<RopeScaling> ReadScaling(const HfConfig& section, const HfConfig& config, int64_t width,
                                double context) {
  CAIRN_ASSIGN(const std::string type, section.StringOr(TypeKey(section), "default"));
  if (type == "default" || type == "none") return RopeScaling();
  if (type == "linear") {
    if (!section.Has("factor")) return section.Wrong("factor", "the factor of linear scaling");
    CAIRN_ASSIGN(const double factor, section.FloatOr("factor", kFactorRange, 1));
    return RopeLinear{factor};
  }
  if (type == "llama3") {
    CAIRN_ASSIGN(const RopeLlama3 llama3, ReadLlama3(section, context));
    return llama3;
  }
  if (type == "yarn") {
    CAIRN_ASSIGN(const RopeYarn yarn, ReadYarn(section, context));
    return yarn;
  }
  if (type == "longrope" || type == "su") {
    CAIRN_ASSIGN(const RopeLong scaling, ReadLong(section, config, width, context));
    return scaling;
  }
  // Its alpha is in the base; see RopeFromSection.
  if (type == "dynamic" && section.Has("alpha")) return RopeScaling();
  return section.Unsupported(TypeKey(section), kSupportedTypes);
}

// The part of a head that turns, from the section or else from the config.
Result<Rope> TurningPart(const HfConfig& section, const HfConfig& config,
                         const RopeDefaults& defaults) {
  constexpr std::string_view kPart = "partial_rotary_factor";
  CAIRN_ASSIGN(const double outer, config.FloatOr(kPart, {0, 1}, defaults.part));
  CAIRN_ASSIGN(const double part, section.FloatOr(kPart, {0, 1}, outer));
  if (part != 1 && !defaults.partial) {
    return section.Unsupported(kPart, "1 for this architecture");
  }
  const auto width = static_cast<int64_t>(static_cast<double>(defaults.width) * part);
  if (width <= 0 || width % 2 != 0) {
    return Fail(ErrorCode::kInvalidArgument,
                "{}: head width {} can't be rotated in pairs, expected an even head_dim",
                section.where(), width);
  }
  Rope rope;
  rope.width = width;
  return rope;
}

// One such object of the config.
Result<Rope> ReadSection(const HfConfig& section, const HfConfig& config,
                         const RopeDefaults& defaults) {
  CAIRN_ASSIGN(Rope rope, TurningPart(section, config, defaults));
  CAIRN_ASSIGN(rope.base, section.FloatOr("rope_theta", kBaseRange, defaults.base));
  CAIRN_ASSIGN(rope.scaling, ReadScaling(section, config, rope.width,
                                         static_cast<double>(defaults.context_length.value())));
  CAIRN_ASSIGN(const double alpha, section.FloatOr("alpha", {1e-3, 1e9}, 1));
  CAIRN_ASSIGN(const std::string type, section.StringOr(TypeKey(section), "default"));
  if (type == "dynamic" && rope.width > 2) {
    const auto width = static_cast<double>(rope.width);
    rope.base *= std::pow(alpha, width / (width - 2));
  }
  if (std::holds_alternative<RopeYarn>(rope.scaling) && rope.base <= 1) {
    return section.Wrong("rope_theta", "a number above 1 with yarn");
  }
  return rope;
}

}  // namespace

Result<Rope> RopeFromSection(const HfConfig& section, const RopeDefaults& defaults) {
  return ReadSection(section, section, defaults);
}

Result<Rope> RopeFromConfig(const HfConfig& config, const RopeDefaults& defaults) {
  CAIRN_ASSIGN(Rope rope, TurningPart(config, config, defaults));
  RopeDefaults outer = defaults;
  CAIRN_ASSIGN(outer.base, config.FloatOr("rope_theta", kBaseRange, defaults.base));
  for (const std::string_view key : {"rope_parameters", "rope_scaling"}) {
    CAIRN_ASSIGN(const std::optional<HfConfig> section, config.Child(key));
    if (section) return ReadSection(*section, config, outer);
  }
  rope.base = outer.base;
  return rope;
}

namespace {

// <arch>.rope.NAME with a range.
class RopeKeys {
 public:
  RopeKeys(const Metadata& metadata, std::string_view architecture)
      : metadata_(metadata), prefix_(fmt::format("{}.rope.", architecture)) {}

  bool Has(std::string_view name) const { return metadata_.Has(prefix_ + std::string(name)); }

  Result<double> Float(std::string_view name, FloatRange range, double absent) const {
    const std::string key = prefix_ + std::string(name);
    CAIRN_ASSIGN(const double value, metadata_.FloatOr(key, absent));
    if (value >= range.min && value <= range.max) return value;
    return Fail(ErrorCode::kInvalidArgument, "{}: key {} is {}, expected a number from {} to {}",
                metadata_.where(), key, value, range.min, range.max);
  }

  Result<std::string> String(std::string_view name, std::string_view absent) const {
    CAIRN_ASSIGN(const std::string_view value,
                 metadata_.StringOr(prefix_ + std::string(name), absent));
    return std::string(value);
  }

  std::string Key(std::string_view name) const { return prefix_ + std::string(name); }
  const Metadata& metadata() const { return metadata_; }

 private:
  const Metadata& metadata_;
  std::string prefix_;
};

// Zero means 1 here: converters write it for "no scaling".
Result<double> GgufFactor(const RopeKeys& keys) {
  const std::string_view name = keys.Has("scaling.factor") ? "scaling.factor" : "scale_linear";
  CAIRN_ASSIGN(const double factor, keys.Float(name, {0, kFactorRange.max}, 1));
  return factor == 0 ? 1 : factor;
}

Result<RopeScaling> GgufScaling(const RopeKeys& keys, double context) {
  CAIRN_ASSIGN(const std::string type, keys.String("scaling.type", "linear"));
  CAIRN_ASSIGN(const double factor, GgufFactor(keys));
  if (type == "none" || (type == "linear" && factor == 1)) return RopeScaling();
  if (type == "linear") return RopeLinear{factor};
  if (type != "yarn") {
    return Fail(ErrorCode::kUnsupported,
                "{}: key {} {} is not supported; supported: none, linear, "
                "yarn",
                keys.metadata().where(), keys.Key("scaling.type"), Quoted(type));
  }
  RopeYarn yarn;
  yarn.factor = factor;
  CAIRN_ASSIGN(yarn.original_context,
               keys.Float("scaling.original_context_length", kContextRange, context));
  CAIRN_ASSIGN(yarn.beta_fast, keys.Float("scaling.yarn_beta_fast", kRotationRange, 32));
  CAIRN_ASSIGN(yarn.beta_slow, keys.Float("scaling.yarn_beta_slow", kRotationRange, 1));
  CAIRN_ASSIGN(yarn.attention_factor,
               keys.Float("scaling.yarn_attn_factor", kFactorRange, YarnMscale(factor, 1)));
  return yarn;
}

}  // namespace

Result<RopeScaling> RopeScalingWithDivisors(const RopeScaling& scaling,
                                            std::span<const float> divisors, int64_t width,
                                            std::string_view where) {
  if (static_cast<int64_t>(divisors.size()) != width / 2) {
    return Fail(ErrorCode::kInvalidArgument,
                "{}: rope_freqs.weight has {} values, expected {}, one per rotated pair", where,
                divisors.size(), width / 2);
  }
  float factor = 1;
  if (const auto* linear = std::get_if<RopeLinear>(&scaling)) {
    factor = static_cast<float>(linear->factor);
  } else if (!std::holds_alternative<std::monostate>(scaling)) {
    return Fail(ErrorCode::kUnsupported, "{}: rope_freqs.weight together with yarn scaling", where);
  }
  RopeDivisors result;
  for (const float divisor : divisors) {
    if (!std::isfinite(divisor) || divisor <= 0) {
      return Fail(ErrorCode::kInvalidArgument,
                  "{}: rope_freqs.weight holds {}, expected positive numbers", where, divisor);
    }
    result.divisors.push_back(divisor * factor);
  }
  return result;
}

Result<Rope> RopeFromGguf(const Metadata& metadata, std::string_view architecture,
                          const RopeDefaults& defaults, RopePairs pairs,
                          std::span<const float> divisors) {
  const RopeKeys keys(metadata, architecture);
  Rope rope;
  rope.pairs = pairs;
  CAIRN_ASSIGN(rope.width, metadata.IntOr(keys.Key("dimension_count"), defaults.width));
  if (rope.width != defaults.width || rope.width <= 0 || rope.width % 2 != 0) {
    return Fail(ErrorCode::kInvalidArgument,
                "{}: key {} is {}, expected the head's width {}, an even number", metadata.where(),
                keys.Key("dimension_count"), rope.width, defaults.width);
  }
  CAIRN_ASSIGN(rope.base, keys.Float("freq_base", kBaseRange, defaults.base));
  CAIRN_ASSIGN(rope.scaling,
               GgufScaling(keys, static_cast<double>(defaults.context_length.value())));
  if (std::holds_alternative<RopeYarn>(rope.scaling) && rope.base <= 1) {
    return Fail(ErrorCode::kInvalidArgument, "{}: key {} is {}, expected more than 1 with yarn",
                metadata.where(), keys.Key("freq_base"), rope.base);
  }
  if (!divisors.empty()) {
    CAIRN_ASSIGN(rope.scaling,
                 RopeScalingWithDivisors(rope.scaling, divisors, rope.width, metadata.where()));
  }
  return rope;
}

}  // namespace cairn
