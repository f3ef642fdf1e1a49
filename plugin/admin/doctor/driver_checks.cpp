// Drivers and what the devices say of themselves: modules' origins, counters of errors, eswitch, interrupts.
#include "common/node/device_folder.h"
#include "common/text.h"
#include "plugin/admin/doctor/check.h"

#include <algorithm>
#include <array>
#include <map>

namespace vfrail::plugin {

namespace {

// One for the driver's own events; what is left is the netdev's queues.
constexpr size_t kFewVectors = 2;

// NVIDIA's own driver packages (OFED, DOCA) give their modules versions of theirs, "24.10-1.1.4" or
// "4.9-0.1.7"; those of Linux have "5.0-0" up to 5.6 and none since.
bool is_of_linux(const std::string& version) {
  return version.empty() || (version.ends_with("-0") && split(version, ".-").size() == 3);
}

// Of two origins, one module uses structures that the other does not have.
Result<CheckResults> check_driver_origin(const CheckedNode& node) {
  if (!TRY(node.sys.exists("sys/module/mlx5_core")) || !TRY(node.sys.exists("sys/module/mlx5_ib")))
    return CheckResults();
  const std::string core = TRY(node.sys.text("sys/module/mlx5_core/version")).value_or("");
  const std::string ib = TRY(node.sys.text("sys/module/mlx5_ib/version")).value_or("");
  if (is_of_linux(core) && is_of_linux(ib)) return CheckResults();
  const auto origin = [](const std::string& version) { return is_of_linux(version) ? "of Linux" : version; };
  if (core != ib)
    return CheckResults{{Finding::fault,
                         std::string("mlx5_core is ") + origin(core) + " and mlx5_ib is " + origin(ib),
                         "install one of them again: the kernel's modules, or those of DOCA or OFED; then "
                         "renew the initramfs and reboot"}};
  return CheckResults{{Finding::good, "mlx5_core and mlx5_ib are " + core + ", of DOCA or OFED"}};
}

// They count from the binding of the driver; what matters is whether they rise.
Result<CheckResults> check_port_errors(const CheckedNode& node) {
  static constexpr std::array kErrors = {"symbol_error", "link_downed", "port_rcv_errors",
                                         "local_link_integrity_errors"};
  CheckResults out;
  size_t ports = 0;
  size_t counters_read = 0;
  for (const DeviceFacts& function : node.inventory.functions) {
    if (function.is_vf()) continue;
    const DeviceFolder folder(node.sys, function.id);
    for (const RdmaFacts& rdma : function.rdma) {
      for (const RdmaPort& port : rdma.ports) {
        const std::string counters = rdma_port_folder(rdma.name, port.number) + "counters/";
        std::vector<std::string> counted_errors;
        ++ports;
        for (const char* error : kErrors) {
          const auto count = TRY(folder.number(counters + error));
          counters_read += count ? 1 : 0;
          if (count.value_or(0) > 0) counted_errors.push_back(error + (" " + std::to_string(*count)));
        }
        if (counted_errors.empty()) continue;
        out.push_back({Finding::note,
                       shown_device(function) + ": port " + std::to_string(port.number) + " of " + rdma.name +
                           " has counted errors since its driver was bound: " + joined(counted_errors),
                       "if they rise while there is traffic, clean or replace the cable"});
      }
    }
  }
  if (ports > 0 && counters_read == 0)
    return CheckResults{{Finding::unknown, "the RDMA ports have no counters of errors here"}};
  return out;
}

// As devlink names the port of one: "pf0vf3", "c1pf0vf3" (__devlink_port_phys_port_name_get()).
Result<bool> is_representor(const SysRoot& sys, const std::string& interface) {
  const std::string name = TRY(sys.text("sys/class/net/" + interface + "/phys_port_name")).value_or("");
  return name.find("pf") != std::string::npos && name.find("vf") != std::string::npos;
}

// In switchdev mode a VF has traffic through its representor alone (Documentation/networking/switchdev.rst).
Result<CheckResults> check_representors(const CheckedNode& node) {
  CheckResults out;
  for (const DeviceFacts& function : node.inventory.functions) {
    std::vector<std::string> down;
    for (const Netdev& netdev : function.netdevs) {
      if (!netdev.up && TRY(is_representor(node.sys, netdev.name))) down.push_back(netdev.name);
    }
    if (down.empty()) continue;
    out.push_back(
        {Finding::note,
         shown_device(function) +
             " is in switchdev mode, and a VF whose representor is down has no "
             "traffic: " +
             first_few(down),
         "the plugin of the switch (OVS, a bridge) sets them up; or legacy mode: devlink dev eswitch "
         "set pci/" +
             function.id.text() + " mode legacy"});
  }
  return out;
}

Result<CheckResults> check_vf_interrupts(const CheckedNode& node) {
  std::map<std::string, std::pair<size_t, std::vector<std::string>>> few;  // by PF; how many, of which
  for (const DeviceFacts& function : node.inventory.functions) {
    if (!function.is_vf() || function.driver.is_user_space()) continue;
    const auto vectors = TRY(DeviceFolder(node.sys, function.id).list("msi_irqs")).size();
    if (vectors == 0 || vectors > kFewVectors) continue;
    auto& [count, vfs] = few[function.pf->text()];
    count = vectors;
    vfs.push_back(function.id.text());
  }
  CheckResults out;
  for (const auto& [pf, found] : few) {
    out.push_back({Finding::note,
                   "VFs of " + pf + " have " + counted(found.first, "interrupt vector") +
                       ": TCP and IPoIB on them use one CPU; RDMA that polls does not need them: " +
                       first_few(found.second),
                   "where the driver can: echo N > /sys/bus/pci/devices/VF/sriov_vf_msix_count, with the VF "
                   "unbound"});
  }
  return out;
}

}  // namespace

const NodeChecks& driver_checks() {
  static const NodeChecks kChecks = {
      {"VF-N02", "driver-origin", "mlx5_core and mlx5_ib are of one origin", check_driver_origin, lacks_rdma},
      {"VF-N13", "port-errors", "no RDMA port has counted errors of its link", check_port_errors, lacks_rdma},
      {"VF-N20", "representors", "no VF lacks traffic because its representor is down", check_representors,
       lacks_vfs},
      {"VF-N21", "vf-interrupts", "every VF has interrupt vectors for several queues", check_vf_interrupts,
       lacks_vfs},
  };
  return kChecks;
}

}  // namespace vfrail::plugin
