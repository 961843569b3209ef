#include "tools/state_report.h"

#include <algorithm>
#include <map>
#include <optional>
#include <tuple>
#include <utility>

#include "cairn/state/tier_objects.h"

namespace cairn {
namespace {

struct Listed {
  ObjectInfo info;
  std::optional<TierObject> object;  // what its metadata say, if they are a tier's
};

std::string TagText(uint64_t tag) { return fmt::format("{:016x}", tag); }

std::vector<Listed> ListedObjects(const ObjectStore& store) {
  std::vector<Listed> listed;
  for (const ObjectInfo& info : store.List()) listed.push_back({info, TierObjectOf(info.metadata)});
  std::ranges::sort(listed, {}, [](const Listed& each) {
    const TierObject object = each.object.value_or(TierObject());
    return std::tuple(!each.object, object.state_key, object.from, object.to, each.info.key);
  });
  return listed;
}

Table ObjectsTable(const std::vector<Listed>& objects, KeyLength length) {
  Table table{.key = "objects",
              .label = "objects",
              .columns = {{"key", "key"},
                          {"kind", "kind"},
                          {"from", "from", Unit::kTokens},
                          {"to", "to", Unit::kTokens},
                          {"state_key", "model and format"},
                          {"before", "tokens before"},
                          {"bytes", "size", Unit::kBytes}}};
  for (const auto& [info, object] : objects) {
    std::vector<Cell> row = {KeyText(info.key, length)};
    if (object) {
      row.emplace_back(std::string(object->kind == TierObjectKind::kRun ? "run" : "end"));
      row.push_back(CellOf(object->from));
      row.push_back(CellOf(object->to));
      row.emplace_back(TagText(object->state_key));
      row.emplace_back(TagText(object->before));
    } else {
      row.emplace_back(std::string("unknown"));
      row.insert(row.end(), 4, std::monostate());
    }
    row.push_back(CellOf(info.size));
    table.rows.push_back(std::move(row));
  }
  return table;
}

Table ModelsTable(const std::vector<Listed>& objects) {
  struct Totals {
    int64_t runs = 0;
    int64_t ends = 0;
    TokenCount longest;
    Bytes bytes;
  };
  std::map<uint64_t, Totals> models;
  for (const auto& [info, object] : objects) {
    if (!object) continue;
    Totals& totals = models[object->state_key];
    ++(object->kind == TierObjectKind::kRun ? totals.runs : totals.ends);
    totals.longest = std::max(totals.longest, object->to);
    totals.bytes += info.size;
  }
  Table table{.key = "models",
              .label = "models and formats",
              .columns = {{"state_key", "model and format"},
                          {"runs", "runs"},
                          {"ends", "ends"},
                          {"longest", "longest", Unit::kTokens},
                          {"bytes", "size", Unit::kBytes}}};
  for (const auto& [state_key, totals] : models) {
    table.rows.push_back({TagText(state_key), totals.runs, totals.ends, CellOf(totals.longest),
                          CellOf(totals.bytes)});
  }
  return table;
}

}  // namespace

std::string KeyText(const ObjectKey& key, KeyLength length) {
  constexpr size_t kShortBytes = 8;
  std::string text;
  const size_t bytes = length == KeyLength::kShort ? kShortBytes : key.bytes.size();
  for (size_t i = 0; i < bytes; ++i) {
    text += fmt::format("{:02x}", static_cast<unsigned>(key.bytes[i]));
  }
  return text;
}

Field CountField(std::string key, std::string label, int64_t count) {
  return {.key = std::move(key), .label = std::move(label), .value = count};
}

Field BytesField(std::string key, std::string label, Bytes bytes) {
  return {.key = std::move(key),
          .label = std::move(label),
          .value = CellOf(bytes),
          .unit = Unit::kBytes};
}

Section TierSection(const TierChoice& choice, const ObjectStore& store, Bytes stored,
                    KeyLength length) {
  const std::vector<Listed> objects = ListedObjects(store);
  const ObjectStoreStats stats = store.Stats();
  return {.key = "state",
          .title = "State in " + choice.Name(),
          .fields = {CountField("objects", "objects", stats.objects),
                     BytesField("object_bytes", "their bytes", stats.object_bytes),
                     BytesField("stored_bytes", "with what the format adds", stored),
                     CountField("damaged", "found damaged on opening", stats.damaged)},
          .tables = {ModelsTable(objects), ObjectsTable(objects, length)}};
}

Table FindingsTable(const std::string& key, const std::vector<Finding>& findings) {
  Table table{
      .key = key,
      .label = key,
      .columns = {{"what", "what"}, {"bytes", "size", Unit::kBytes}, {"problem", "problem"}}};
  for (const Finding& finding : findings) {
    table.rows.push_back({finding.what, CellOf(finding.size), finding.problem});
  }
  return table;
}

}  // namespace cairn
