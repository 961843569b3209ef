// The flags of cairn size that ask what a serving framework would print: --profile and --set.
#ifndef CAIRN_TOOLS_SIZE_PROFILE_H_
#define CAIRN_TOOLS_SIZE_PROFILE_H_

#include <CLI/CLI.hpp>
#include <optional>
#include <string>
#include <vector>

#include "cairn/base/status.h"
#include "cairn/sizing/section.h"
#include "cairn/spec/model_spec.h"

namespace cairn {

struct ProfileArgs {
  std::string profile;                // "vllm@0.11.0"; empty: none is asked for
  std::vector<std::string> settings;  // "max_model_len=131072"
};

// `args` must outlive the parser.
void AddProfileFlags(CLI::App& command, ProfileArgs& args);

// Nothing without --profile; --set alone is an error.
Result<std::optional<Section>> ProfileSectionOf(const ProfileArgs& args, const ModelSpec& model);

}  // namespace cairn

#endif  // CAIRN_TOOLS_SIZE_PROFILE_H_
