#include "plugin/admin/capture/capture.h"

#include "common/container/cdi_outline.h"
#include "common/container/cdi_runtime.h"
#include "common/errors/error_id.h"
#include "common/files.h"
#include "common/ids.h"
#include "common/node/device.h"
#include "common/node/device_folder.h"
#include "common/node/lock_limit.h"
#include "common/text.h"
#include "plugin/admin/capture/anonymous.h"
#include "plugin/admin/capture/claim_copy.h"
#include "plugin/device/inventory/function_reader.h"
#include "plugin/device/inventory/kernel_log.h"
#include "plugin/device/inventory/node_devices.h"
#include "plugin/device/inventory/udev_rules.h"
#include "plugin/documents/yaml.h"

#include <cerrno>
#include <filesystem>
#include <initializer_list>
#include <map>
#include <set>
#include <unistd.h>

namespace vfrail::plugin {

namespace fs = std::filesystem;

namespace {

constexpr size_t kMaxNetFileBytes = 32 << 20;

class Copy {
 public:
  Copy(const SysRoot& sys, std::string folder) : sys_(sys), folder_(std::move(folder)) {}

  Result<> node();

 private:
  using Names = std::initializer_list<const char*>;

  Result<> write(const std::string& below, const std::string& text) const {
    const std::string path = folder_ + "/" + below;
    TRY(make_folder(fs::path(path).parent_path(), 0755));
    return write_file(path, text + "\n", 0644, Durability::renamed);
  }
  Result<std::vector<std::string>> names(const std::string& below) const {
    return TRY(sys_.list(below)).value_or(SysRoot::Names());
  }
  Result<> folder(const std::string& below) const { return make_folder(folder_ + "/" + below, 0755); }
  // An unreadable attribute is missing in the copy: the rest is of use without it.
  Result<> files(const std::string& base, Names names) const {
    for (const std::string name : names) {
      const auto text = sys_.text(base + "/" + name).or_none();
      if (text) TRY(write(base + "/" + name, *text));
    }
    return {};
  }
  Result<> hardware_files(const std::string& base, Names names) {
    for (const std::string name : names) {
      const auto text = sys_.text(base + "/" + name).or_none();
      if (text) TRY(write(base + "/" + name, anonymous_.hardware(*text)));
    }
    return {};
  }
  Result<> link(const std::string& below) const {
    const auto target = TRY(sys_.link_target(below));
    if (!target) return {};
    const std::string path = folder_ + "/" + below;
    TRY(make_folder(fs::path(path).parent_path(), 0755));
    if (::symlink(target->c_str(), path.c_str()) != 0 && errno != EEXIST)
      return Error::from_errno(errno, "make the link " + path);
    return {};
  }

  Result<bool> is_wanted(const std::string& address);
  Result<> function(const std::string& base);
  Result<> what_hangs_on(const std::string& base);
  Result<> netdev(const std::string& base);
  Result<> rdma(const std::string& base);
  Result<> partitions(const std::string& base);
  Result<> pci_devices();
  Result<> other_devices(const std::string& bus);
  Result<> interfaces();
  Result<> node_files();
  Result<> kernel_facts();
  Result<> kubernetes_facts();
  Result<> cdi_specs(const std::string& folder);
  Result<> container_facts();
  Result<> udev_rules();
  Result<> kernel_log();

  const SysRoot& sys_;
  const std::string folder_;
  Anonymous anonymous_;
};

// "sys/devices/pci0000:16/..." of a link in a bus's or a class's folder; the folder itself if it is not a
// link.
Result<std::string> real_path(const SysRoot& sys, const std::string& link) {
  const std::string target = TRY(sys.link_target(link)).value_or("");
  const size_t devices = target.find("devices/");
  return devices == std::string::npos ? link : "sys/" + target.substr(devices);
}

Result<> Copy::netdev(const std::string& base) {
  TRY(folder(base));
  TRY(files(base, {"mtu", "type", "operstate", "carrier", "speed", "flags", "ifindex", "dev_port",
                   "carrier_changes", "phys_port_name", "bonding/mode", "bonding/slaves"}));
  TRY(hardware_files(base, {"address", "phys_switch_id"}));
  for (const char* end : {"/ecn/roce_np/enable", "/ecn/roce_rp/enable"}) {
    for (const std::string& priority : TRY(names(base + end))) TRY(files(base + end, {priority.c_str()}));
  }
  for (const std::string& entry : TRY(names(base))) {
    if (entry == "bridge") TRY(folder(base + "/bridge"));
    const bool relation = entry == "master" || entry.starts_with("upper_") || entry.starts_with("lower_");
    if (relation) TRY(link(base + "/" + entry));
  }
  return {};
}

// Most of the 128 entries of a port are free.
Result<> Copy::partitions(const std::string& base) {
  for (const std::string& entry : TRY(names(base))) {
    const auto pkey = sys_.text(base + "/" + entry).or_none();
    if (pkey && *pkey != "0x0000") TRY(write(base + "/" + entry, *pkey));
  }
  return {};
}

Result<> Copy::rdma(const std::string& base) {
  const bool has_device = !TRY(names(base + "/infiniband")).empty();
  // The vital product data have serial numbers, so only the part that decides something is copied.
  if (has_device && read_nvlink_mark(DeviceFolder(SysRoot(sys_.path(base)))).value_or(false))
    TRY(write(base + "/vpd", kNvlinkMark));
  for (const std::string& device : TRY(names(base + "/infiniband"))) {
    const std::string at = base + "/infiniband/" + device;
    TRY(folder(at));
    TRY(hardware_files(at, {"node_guid"}));
    TRY(files(at, {"node_type"}));
    for (const std::string& port : TRY(names(at + "/ports"))) {
      TRY(files(at + "/ports/" + port,
                {"state", "phys_state", "link_layer", "rate", "pkeys/0", "counters/symbol_error",
                 "counters/link_downed", "counters/port_rcv_errors", "counters/local_link_integrity_errors",
                 "sm_lid"}));
      TRY(files(at + "/tc/" + port, {"traffic_class"}));
      TRY(partitions(at + "/ports/" + port + "/pkeys"));
    }
  }
  for (const char* kind : {"infiniband_verbs", "infiniband_mad", "infiniband_cm"}) {
    for (const std::string& node : TRY(names(base + "/" + kind)))
      TRY(files(base + "/" + kind + "/" + node, {"ibdev", "port"}));
  }
  return {};
}

Result<> Copy::what_hangs_on(const std::string& base) {
  for (const std::string& name : TRY(names(base + "/net"))) TRY(netdev(base + "/net/" + name));
  TRY(rdma(base));
  for (const std::string& name : TRY(names(base + "/uio"))) TRY(folder(base + "/uio/" + name));
  for (const std::string& name : TRY(names(base + "/vfio-dev"))) {
    TRY(folder(base + "/vfio-dev/" + name));
    TRY(files(base + "/vfio-dev/" + name, {"dev"}));
  }
  return {};
}

Result<> Copy::function(const std::string& base) {
  TRY(files(base, {"uevent", "class", "vendor", "device", "subsystem_vendor", "subsystem_device", "numa_node",
                   "acpi_index", "sriov_totalvfs", "sriov_numvfs", "sriov_drivers_autoprobe",
                   "current_link_speed", "max_link_speed", "current_link_width", "max_link_width"}));
  for (const std::string& entry : TRY(names(base))) {
    const bool known =
        entry == "driver" || entry == "physfn" || entry == "iommu_group" || entry.starts_with("virtfn");
    if (known) TRY(link(base + "/" + entry));
    if (entry.starts_with("virtio")) {
      for (const std::string& name : TRY(names(base + "/" + entry + "/net")))
        TRY(netdev(base + "/" + entry + "/net/" + name));
    }
  }
  for (const std::string& vector : TRY(names(base + "/msi_irqs")))
    TRY(write(base + "/msi_irqs/" + vector, ""));
  if (const auto group = TRY(sys_.link_name(base + "/iommu_group")))
    TRY(files("sys/kernel/iommu_groups/" + *group, {"name", "type"}));
  return what_hangs_on(base);
}

// Network functions, accelerators and GPUs (PCI classes 12, 03).
Result<bool> Copy::is_wanted(const std::string& address) {
  const auto id = DeviceId::parse(address);
  const auto device = id && id->pci() ? TRY(read_device(sys_, *id, Facts::ids)) : std::optional<Device>();
  if (!device) return false;
  return device->class_code.starts_with("0x12") || device->class_code.starts_with("0x03") ||
         TRY(is_network_function(sys_, *device));
}

Result<> Copy::pci_devices() {
  TRY(folder(kPciDevices));
  for (const std::string& name : TRY(names(kPciDevices))) {
    const std::string at = std::string(kPciDevices) + "/" + name;
    if (!TRY(is_wanted(name))) continue;
    TRY(link(at));
    TRY(function(TRY(real_path(sys_, at))));
  }
  return {};
}

// Sub-functions and vDPA devices.
Result<> Copy::other_devices(const std::string& bus) {
  for (const std::string& name : TRY(names("sys/bus/" + bus + "/devices"))) {
    const std::string at = "sys/bus/" + bus + "/devices/" + name;
    const std::string base = TRY(real_path(sys_, at));
    if (!innermost_function(base)) continue;
    TRY(link(at));
    TRY(folder(base));
    TRY(link(base + "/driver"));
    TRY(files(base, {"sfnum"}));
    for (const std::string& entry : TRY(names(base))) {
      if (entry.starts_with("vhost-vdpa-")) TRY(folder(base + "/" + entry));
    }
    TRY(what_hangs_on(base));
  }
  return {};
}

// All but those of pods: what is on top of a function, and its masters.
Result<> Copy::interfaces() {
  for (const std::string& name : TRY(names("sys/class/net"))) {
    const std::string at = "sys/class/net/" + name;
    const std::string base = TRY(real_path(sys_, at));
    TRY(link(at));
    TRY(netdev(base));
  }
  return {};
}

Result<> Copy::node_files() {
  TRY(files("sys/module/ib_core/parameters", {"netns_mode"}));
  for (const std::string& node : TRY(names("dev/infiniband"))) TRY(write("dev/infiniband/" + node, ""));
  for (const char* node : {"null", "infiniband/rdma_cm", "vhost-net", "net/tun", "iommu"}) {
    if (TRY(has_device_node(sys_, node))) TRY(write(std::string("dev/") + node, ""));
  }
  struct Source {
    const char* name;
    std::string (*anonymous)(std::string_view);
  };
  for (const Source& source :
       {Source{"route", Anonymous::route}, Source{"fib_trie", Anonymous::fib_trie},
        Source{"ipv6_route", Anonymous::ipv6_route}, Source{"if_inet6", Anonymous::if_inet6}}) {
    const std::string path = std::string("proc/1/net/") + source.name;
    const auto text = read_file(sys_.path(path), kMaxNetFileBytes);
    if (text && *text) TRY(write(path, source.anonymous(**text)));
  }
  return {};
}

// What `vfrail doctor` reads of the kernel.
Result<> Copy::kernel_facts() {
  TRY(files("proc/sys/kernel", {"osrelease", "numa_balancing"}));
  TRY(files("sys/devices/system/cpu/cpu0/cpufreq", {"scaling_governor"}));
  for (const std::string& name : TRY(names("sys/devices/system/node"))) {
    if (name.starts_with("node")) TRY(folder("sys/devices/system/node/" + name));
  }
  for (const std::string& interface : TRY(names("proc/sys/net/ipv4/conf")))
    TRY(files("proc/sys/net/ipv4/conf/" + interface, {"rp_filter", "arp_ignore", "arp_announce"}));
  TRY(files("proc/sys/net/core", {"netdev_max_backlog"}));
  for (const std::string& size : TRY(names("sys/kernel/mm/hugepages")))
    TRY(files("sys/kernel/mm/hugepages/" + size, {"nr_hugepages"}));
  for (const std::string name :
       {"ib_uverbs", "rdma_ucm", "mlx5_core", "mlx5_ib", "nvidia", "nvidia_peermem", "nv_peer_mem"}) {
    const std::string module = "sys/module/" + name;
    if (TRY(sys_.exists(module))) TRY(folder(module));
    TRY(files(module, {"version", "taint"}));
  }
  return {};
}

// What it reads of Kubernetes: names, and of files that can hold secrets the line that decides something.
Result<> Copy::kubernetes_facts() {
  for (const char* below : {"opt/cni/bin", "etc/cni/net.d", "etc/cni/net.d/whereabouts.d",
                            "var/lib/kubelet/device-plugins", "var/lib/kubelet/pod-resources"}) {
    const auto there = TRY(sys_.list(below));
    if (there) TRY(folder(below));
    for (const std::string& name : there.value_or(SysRoot::Names())) {
      if (name.ends_with(".d")) continue;  // a folder
      const bool configuration = std::string(below).starts_with("etc/");
      const auto text = configuration ? sys_.text(std::string(below) + "/" + name).or_none() : std::nullopt;
      const bool multus = text && text->find("multus") != std::string::npos;
      TRY(write(std::string(below) + "/" + name, multus ? "multus" : ""));
    }
  }
  const auto kubelet = sys_.text("var/lib/kubelet/config.yaml").or_none().value_or("");
  for (const std::string& line : split(kubelet, "\n")) {
    if (line.starts_with("topologyManagerPolicy:")) TRY(write("var/lib/kubelet/config.yaml", line));
  }
  return {};
}

// Outlines, and which of the hooks are there.
Result<> Copy::cdi_specs(const std::string& below) {
  const auto there = TRY(sys_.list(below));
  if (there) TRY(folder(below));
  for (const std::string& name : there.value_or(SysRoot::Names())) {
    const auto text = sys_.text(below + "/" + name, AccessTime::kept).or_none();
    const auto documents = read_yaml(text.value_or(""));
    if (!documents || documents->empty()) continue;
    TRY(write(below + "/" + name, outline_of(documents->front()).pretty()));
    for (const std::string& hook : hooks_of(documents->front())) {
      // Its program alone, and not over what is copied already: the spec is another program's.
      std::error_code error;
      const bool is_program = hook.starts_with("/") && fs::is_regular_file(sys_.path(hook.substr(1)), error);
      if (is_program && !fs::exists(folder_ + hook, error)) TRY(write(hook.substr(1), ""));
    }
  }
  return {};
}

// What it reads of container runtimes: what their files say of CDI, CDI specs, and what they may lock.
Result<> Copy::container_facts() {
  for (const FoundRuntime& found : TRY(find_runtimes(sys_))) {
    if (found.config.unknown.empty()) TRY(write(found.path, format_runtime_file(found.config.all)));
  }
  for (const char* folder : kCdiFolders) TRY(cdi_specs(folder));
  for (const std::string& process : TRY(names("proc"))) {
    if (process.find_first_not_of("0123456789") != std::string::npos) continue;
    const auto program = sys_.text("proc/" + process + "/comm").or_none();
    if (program != "containerd" && program != "crio") continue;
    TRY(write("proc/" + process + "/comm", *program));
    for (const std::string& line :
         split(sys_.text("proc/" + process + "/limits").or_none().value_or(""), "\n")) {
      if (parse_lock_limit(line)) TRY(write("proc/" + process + "/limits", line));
    }
  }
  return {};
}

// Of each file the rules that rename RDMA devices, without their conditions, which can have GUIDs.
Result<> Copy::udev_rules() {
  for (const char* below : kUdevRules) {
    if (TRY(sys_.list(below))) TRY(folder(below));
  }
  const auto rules = read_rename_rules(sys_);
  if (!rules || !*rules) return {};
  std::map<std::string, std::string> texts;  // by file
  for (const RenameRule& rule : **rules) texts[rule.file] += rename_rule(rule.mode) + "\n";
  for (const auto& [file, text] : texts) TRY(write(file, text));
  return {};
}

// The messages that `vfrail doctor` shows, and no others.
Result<> Copy::kernel_log() {
  auto log = read_kernel_log(sys_);
  if (!log || !*log) return {};
  for (LogLine& line : (*log)->lines) line.text = anonymous_.message(line.text);
  return write(kKernelLog, format_kernel_log(**log));
}

Result<> Copy::node() {
  TRY(pci_devices(), "copy the PCI functions");
  TRY(other_devices("auxiliary"), "copy the sub-functions");
  TRY(other_devices("vdpa"), "copy the vDPA devices");
  TRY(interfaces(), "copy the interfaces");
  TRY(kernel_facts(), "copy the kernel's settings");
  TRY(kubernetes_facts(), "copy what Kubernetes has on the node");
  TRY(container_facts(), "copy what container runtimes have on the node");
  TRY(copy_claims(sys_, folder_, anonymous_), "copy what is prepared for ResourceClaims");
  TRY(udev_rules(), "copy udev's rules for names");
  TRY(kernel_log(), "copy the kernel's messages about devices");
  return node_files();
}

}  // namespace

Result<> capture(const SysRoot& sys, const std::string& folder) {
  std::error_code error;
  if (fs::exists(folder, error) && !fs::is_empty(folder, error))
    return Error{Errc::exists, 0, folder + " is there and not empty; name a new folder"};
  if (!TRY(sys.exists(kPciDevices))) {
    return Error{Errc::not_found, 0,
                 sys.path(kPciDevices) + " is not there: is sysfs mounted below this root?",
                 ErrorId::node_not_read};
  }
  TRY(make_folder(folder, 0755));
  return Copy(sys, folder).node();
}

}  // namespace vfrail::plugin
