// cairn size: the memory that a model's state takes, from its description alone.
#ifndef CAIRN_TOOLS_CMD_SIZE_H_
#define CAIRN_TOOLS_CMD_SIZE_H_

#include "tools/commands.h"

namespace cairn {

// Sets `chosen` when the command line names it.
void AddSizeCommand(CLI::App& app, ChosenCommand& chosen);

}  // namespace cairn

#endif  // CAIRN_TOOLS_CMD_SIZE_H_
