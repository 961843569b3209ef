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
     "PCI-SIG, PCI Express Base Specification 3.0"},
    {"pcie4", "PCIe 4.0 x16", "pcie4x16 pcie-gen4", kHost, 31.508, 31.508,
     "PCI-SIG, PCI Express Base Specification 4.0"},
    {"pcie5", "PCIe 5.0 x16", "pcie5x16 pcie-gen5", kHost, 63.015, 63.015,
     "PCI-SIG, PCI Express Base Specification 5.0"},
    {"pcie6", "PCIe 6.0 x16", "pcie6x16 pcie-gen6", kHost, 118.0, 118.0,
     "PCI-SIG, PCI Express Base Specification 6.0"},
    {"nvlink-c2c", "NVLink-C2C", "c2c", kHost, 450, 450,
     "NVIDIA Grace Hopper Superchip architecture paper (900 GB/s both ways)"},
    {"nvlink2", "NVLink 2", "nvlink-v100", kDevice, 150, 150,
     "NVIDIA V100 data sheet (300 GB/s both ways)"},
    {"nvlink3", "NVLink 3", "nvlink-a100", kDevice, 300, 300,
     "NVIDIA A100 data sheet (600 GB/s both ways)"},
    {"nvlink4", "NVLink 4", "nvlink-h100 nvlink", kDevice, 450, 450,
     "NVIDIA H100 data sheet (900 GB/s both ways)"},
    {"nvlink5", "NVLink 5", "nvlink-b200", kDevice, 900, 900,
     "NVIDIA HGX B200 data sheet (1.8 TB/s both ways)"},
    {"nvl-bridge", "NVLink 4 bridge", "nvlink-bridge4", kDevice, 300, 300,
     "NVIDIA H100 NVL data sheet (600 GB/s both ways)"},
    {"a800-nvlink", "NVLink of A800 and H800", "h800-nvlink", kDevice, 200, 200,
     "NVIDIA A800 data sheet (400 GB/s both ways)"},
    {"if-mi250", "Infinity Fabric, MI250X", "infinity-fabric2", kDevice, 400, 400,
     "AMD Instinct MI250X data sheet (8 links of 50 GB/s)"},
    {"if-mi300", "Infinity Fabric, MI300X", "infinity-fabric infinity-fabric3 xgmi", kDevice, 448,
     448, "AMD Instinct MI300X data sheet (7 links of 64 GB/s)"},
    {"if-mi350", "Infinity Fabric, MI350", "infinity-fabric4", kDevice, 537.6, 537.6,
     "AMD Instinct MI350X data sheet (7 links of 76.8 GB/s)"},
    {"gaudi2-roce", "Gaudi 2 scale-up", "gaudi2-scale-up", kDevice, 262.5, 262.5,
     "Intel Gaudi 2 white paper (21 ports of 100 Gb/s)"},
    {"gaudi3-roce", "Gaudi 3 scale-up", "gaudi3-scale-up", kDevice, 525, 525,
     "Intel Gaudi 3 white paper (21 ports of 200 Gb/s)"},
    {"ici-v4", "ICI, TPU v4", "ici4", kDevice, 150, 150,
     "Google Cloud documentation, TPU v4 (2,400 Gb/s, half of it each way)"},
    {"ici-v5e", "ICI, TPU v5e", "ici5e", kDevice, 100, 100,
     "Google Cloud documentation, TPU v5e (1,600 Gb/s, half of it each way)"},
    {"ici-v5p", "ICI, TPU v5p", "ici5p", kDevice, 300, 300,
     "Google Cloud documentation, TPU v5p (4,800 Gb/s, half of it each way)"},
    {"ici-v6e", "ICI, TPU v6e", "ici6e", kDevice, 200, 200,
     "Google Cloud documentation, TPU v6e (3,200 Gb/s, half of it each way)"},
    {"10gbe", "10 Gb Ethernet", "10g ethernet10 10gige", kNetwork, 1.25, 1.25, "IEEE 802.3ae"},
    {"25gbe", "25 Gb Ethernet", "25g ethernet25", kNetwork, 3.125, 3.125, "IEEE 802.3by"},
    {"100gbe", "100 Gb Ethernet", "100g ethernet100", kNetwork, 12.5, 12.5, "IEEE 802.3bj"},
    {"200gbe", "200 Gb Ethernet", "200g ethernet200", kNetwork, 25, 25, "IEEE 802.3bs"},
    {"400gbe", "400 Gb Ethernet", "400g ethernet400", kNetwork, 50, 50, "IEEE 802.3bs"},
    {"800gbe", "800 Gb Ethernet", "800g ethernet800", kNetwork, 100, 100, "IEEE 802.3df"},
    {"hdr", "InfiniBand HDR", "ib-hdr infiniband-hdr", kNetwork, 25, 25,
     "InfiniBand Trade Association, HDR 4x (200 Gb/s)"},
    {"ndr", "InfiniBand NDR", "ib-ndr infiniband-ndr infiniband", kNetwork, 50, 50,
     "InfiniBand Trade Association, NDR 4x (400 Gb/s)"},
    {"xdr", "InfiniBand XDR", "ib-xdr infiniband-xdr", kNetwork, 100, 100,
     "InfiniBand Trade Association, XDR 4x (800 Gb/s)"},
    {"nvme3", "NVMe, PCIe 3.0 x4", "nvme-gen3", kStorage, 3.5, 3.3,
     "Samsung 970 EVO Plus data sheet (sequential)"},
    {"nvme4", "NVMe, PCIe 4.0 x4", "nvme-gen4 nvme", kStorage, 7.45, 6.9,
     "Samsung 990 PRO data sheet (sequential)"},
    {"nvme5", "NVMe, PCIe 5.0 x4", "nvme-gen5", kStorage, 14.8, 13.4,
     "Samsung 9100 PRO data sheet (sequential)"},
    {"sata3", "SATA 3 SSD", "sata ssd", kStorage, 0.56, 0.53,
     "Samsung 870 EVO data sheet (sequential)"},
});

}  // namespace

std::span<const Link> Links() { return kLinks; }

}  // namespace cairn
