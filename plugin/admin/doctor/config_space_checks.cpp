// What PCI configuration space says of the way between GPUs and RDMA devices. Root alone reads all of it:
// others get its first 64 bytes (pci_read_config()), which is unknown here.
#include "common/text.h"
#include "plugin/admin/doctor/check.h"
#include "plugin/device/prefer/distance.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>

namespace vfrail::plugin {

namespace {

// Registers and bits are those of linux/pci_regs.h.
constexpr size_t kFirstCapability = 0x34;           // PCI_CAPABILITY_LIST
constexpr size_t kFirstExtendedCapability = 0x100;  // PCI_CFG_SPACE_SIZE
constexpr unsigned kPciExpress = 0x10;              // PCI_CAP_ID_EXP
constexpr size_t kDeviceControl = 8;                // PCI_EXP_DEVCTL
constexpr unsigned kRelaxedOrdering = 0x10;         // PCI_EXP_DEVCTL_RELAX_EN
constexpr unsigned kAccessControl = 0x0d;           // PCI_EXT_CAP_ID_ACS
constexpr size_t kAccessControlControl = 6;         // PCI_ACS_CTRL
constexpr unsigned kRedirects = 0x4 | 0x8 | 0x10;   // PCI_ACS_RR, PCI_ACS_CR, PCI_ACS_UF
constexpr unsigned kLittleReadRequest = 512;        // bytes
constexpr int kMostCapabilities = 64;               // more is a list that leads round

// The configuration space of one function; what lies behind its end reads as zeros, as SysRoot drops white
// space there.
class ConfigSpace {
 public:
  explicit ConfigSpace(std::string bytes) : bytes_(std::move(bytes)) {}

  unsigned word(size_t at) const { return byte(at) | byte(at + 1) << 8; }
  std::optional<size_t> capability(unsigned id) const {
    size_t at = byte(kFirstCapability);
    for (int i = 0; i < kMostCapabilities && at >= 0x40; ++i, at = byte(at + 1)) {
      if (byte(at) == id) return at;
    }
    return std::nullopt;
  }
  std::optional<size_t> extended_capability(unsigned id) const {
    size_t at = kFirstExtendedCapability;
    for (int i = 0; i < kMostCapabilities && at >= kFirstExtendedCapability; ++i, at = word(at + 2) >> 4) {
      if (word(at) == id) return at;
    }
    return std::nullopt;
  }

 private:
  unsigned byte(size_t at) const { return at < bytes_.size() ? static_cast<unsigned char>(bytes_[at]) : 0; }

  std::string bytes_;
};

// No value: not there (a captured tree has none), or only its beginning can be read.
Result<std::optional<ConfigSpace>> read_config_space(const SysRoot& sys, const std::string& address) {
  auto bytes = TRY(sys.text("sys/bus/pci/devices/" + address + "/config"));
  if (!bytes || bytes->size() <= 64) return std::optional<ConfigSpace>();
  return std::optional(ConfigSpace(*std::move(bytes)));
}

CheckResults no_config_space() {
  return {{Finding::unknown, "PCI configuration space cannot be read: run as root on the node"}};
}

bool is_near(const DeviceFacts& function, const Gpu& gpu) {
  return function.rdma_capable && !function.is_vf() && !function.manages_nvlink &&
         distance(place_of(gpu), place_of(function)) <= Distance::pxb;
}

// The bridges below the last one that both paths have: the switch's ports that their traffic goes through.
std::vector<std::string> bridges_between(const std::vector<std::string>& a,
                                         const std::vector<std::string>& b) {
  const auto parted = std::mismatch(a.begin(), a.end(), b.begin(), b.end());
  std::vector<std::string> out;
  for (const auto& [from, path] : {std::pair(parted.first, &a), std::pair(parted.second, &b)}) {
    if (from != path->end()) out.insert(out.end(), from, path->end() - 1);
  }
  return out;
}

// A redirect sends what one port of a switch has for another one up to the root complex (PCIe 6.12).
Result<CheckResults> check_access_control(const CheckedNode& node) {
  std::set<std::string> bridges;
  for (const Gpu& gpu : node.inventory.gpus) {
    for (const DeviceFacts& function : node.inventory.functions) {
      if (!is_near(function, gpu)) continue;
      for (std::string& bridge : bridges_between(gpu.pcie_path, function.pcie_path))
        bridges.insert(std::move(bridge));
    }
  }
  std::vector<std::string> redirecting;
  for (const std::string& bridge : bridges) {
    const auto space = TRY(read_config_space(node.sys, bridge));
    if (!space) return no_config_space();
    const auto at = space->extended_capability(kAccessControl);
    if (at && (space->word(*at + kAccessControlControl) & kRedirects) != 0) redirecting.push_back(bridge);
  }
  if (redirecting.empty()) return CheckResults();
  return CheckResults{
      {Finding::advice,
       "ACS redirects traffic between GPU and NIC to the root complex at " + first_few(redirecting),
       "without virtual machines: setpci -s ADDRESS ECAP_ACS+6.w=0 at each boot; with them: ATS"}};
}

Result<CheckResults> check_transfers(const CheckedNode& node) {
  std::map<std::string, std::vector<std::string>> found;  // by what it is
  for (const DeviceFacts& function : node.inventory.functions) {
    const auto& gpus = node.inventory.gpus;
    const bool near =
        std::any_of(gpus.begin(), gpus.end(), [&](const Gpu& gpu) { return is_near(function, gpu); });
    if (!near) continue;
    const auto space = TRY(read_config_space(node.sys, function.address.text()));
    if (!space) return no_config_space();
    const auto at = space->capability(kPciExpress);
    if (!at) continue;
    const unsigned control = space->word(*at + kDeviceControl);
    if ((control & kRelaxedOrdering) == 0) found["relaxed ordering is off"].push_back(shown_device(function));
    const unsigned request = 128U << (control >> 12 & 7U);  // PCI_EXP_DEVCTL_READRQ
    if (request < kLittleReadRequest)
      found["reads of " + std::to_string(request) + " bytes at most"].push_back(shown_device(function));
  }
  CheckResults out;
  for (const auto& [what, functions] : found)
    out.push_back({Finding::note, what + ": " + first_few(functions),
                   "the firmware's setup; see setpci -s ADDRESS CAP_EXP+8.w"});
  return out;
}

}  // namespace

const NodeChecks& config_space_checks() {
  static const NodeChecks kChecks = {
      {"VF-N24", "acs", "no PCIe switch redirects traffic between GPU and NIC", check_access_control,
       lacks_gpu_rails},
      {"VF-N27", "pcie-transfers", "RDMA devices near GPUs read in large pieces, in relaxed order",
       check_transfers, lacks_gpu_rails},
  };
  return kChecks;
}

}  // namespace vfrail::plugin
