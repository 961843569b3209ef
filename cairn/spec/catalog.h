// The catalogue: public models that can be sized by name, without a file.
//
// Data stands in catalog_<publisher>.h as one line of facts (facts.h) for each model: what sizes
// depend on, so state, parameters and context equal those of the model's own config.json; not how
// it rotates, scales or tokenizes. Immutable; thread-safe.
#ifndef CAIRN_SPEC_CATALOG_H_
#define CAIRN_SPEC_CATALOG_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "cairn/base/status.h"
#include "cairn/spec/model_spec.h"

namespace cairn {

enum class CatalogSource : uint8_t {
  kConfig,   // the config.json of the model's own repository
  kCopy,     // the config.json of a copy or another precision under another name
  kRebuilt,  // keys as documentation and code of the model state them
  kCard,     // the model's card or paper
};

struct CatalogEntry {
  std::string_view name;     // as on the Hub: "meta-llama/Llama-2-7b-hf"
  std::string_view aliases;  // "Llama-2-7b, ..": other names, a comma and a space between
  CatalogSource source = CatalogSource::kConfig;
  std::string_view facts;  // "llama layers=32 .."
};

// Where the facts come from, in words.
std::string_view SourceText(CatalogSource source);

// By publisher, then by name.
const std::vector<CatalogEntry>& Catalog();

// With or without the publisher, by an alias, in any case, with -, _ or spaces between the parts.
// The error of an unknown name says which ones are near.
Result<CatalogEntry> FindInCatalog(std::string_view name);

// What ModelSpecFromConfig reads.
Result<std::string> ConfigJsonOf(const CatalogEntry& entry);
Result<ModelSpec> SpecOf(const CatalogEntry& entry);

// A shape where the name has a "=" (inline_shape.h), else the catalogue's model of that name.
Result<std::string> ConfigJsonOfName(std::string_view name);
Result<ModelSpec> ModelFromName(std::string_view name);

}  // namespace cairn

#endif  // CAIRN_SPEC_CATALOG_H_
