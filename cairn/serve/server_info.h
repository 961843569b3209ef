// What the server says of itself and its model: the bodies of /health, /v1/models and /props.
//
// Pure functions; thread-safe.
#ifndef CAIRN_SERVE_SERVER_INFO_H_
#define CAIRN_SERVE_SERVER_INFO_H_

#include <string>

#include "cairn/serve/prepare_answer.h"

namespace cairn {

std::string HealthJson();
std::string ModelsJson(const ServedModel& model);
// The fields of llama-server's that mean something here; files are named without their folders.
std::string PropsJson(const ServedModel& model);

}  // namespace cairn

#endif  // CAIRN_SERVE_SERVER_INFO_H_
