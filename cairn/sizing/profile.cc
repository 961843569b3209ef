#include "cairn/sizing/profile.h"

#include <array>
#include <charconv>
#include <tuple>
#include <utility>

#include "cairn/sizing/profile_frameworks.h"
#include "cairn/spec/quoted.h"

namespace cairn {
namespace {

struct KnownFramework {
  std::string_view name;
  Framework framework;
  std::string_view newest;  // the newest version whose rules are known
  Result<Section> (*section)(const ModelSpec&, const ProfileQuestion&);
};

constexpr auto kFrameworks = std::to_array<KnownFramework>({
    {"vllm", Framework::kVllm, "0.33.0", VllmSection},
    {"sglang", Framework::kSglang, "0.5.23", SglangSection},
    {"llama.cpp", Framework::kLlamaCpp, "b8247", LlamaCppSection},
    {"lmcache", Framework::kLmcache, "0.5.6", LmcacheSection},
    {"openvino-genai", Framework::kOpenVino, "2026.3", OpenVinoSection},
});

constexpr size_t kMaxVersion = 40;

// The number in front of `text`, which moves behind it.
std::optional<int64_t> TakeNumber(std::string_view& text) {
  int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || number < 0 || number > 1'000'000) return std::nullopt;
  text.remove_prefix(static_cast<size_t>(end - text.data()));
  return number;
}

bool TakeDot(std::string_view& text) {
  if (!text.starts_with('.')) return false;
  text.remove_prefix(1);
  return true;
}

// "0.11.0", "0.9.x", "0.21-dev", "0.15.2rc1", "b8247", "2026.3".
std::optional<FrameworkVersion> ParseVersion(std::string_view text) {
  if (text.empty() || text.size() > kMaxVersion) return std::nullopt;
  FrameworkVersion version;
  version.text = std::string(text);
  if (text.starts_with('b')) text.remove_prefix(1);
  if (text.starts_with('v')) text.remove_prefix(1);
  const auto major = TakeNumber(text);
  if (!major) return std::nullopt;
  version.major = *major;
  if (TakeDot(text)) {
    const auto minor = TakeNumber(text);
    if (!minor) return std::nullopt;
    version.minor = *minor;
    if (TakeDot(text)) version.patch = TakeNumber(text).value_or(0);
  }
  const bool unfinished =
      text.find("dev") != std::string_view::npos || text.find("rc") != std::string_view::npos;
  version.before_release = unfinished && version.patch == 0;
  return version;
}

std::string FrameworkNames() {
  std::string names;
  for (const KnownFramework& known : kFrameworks) {
    names += fmt::format("{}{}@{}", names.empty() ? "" : ", ", known.name, known.newest);
  }
  return names;
}

constexpr double kGib = 1024.0 * 1024.0 * 1024.0;

}  // namespace

bool FrameworkVersion::AtLeast(int64_t other_major, int64_t other_minor,
                               int64_t other_patch) const {
  constexpr int64_t kLastPatch = 1'000'000;
  const auto own =
      before_release ? std::tuple(major, minor - 1, kLastPatch) : std::tuple(major, minor, patch);
  return own >= std::tuple(other_major, other_minor, other_patch);
}

Result<ProfileQuestion> ParseProfile(std::string_view name) {
  const size_t at = name.find('@');
  const std::string_view framework = name.substr(0, at);
  for (const KnownFramework& known : kFrameworks) {
    if (known.name != framework) continue;
    const std::string_view asked =
        at == std::string_view::npos ? known.newest : name.substr(at + 1);
    auto version = ParseVersion(asked);
    if (!version) {
      return Fail(ErrorCode::kInvalidArgument,
                  "--profile {}: the version isn't one; {}@{} would be right", Quoted(name),
                  known.name, known.newest);
    }
    ProfileQuestion question;
    question.framework = known.framework;
    question.version = *std::move(version);
    return question;
  }
  return Fail(ErrorCode::kInvalidArgument, "--profile {}: no such framework; {} are known",
              Quoted(name), FrameworkNames());
}

std::optional<int64_t> AvailableBytes(const ProfileQuestion& question) {
  if (question.available_kv_bytes) return question.available_kv_bytes;
  if (question.available_kv_gib) return static_cast<int64_t>(*question.available_kv_gib * kGib);
  if (!question.total_gib || !question.weights_gib) return std::nullopt;
  double gib = *question.total_gib * question.gpu_memory_utilization.value_or(0.9);
  gib -= *question.weights_gib + question.activation_gib.value_or(0) +
         question.non_torch_gib.value_or(0);
  // gpu_worker.py: an estimate of the graphs is taken off too since 0.21.
  if (question.version.AtLeast(0, 21)) gib -= question.cuda_graph_gib.value_or(0);
  return static_cast<int64_t>(gib * kGib);
}

Result<Section> ProfileSection(const ModelSpec& model, const ProfileQuestion& question) {
  for (const KnownFramework& known : kFrameworks) {
    if (known.framework != question.framework) continue;
    CAIRN_ASSIGN(Section section, known.section(model, question));
    section.key = "profile";
    section.title = fmt::format("What {} {} would print", known.name, question.version.text);
    section.fields.insert(
        section.fields.begin(),
        {{.key = "framework", .label = "framework", .value = std::string(known.name)},
         {.key = "version", .label = "version", .value = question.version.text}});
    return section;
  }
  return Fail(ErrorCode::kUnsupported, "no profile of this framework");
}

}  // namespace cairn
