// The table of links: a row for each, one direction, from its specification or data sheet.
#include <array>

#include "cairn/sizing/hardware.h"

namespace cairn {
namespace {

using enum LinkKind;

// Columns: name, label, aliases, kind, GB/s to read, GB/s to write, source.
//
// PCIe after its line code: 8, 16 and 32 GT/s x 16 lanes x 128/130 / 8; version 6 sends 236 bytes
// of packets in each 256.
constexpr auto kLinks = std::to_array<Link>({
    {"pcie3", "PCIe 3.0 x16", "pcie3x16 pcie-gen3", kHost, 15.754, 15.754,
     "arithmetic: 8 GT/s x 16 lanes, after the line code of PCI Express 3.0"},
    {"pcie4", "PCIe 4.0 x16", "pcie4x16 pcie-gen4", kHost, 31.508, 31.508,
     "arithmetic: 16 GT/s x 16 lanes, after the line code of PCI Express 4.0"},
    {"pcie5", "PCIe 5.0 x16", "pcie5x16 pcie-gen5", kHost, 63.015, 63.015,
     "arithmetic: 32 GT/s x 16 lanes, after the line code of PCI Express 5.0"},
    {"pcie6", "PCIe 6.0 x16", "pcie6x16 pcie-gen6", kHost, 118.0, 118.0,
     "arithmetic: 64 GT/s x 16 lanes, after the line code of PCI Express 6.0"},
    {"nvlink-c2c", "NVLink-C2C", "c2c", kHost, 450, 450,
     "NVIDIA H100 product page (900 GB/s both ways)"},
    {"nvlink2", "NVLink 2", "nvlink-v100", kDevice, 150, 150,
     "NVIDIA V100 data sheet, as quoted elsewhere (300 GB/s both ways)"},
    {"nvlink3", "NVLink 3", "nvlink-a100", kDevice, 300, 300,
     "NVIDIA A100 data sheet (600 GB/s both ways)"},
    {"nvlink4", "NVLink 4", "nvlink-h100 nvlink", kDevice, 450, 450,
     "NVIDIA H100 product page (900 GB/s both ways)"},
    {"nvlink5", "NVLink 5", "nvlink-b200", kDevice, 900, 900,
     "NVIDIA Blackwell Architecture Technical Brief (18 links of 50 GB/s)"},
    {"nvl-bridge", "NVLink 4 bridge", "nvlink-bridge4", kDevice, 300, 300,
     "NVIDIA H100 product page (600 GB/s both ways)"},
    {"a800-nvlink", "NVLink of A800 and H800", "h800-nvlink", kDevice, 200, 200,
     "NVIDIA H800 data sheet, as quoted elsewhere (400 GB/s both ways)"},
    {"if-mi250", "Infinity Fabric, MI250X", "infinity-fabric2", kDevice, 400, 400,
     "AMD ROCm documentation, MI250 microarchitecture (8 links of 50 GB/s)"},
    {"if-mi300", "Infinity Fabric, MI300X", "infinity-fabric infinity-fabric3 xgmi", kDevice, 448,
     448, "AMD Instinct MI300X product page (7 links of 128 GB/s both ways)"},
    {"if-mi350", "Infinity Fabric, MI350", "infinity-fabric4", kDevice, 537.6, 537.6,
     "AMD Instinct MI350X GPU data sheet (7 links of 153.6 GB/s both ways)"},
    {"gaudi2-roce", "Gaudi 2 scale-up", "gaudi2-scale-up", kDevice, 262.5, 262.5,
     "Intel Gaudi 2 data sheet, as quoted elsewhere (21 ports of 100 Gb/s)"},
    {"gaudi3-roce", "Gaudi 3 scale-up", "gaudi3-scale-up", kDevice, 525, 525,
     "Intel Gaudi 3 AI Accelerator technical paper (21 ports of 200 Gb/s)"},
    {"ici-v4", "ICI, TPU v4", "ici4", kDevice, 300, 300,
     "Jouppi et al., TPU v2 to Ironwood, IEEE Micro 2026 (6 links of 50 GB/s)"},
    {"ici-v5e", "ICI, TPU v5e", "ici5e", kDevice, 200, 200,
     "Google Cloud documentation, TPU v5e (400 GB/s both ways)"},
    {"ici-v5p", "ICI, TPU v5p", "ici5p", kDevice, 600, 600,
     "Google Cloud documentation, TPU v5p (1,200 GB/s both ways)"},
    {"ici-v6e", "ICI, TPU v6e", "ici6e", kDevice, 400, 400,
     "Google Cloud documentation, TPU v6e (800 GB/s both ways)"},
    {"ici-7x", "ICI, TPU7x", "ici7x", kDevice, 600, 600,
     "Google Cloud documentation, TPU7x (1,200 GB/s both ways)"},
    {"10gbe", "10 Gb Ethernet", "10g ethernet10 10gige", kNetwork, 1.25, 1.25,
     "arithmetic: 10 Gb/s, IEEE 802.3ae"},
    {"25gbe", "25 Gb Ethernet", "25g ethernet25", kNetwork, 3.125, 3.125,
     "arithmetic: 25 Gb/s, IEEE 802.3by"},
    {"100gbe", "100 Gb Ethernet", "100g ethernet100", kNetwork, 12.5, 12.5,
     "arithmetic: 100 Gb/s, IEEE 802.3bj"},
    {"200gbe", "200 Gb Ethernet", "200g ethernet200", kNetwork, 25, 25,
     "arithmetic: 200 Gb/s, IEEE 802.3bs"},
    {"400gbe", "400 Gb Ethernet", "400g ethernet400", kNetwork, 50, 50,
     "arithmetic: 400 Gb/s, IEEE 802.3bs"},
    {"800gbe", "800 Gb Ethernet", "800g ethernet800", kNetwork, 100, 100,
     "arithmetic: 800 Gb/s, IEEE 802.3df"},
    {"hdr", "InfiniBand HDR", "ib-hdr infiniband-hdr", kNetwork, 25, 25,
     "arithmetic: 200 Gb/s, HDR 4x of the InfiniBand Trade Association"},
    {"ndr", "InfiniBand NDR", "ib-ndr infiniband-ndr infiniband", kNetwork, 50, 50,
     "arithmetic: 400 Gb/s, NDR 4x of the InfiniBand Trade Association"},
    {"xdr", "InfiniBand XDR", "ib-xdr infiniband-xdr", kNetwork, 100, 100,
     "arithmetic: 800 Gb/s, XDR 4x of the InfiniBand Trade Association"},
    {"nvme3", "NVMe, PCIe 3.0 x4", "nvme-gen3", kStorage, 3.5, 3.3,
     "Samsung 970 EVO Plus data sheet, not re-read (sequential)"},
    {"nvme4", "NVMe, PCIe 4.0 x4", "nvme-gen4 nvme", kStorage, 7.45, 6.9,
     "Samsung 990 PRO data sheet, not re-read (sequential)"},
    {"nvme5", "NVMe, PCIe 5.0 x4", "nvme-gen5", kStorage, 14.8, 13.4,
     "Samsung 9100 PRO data sheet, not re-read (sequential)"},
    {"sata3", "SATA 3 SSD", "sata ssd", kStorage, 0.56, 0.53,
     "Samsung 870 EVO data sheet, not re-read (sequential)"},
});

}  // namespace

std::span<const Link> Links() { return kLinks; }

}  // namespace cairn
