#include "cairn/spec/catalog.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <span>
#include <utility>

#include "cairn/spec/catalog_google.h"
#include "cairn/spec/catalog_latent.h"
#include "cairn/spec/catalog_llama.h"
#include "cairn/spec/catalog_mistral.h"
#include "cairn/spec/catalog_other.h"
#include "cairn/spec/catalog_qwen.h"
#include "cairn/spec/catalog_state.h"
#include "cairn/spec/edit_distance.h"
#include "cairn/spec/facts.h"
#include "cairn/spec/families.h"
#include "cairn/spec/inline_shape.h"
#include "cairn/spec/quoted.h"

namespace cairn {
namespace {

constexpr size_t kMaxNameBytes = 200;
constexpr size_t kHints = 4;

std::vector<CatalogEntry> AllEntries() {
  std::vector<CatalogEntry> all;
  const std::array<std::span<const CatalogEntry>, 7> parts = {
      kCatalogLlama,  kCatalogQwen,  kCatalogGoogle, kCatalogMistral,
      kCatalogLatent, kCatalogState, kCatalogOther};
  for (const auto part : parts) all.insert(all.end(), part.begin(), part.end());
  return all;
}

// "Llama 2-7B" -> "llama27b"; the dot stays, it sets 2.5 apart from 25.
std::string Folded(std::string_view name) {
  std::string folded;
  for (const char c : name) {
    if (c == '-' || c == '_' || c == ' ') continue;
    folded += c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  }
  return folded;
}

std::string_view WithoutPublisher(std::string_view name) {
  const size_t slash = name.find('/');
  return slash == name.npos ? name : name.substr(slash + 1);
}

// Every spelling of an entry, folded.
std::vector<std::string> SpellingsOf(const CatalogEntry& entry) {
  std::vector<std::string> spellings = {Folded(entry.name), Folded(WithoutPublisher(entry.name))};
  std::string_view rest = entry.aliases;
  while (!rest.empty()) {
    const size_t comma = std::min(rest.find(", "), rest.size());
    spellings.push_back(Folded(rest.substr(0, comma)));
    rest.remove_prefix(std::min(comma + 2, rest.size()));
  }
  return spellings;
}

// Smaller is nearer. A part of a name is nearer than any misspelling of the whole.
size_t DistanceTo(const CatalogEntry& entry, std::string_view folded) {
  size_t nearest = std::numeric_limits<size_t>::max();
  for (const std::string& spelling : SpellingsOf(entry)) {
    const bool part = folded.size() >= 2 && spelling.find(folded) != spelling.npos;
    const size_t distance = part ? 0 : 1 + EditDistance(spelling, folded);
    nearest = std::min(nearest, distance);
  }
  return nearest;
}

std::string NearestNames(std::string_view folded) {
  std::vector<std::pair<size_t, std::string_view>> ranked;
  for (const CatalogEntry& entry : Catalog()) {
    ranked.emplace_back(DistanceTo(entry, folded), entry.name);
  }
  std::ranges::sort(ranked);
  std::vector<std::string_view> names;
  for (const auto& [distance, name] : ranked) {
    const bool near = distance <= 1 + folded.size() / 2;
    if (near && names.size() < kHints) names.push_back(name);
  }
  if (names.empty()) return "";
  return fmt::format("; near: {}", fmt::join(names, ", "));
}

}  // namespace

std::string_view SourceText(CatalogSource source) {
  switch (source) {
    case CatalogSource::kConfig:
      return "config.json of the model's repository";
    case CatalogSource::kCopy:
      return "config.json of a copy of the model";
    case CatalogSource::kRebuilt:
      return "the model's documentation and code";
    case CatalogSource::kCard:
      return "the model's card or paper";
  }
  return "";
}

const std::vector<CatalogEntry>& Catalog() {
  static const std::vector<CatalogEntry> entries = AllEntries();
  return entries;
}

Result<CatalogEntry> FindInCatalog(std::string_view name) {
  if (name.size() > kMaxNameBytes) {
    return Fail(ErrorCode::kInvalidArgument, "a model's name of {} bytes, expected at most {}",
                name.size(), kMaxNameBytes);
  }
  const std::string folded = Folded(name);
  for (const CatalogEntry& entry : Catalog()) {
    if (std::ranges::count(SpellingsOf(entry), folded) != 0) return entry;
  }
  return Fail(ErrorCode::kNotFound,
              "{}: no such file, nor a model of the catalogue ({} names){}; a shape would be "
              "right, too: \"layers=32,kv_heads=8,head_dim=128\"",
              Quoted(name), Catalog().size(), NearestNames(folded));
}

Result<std::string> ConfigJsonOf(const CatalogEntry& entry) {
  return JsonOfFacts(entry.facts, entry.name, KeyStyle::kConfig);
}

Result<ModelSpec> SpecOf(const CatalogEntry& entry) {
  CAIRN_ASSIGN(const std::string json, ConfigJsonOf(entry));
  CAIRN_ASSIGN(ModelSpec model, ModelSpecFromConfig(json, entry.name));
  model.sizing_only = "the catalogue describes what it keeps, not how it computes";
  return model;
}

Result<std::string> ConfigJsonOfName(std::string_view name) {
  if (name.find('=') != name.npos) return ConfigJsonOfShape(name);
  CAIRN_ASSIGN(const CatalogEntry entry, FindInCatalog(name));
  return ConfigJsonOf(entry);
}

Result<ModelSpec> ModelFromName(std::string_view name) {
  if (name.find('=') != name.npos) return ModelFromShape(name);
  CAIRN_ASSIGN(const CatalogEntry entry, FindInCatalog(name));
  return SpecOf(entry);
}

}  // namespace cairn
