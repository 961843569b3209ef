// The models of `cairn size`: files, folders, names and shapes, and the catalogue's list.
#ifndef CAIRN_TOOLS_SIZE_MODELS_H_
#define CAIRN_TOOLS_SIZE_MODELS_H_

#include <string>

#include "cairn/base/status.h"
#include "cairn/sizing/request.h"
#include "cairn/sizing/section.h"

namespace cairn {

// What is there under this path; else the catalogue's model of this name, or the shape that it
// spells.
Result<SizedModel> ReadSizedModel(const std::string& name);

// Every model that can be sized by name.
Section CatalogSection();

}  // namespace cairn

#endif  // CAIRN_TOOLS_SIZE_MODELS_H_
