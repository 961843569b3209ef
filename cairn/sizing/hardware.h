// Hardware: devices that models run on, and the links between them, as their makers state them.
//
// Compute is dense (no 2:4 sparsity) with FP32 accumulation; memory bandwidth and links are peaks,
// so that every time made from them is a bound no real run gets below. Memory is what the driver
// reports where that is known, else the size as sold counted in powers of 1,024, which is how
// makers count it. Constant data and pure functions; thread-safe.
#ifndef CAIRN_SIZING_HARDWARE_H_
#define CAIRN_SIZING_HARDWARE_H_

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "cairn/base/ids.h"
#include "cairn/base/status.h"
#include "cairn/sizing/section.h"

namespace cairn {

// A zero is "not stated".
struct Gpu {
  std::string_view name;     // "H100 SXM"
  std::string_view aliases;  // further names, spaces between: "h100 h100-80gb"
  std::string_view maker;
  int64_t sold_gb = 0;     // memory as sold
  int64_t driver_mib = 0;  // memory as the driver reports it
  double bandwidth_gbs = 0;
  double bf16_tflops = 0;  // or FP16, where it has no BF16
  double fp8_tflops = 0;
  double fp4_tflops = 0;
  std::string_view link;    // between devices of a server: a Link's name
  std::string_view host;    // to the host's memory: a Link's name, or "shared"
  std::string_view source;  // the maker's document, and how far it was checked: see the table

  Bytes Memory() const;
  double BytesPerSecond() const { return bandwidth_gbs * 1e9; }
  double FlopsPerSecond() const { return bf16_tflops * 1e12; }
  // At the narrowest type that both the weights and the device have.
  double FlopsPerSecondAt(int weight_bits) const;
};

enum class LinkKind : uint8_t { kDevice, kHost, kNetwork, kStorage };

// One direction. Of storage the two differ.
struct Link {
  std::string_view name;     // "pcie5"
  std::string_view label;    // "PCIe 5.0 x16"
  std::string_view aliases;  // spaces between
  LinkKind kind = LinkKind::kHost;
  double read_gbs = 0;
  double write_gbs = 0;
  std::string_view source;

  double ReadBytesPerSecond() const { return read_gbs * 1e9; }
  double WriteBytesPerSecond() const { return write_gbs * 1e9; }
};

std::span<const Gpu> Gpus();
std::span<const Link> Links();

inline constexpr int64_t kMaxGpuCount = 65'536;

struct GpuChoice {
  const Gpu* gpu = nullptr;  // never null once parsed; of Gpus()
  int64_t count = 1;
};

// "H100x4", "h100-sxm x 8", "8xMI300X", "RTX 4090", "A100 SXM 80 GB". Case, spaces, dashes, the
// maker's name and the order of words don't count. An unknown name is refused with the nearest
// ones.
Result<GpuChoice> ParseGpu(std::string_view text);
// "pcie5", "NVLink 4", "400GbE".
Result<const Link*> FindLink(std::string_view name);
// The same, or a rate: "64GB/s", "12.5 GiB/s", "400Gb/s" (bits).
Result<Link> ParseLink(std::string_view text);

Section GpusSection();
Section LinksSection();

}  // namespace cairn

#endif  // CAIRN_SIZING_HARDWARE_H_
