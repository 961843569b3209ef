// Objects of a tier into one portable file, and out of it (cairn/state/object_archive.h).
#ifndef CAIRN_TOOLS_STATE_TRANSFER_H_
#define CAIRN_TOOLS_STATE_TRANSFER_H_

#include <cstdint>
#include <string>
#include <vector>

#include "cairn/base/ids.h"
#include "cairn/base/status.h"
#include "cairn/state/object_store.h"
#include "tools/state_report.h"

namespace cairn {

struct Transfer {
  int64_t objects = 0;
  int64_t already_there = 0;  // of those
  Bytes bytes;
  std::vector<Finding> refused{};  // what was damaged or could not be stored
};

// The file is there as a whole or not at all; it is the same for the same objects. Objects that
// can't be read are left out.
Result<Transfer> ExportObjects(ObjectStore& store, const std::string& path, KeyLength length);
// Whether it is a file to import, as far as its first bytes say.
Status CheckArchive(const std::string& path);
// Takes all that is sound.
Result<Transfer> ImportObjects(ObjectStore& store, const std::string& path, KeyLength length);

}  // namespace cairn

#endif  // CAIRN_TOOLS_STATE_TRANSFER_H_
