// Flags of `cairn size`, and the request they stand for.
#ifndef CAIRN_TOOLS_SIZE_ARGS_H_
#define CAIRN_TOOLS_SIZE_ARGS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "cairn/base/status.h"
#include "cairn/sizing/request.h"

namespace CLI {
class App;
}

namespace cairn {

struct SizeArgs {
  enum class Format : uint8_t { kText, kJson, kMarkdown, kCsv };

  std::vector<std::string> models;
  std::vector<int64_t> contexts;  // empty: the model's own
  int64_t batch = 1;
  std::string requests_file;
  int64_t shared_prefix = 0;
  std::string type;  // of keys and values
  std::string key_type;
  std::string value_type;
  int dtype_bytes = 0;  // 1, 2 or 4: a spelling of type
  SizeRequest cards;    // what is asked of cards; the rest comes from the fields above
  bool json = false;
  bool markdown = false;
  bool csv = false;
  bool explain = false;
  bool full = false;  // every section for people too
  bool list = false;  // the catalogue
  std::string html;   // the page's path; empty: no page

  void AddFlags(CLI::App& command);
  Result<SizeRequest> Request() const;
  // The one that was asked for; an error when there are several.
  Result<Format> ChosenFormat() const;
};

}  // namespace cairn

#endif  // CAIRN_TOOLS_SIZE_ARGS_H_
