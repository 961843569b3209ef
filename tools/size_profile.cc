#include "tools/size_profile.h"

#include <fmt/format.h>

#include <utility>

#include "cairn/sizing/profile.h"

namespace cairn {
namespace {

std::string SettingsHelp() {
  std::string help = "A setting of the profile, KEY=VALUE; several are allowed:";
  for (const ProfileSetting& setting : ProfileSettings()) {
    help += fmt::format("\n  {}: {}", setting.key, setting.help);
  }
  return help;
}

}  // namespace

void AddProfileFlags(CLI::App& command, ProfileArgs& args) {
  command.add_option("--profile", args.profile,
                     "What a serving framework would allocate and print: vllm@0.11.0, "
                     "sglang@0.5.23, llama.cpp@b8247, lmcache@0.5.6, openvino-genai@2026.3");
  command.add_option("--set", args.settings, SettingsHelp())->allow_extra_args(false);
}

Result<std::optional<Section>> ProfileSectionOf(const ProfileArgs& args, const ModelSpec& model) {
  if (args.profile.empty()) {
    if (args.settings.empty()) return std::nullopt;
    return Fail(ErrorCode::kInvalidArgument,
                "--set {}: a setting of a profile; --profile FRAMEWORK@VERSION is missing",
                args.settings.front());
  }
  CAIRN_ASSIGN(ProfileQuestion question, ParseProfile(args.profile));
  for (const std::string& setting : args.settings) CAIRN_TRY(SetProfile(question, setting));
  CAIRN_ASSIGN(Section section, ProfileSection(model, question));
  return section;
}

}  // namespace cairn
