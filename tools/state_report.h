// What `cairn state` says of objects, as sections that become text or JSON.
#ifndef CAIRN_TOOLS_STATE_REPORT_H_
#define CAIRN_TOOLS_STATE_REPORT_H_

#include <span>
#include <string>
#include <vector>

#include "cairn/sizing/section.h"
#include "cairn/state/object_store.h"
#include "tools/state_tier.h"

namespace cairn {

// Who reads it: people get the first digits of keys, programs all of them.
enum class KeyLength { kShort, kWhole };
std::string KeyText(const ObjectKey& key, KeyLength length);

// What a tier holds: totals, totals by model, and each object in the order of its model and tokens.
Section TierSection(const TierChoice& choice, const ObjectStore& store, Bytes stored,
                    KeyLength length);

// Objects, or parts of a file, that something is wrong with.
struct Finding {
  std::string what;  // a key, or where in a file
  Bytes size;
  std::string problem;
};
Table FindingsTable(const std::string& key, const std::vector<Finding>& findings);

Field CountField(std::string key, std::string label, int64_t count);
Field BytesField(std::string key, std::string label, Bytes bytes);

}  // namespace cairn

#endif  // CAIRN_TOOLS_STATE_REPORT_H_
