#include "cairn/sizing/hardware.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <optional>
#include <utility>
#include <vector>

#include "cairn/base/parse_number.h"
#include "cairn/spec/edit_distance.h"

namespace cairn {
namespace {

constexpr size_t kMaxName = 64;

// Makers and their brands say nothing that the rest of a name doesn't.
constexpr auto kBrands =
    std::to_array<std::string_view>({"nvidia", "amd", "intel", "google", "apple", "geforce",
                                     "instinct", "tesla", "quadro", "infiniband"});

// Letters and digits alone, in lower case: "H100-SXM" and "h100 sxm" are one name.
std::string Plain(std::string_view name) {
  std::string plain;
  for (const char letter : name) {
    const auto byte = static_cast<unsigned char>(letter);
    if (std::isalnum(byte) != 0) plain += static_cast<char>(std::tolower(byte));
  }
  for (const std::string_view word : kBrands) {
    if (plain.starts_with(word) && plain.size() > word.size()) plain.erase(0, word.size());
  }
  return plain;
}

bool IsNumber(std::string_view word) {
  return !word.empty() && word.find_first_not_of("0123456789") == std::string_view::npos;
}

// The words of a name without brands, in alphabetical order: "A100 SXM 80 GB" and "A100-80GB-SXM"
// are one name.
std::string SortedWords(std::string_view name) {
  std::vector<std::string> words(1);
  for (const char letter : name) {
    const auto byte = static_cast<unsigned char>(letter);
    if (std::isalnum(byte) != 0) {
      words.back() += static_cast<char>(std::tolower(byte));
    } else if (!words.back().empty()) {
      words.emplace_back();
    }
  }
  for (size_t i = 1; i < words.size(); ++i) {
    if (words[i] == "gb" && IsNumber(words[i - 1])) words[i - 1] += std::exchange(words[i], "");
  }
  std::erase_if(words, [](const std::string& word) {
    return word.empty() || std::ranges::find(kBrands, word) != kBrands.end();
  });
  std::ranges::sort(words);
  return fmt::to_string(fmt::join(words, " "));
}

// The row's name and its aliases, in the spelling that `spell` gives.
template <class Row>
std::vector<std::string> NamesOf(const Row& row, std::string (*spell)(std::string_view) = Plain) {
  std::vector<std::string> names = {spell(row.name)};
  std::string_view rest = row.aliases;
  while (!rest.empty()) {
    const size_t end = std::min(rest.find(' '), rest.size());
    names.push_back(spell(rest.substr(0, end)));
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return names;
}

template <class Row>
const Row* Find(std::span<const Row> rows, std::string_view name) {
  for (const auto spell : {Plain, SortedWords}) {
    const std::string spelled = spell(name);
    if (spelled.empty()) continue;
    for (const Row& row : rows) {
      const auto names = NamesOf(row, spell);
      if (std::ranges::find(names, spelled) != names.end()) return &row;
    }
  }
  return nullptr;
}

// "H100 SXM, H100 PCIe and H200 SXM"
template <class Row>
std::string Nearest(std::span<const Row> rows, std::string_view name) {
  const std::string plain = Plain(name.substr(0, kMaxName));
  std::vector<std::pair<size_t, size_t>> ranked;  // distance, row
  for (size_t i = 0; i < rows.size(); ++i) {
    size_t best = kMaxName;
    for (const std::string& known : NamesOf(rows[i])) {
      const bool inside =
          plain.size() >= 2 && (known.starts_with(plain) || plain.starts_with(known));
      best = std::min(best, inside ? size_t{0} : EditDistance(plain, known));
    }
    ranked.emplace_back(best, i);
  }
  std::ranges::sort(ranked);
  return fmt::format("{}, {} and {}", rows[ranked[0].second].name, rows[ranked[1].second].name,
                     rows[ranked[2].second].name);
}

std::string Shown(std::string_view text) {
  std::string shown;
  for (const char letter : text.substr(0, kMaxName)) {
    const auto byte = static_cast<unsigned char>(letter);
    shown += std::isprint(byte) != 0 ? letter : '?';
  }
  return shown;
}

std::string_view Trimmed(std::string_view text) {
  constexpr std::string_view kSpace = " \t";
  const size_t first = text.find_first_not_of(kSpace);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kSpace) - first + 1);
}

struct Counted {
  std::string_view name;
  std::string_view count;
};

// "NAMExN" and "NxNAME"; nothing where the text isn't so.
std::optional<Counted> CountLast(std::string_view text) {
  const size_t last = text.find_last_not_of("0123456789");
  if (last == std::string_view::npos || last + 1 == text.size()) return std::nullopt;
  const std::string_view before = Trimmed(text.substr(0, last + 1));
  if (before.empty() || (before.back() != 'x' && before.back() != 'X' && before.back() != '*')) {
    return std::nullopt;
  }
  return Counted{Trimmed(before.substr(0, before.size() - 1)), text.substr(last + 1)};
}

std::optional<Counted> CountFirst(std::string_view text) {
  const size_t digits = text.find_first_not_of("0123456789");
  if (digits == std::string_view::npos || digits == 0) return std::nullopt;
  const std::string_view rest = Trimmed(text.substr(digits));
  if (rest.front() != 'x' && rest.front() != 'X' && rest.front() != '*') return std::nullopt;
  return Counted{Trimmed(rest.substr(1)), text.substr(0, digits)};
}

Result<int64_t> CountOf(std::string_view text, std::string_view digits) {
  int64_t count = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), count);
  if (error != std::errc() || count < 1 || count > kMaxGpuCount) {
    return Fail(ErrorCode::kInvalidArgument, "--gpu {}: {} of them, expected 1 to {}", Shown(text),
                Shown(digits), kMaxGpuCount);
  }
  return count;
}

Cell Stated(double value, double scale) {
  return value > 0 ? Cell(value * scale) : Cell(std::monostate());
}

// Units of a rate, in bytes; "b" is a bit.
constexpr auto kRates = std::to_array<std::pair<std::string_view, double>>({
    {"GB/s", 1e9},
    {"GiB/s", 1073741824.0},
    {"TB/s", 1e12},
    {"MB/s", 1e6},
    {"MiB/s", 1048576.0},
    {"Gb/s", 0.125e9},
    {"Gbit/s", 0.125e9},
    {"Gbps", 0.125e9},
});
constexpr double kMaxGbs = 1e6;

// How far a source can be relied on is told where it is shown.
constexpr std::string_view kSourcesNote =
    "a source named alone was read; one \"as quoted elsewhere\" was compared with copies and "
    "quotations of it, "
    "one \"not re-read\" with nothing";

std::string_view KindName(LinkKind kind) {
  constexpr std::array<std::string_view, 4> kNames = {"devices", "host", "network", "storage"};
  return kNames[static_cast<size_t>(kind)];
}

}  // namespace

Bytes Gpu::Memory() const {
  return driver_mib > 0 ? Bytes(driver_mib << 20) : Bytes(sold_gb << 30);
}

double Gpu::FlopsPerSecondAt(int weight_bits) const {
  if (weight_bits <= 4 && fp4_tflops > 0) return fp4_tflops * 1e12;
  if (weight_bits <= 8 && fp8_tflops > 0) return fp8_tflops * 1e12;
  return FlopsPerSecond();
}

Result<GpuChoice> ParseGpu(std::string_view text) {
  const std::string_view trimmed = Trimmed(text);
  if (trimmed.size() <= kMaxName) {
    if (const Gpu* gpu = Find(Gpus(), trimmed)) return GpuChoice{gpu, 1};
    for (const auto& counted : {CountLast(trimmed), CountFirst(trimmed)}) {
      if (!counted) continue;
      const Gpu* gpu = Find(Gpus(), counted->name);
      if (gpu == nullptr) continue;
      CAIRN_ASSIGN(const int64_t count, CountOf(trimmed, counted->count));
      return GpuChoice{gpu, count};
    }
  }
  const auto counted = CountLast(trimmed.substr(0, kMaxName));
  return Fail(ErrorCode::kInvalidArgument,
              "--gpu {}: no such GPU; the nearest are {} (`cairn gpus` lists all)", Shown(text),
              Nearest(Gpus(), counted ? counted->name : trimmed));
}

Result<const Link*> FindLink(std::string_view name) {
  const std::string_view trimmed = Trimmed(name);
  if (trimmed.size() <= kMaxName) {
    if (const Link* link = Find(Links(), trimmed)) return link;
    for (const Link& link : Links()) {
      if (Plain(link.label) == Plain(trimmed)) return &link;
    }
  }
  return Fail(ErrorCode::kInvalidArgument,
              "--link {}: no such link; the nearest are {} (`cairn gpus` lists all)", Shown(name),
              Nearest(Links(), trimmed));
}

Result<Link> ParseLink(std::string_view text) {
  const std::string_view trimmed = Trimmed(text);
  for (const auto& [unit, bytes] : kRates) {
    if (!trimmed.ends_with(unit)) continue;
    const auto rate = ParseDouble(Trimmed(trimmed.substr(0, trimmed.size() - unit.size())));
    if (!rate) break;
    const double gbs = *rate * bytes / 1e9;
    if (!(gbs > 0 && gbs <= kMaxGbs)) {
      return Fail(ErrorCode::kInvalidArgument,
                  "--link {}: expected a rate of more than 0, at most {} GB/s", Shown(text),
                  kMaxGbs);
    }
    return Link{.name = "given",
                .label = "given rate",
                .aliases = "",
                .kind = LinkKind::kNetwork,
                .read_gbs = gbs,
                .write_gbs = gbs,
                .source = "as given"};
  }
  CAIRN_ASSIGN(const Link* const link, FindLink(text));
  return *link;
}

Section GpusSection() {
  Section section{.key = "gpus", .title = "Devices"};
  Table table{.key = "devices", .label = "Devices", .columns = {}};
  table.columns = {{"name", "name"},
                   {"maker", "maker"},
                   {"sold_gb", "GB as sold"},
                   {"memory_bytes", "memory", Unit::kBytes},
                   {"bandwidth_bytes_per_second", "bandwidth", Unit::kBytesPerSecond},
                   {"bf16_flops", "BF16, dense", Unit::kFlopsPerSecond},
                   {"fp8_flops", "FP8, dense", Unit::kFlopsPerSecond},
                   {"fp4_flops", "FP4, dense", Unit::kFlopsPerSecond},
                   {"link", "to its peers"},
                   {"host", "to the host"},
                   {"source", "source"}};
  for (const Gpu& gpu : Gpus()) {
    const bool sized = gpu.Memory() > Bytes(0);
    table.rows.push_back({std::string(gpu.name), std::string(gpu.maker),
                          gpu.sold_gb > 0 ? Cell(gpu.sold_gb) : Cell(std::monostate()),
                          sized ? CellOf(gpu.Memory()) : Cell(std::monostate()),
                          gpu.BytesPerSecond(), Stated(gpu.bf16_tflops, 1e12),
                          Stated(gpu.fp8_tflops, 1e12), Stated(gpu.fp4_tflops, 1e12),
                          std::string(gpu.link), std::string(gpu.host), std::string(gpu.source)});
  }
  section.tables.push_back(std::move(table));
  section.notes = {
      "memory is what the driver reports where that is known, else the size as sold in powers of "
      "1,024; the difference is ECC and what the firmware keeps",
      "compute is dense: without 2:4 sparsity, with FP32 accumulation",
      "figures are peaks of the makers' documents; a kernel reaches 60 to 90 % of them",
      std::string(kSourcesNote)};
  return section;
}

Section LinksSection() {
  Section section{.key = "links", .title = "Links"};
  Table table{.key = "links", .label = "Links, one direction", .columns = {}};
  table.columns = {{"name", "name"},
                   {"label", "link"},
                   {"kind", "between"},
                   {"read_bytes_per_second", "read", Unit::kBytesPerSecond},
                   {"write_bytes_per_second", "write", Unit::kBytesPerSecond},
                   {"source", "source"}};
  for (const Link& link : Links()) {
    table.rows.push_back({std::string(link.name), std::string(link.label),
                          std::string(KindName(link.kind)), link.ReadBytesPerSecond(),
                          link.WriteBytesPerSecond(), std::string(link.source)});
  }
  section.tables.push_back(std::move(table));
  section.notes = {
      "one direction, after the line code; makers often print both directions together",
      "storage is sequential, of one drive", std::string(kSourcesNote)};
  return section;
}

}  // namespace cairn
