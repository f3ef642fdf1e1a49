#include "plugin/device/inventory/inventory.h"

#include "common/errors/error_id.h"
#include "common/node/device_folder.h"
#include "common/text.h"
#include "plugin/device/inventory/function_reader.h"
#include "plugin/device/inventory/gpu_facts.h"
#include "plugin/device/inventory/host_network.h"
#include "plugin/device/inventory/host_use.h"
#include "plugin/device/inventory/lag_facts.h"
#include "plugin/device/inventory/node_devices.h"

#include <algorithm>
#include <functional>
#include <future>
#include <thread>
#include <tuple>

namespace vfrail::plugin {

namespace {

constexpr size_t kMostThreads = 4;
constexpr size_t kLeastOfThread = 64;  // functions, for which a thread is worth its start

Result<std::optional<RdmaNetnsMode>> read_rdma_netns_mode(const SysRoot& sys, Kernel* host) {
  if (host != nullptr) {
    if (const auto asked = TRY(host->rdma_netns_mode())) return asked;
  }
  // The parameter follows `rdma system set netns` (rdma_compatdev_set() sets the same variable).
  const auto shared = TRY(sys.text("sys/module/ib_core/parameters/netns_mode"));
  if (!shared) return std::optional<RdmaNetnsMode>();
  return std::optional(*shared == "Y" || *shared == "1" ? RdmaNetnsMode::shared : RdmaNetnsMode::exclusive);
}

// What a PCI device can be for a pod.
struct PciDevice {
  std::optional<DeviceFacts> function;
  std::optional<Gpu> gpu;
};

Result<PciDevice> read_pci_device(const SysRoot& sys, const PciAddress& address, FunctionReader& reader) {
  PciDevice out;
  const auto device = TRY(read_device(sys, DeviceId(address), Facts::ids));
  if (!device) return out;
  out.function = TRY(reader.read(*device));
  out.gpu = TRY(find_gpu(sys, out.function ? *out.function : *device));
  return out;
}

using Part = std::vector<Result<PciDevice>>;

// A part of the list, by one thread.
Result<Part> read_part(const SysRoot& sys, const FailedReporters& failed,
                       const std::vector<std::string>& names, size_t from, size_t to) {
  FunctionReader reader = TRY(FunctionReader::open(sys, failed));
  Part out;
  for (size_t i = from; i < to; ++i) {
    const auto address = PciAddress::parse(names[i]);
    if (address && address->text() != names[i]) {  // read by its address it would be another folder's device
      out.push_back(Error{Errc::invalid, 0,
                          "its folder in sysfs must have the name " + address->text() +
                              ", as the kernel writes this address; correct the tree that was captured"});
      continue;
    }
    out.push_back(address ? read_pci_device(sys, *address, reader) : PciDevice());
  }
  return out;
}

// The kernel's facts about a function are some twenty files, and a node can have a thousand functions:
// several threads read. Neighbours stay together, because they share the PF.
std::vector<std::future<Result<Part>>> read_in_parts(const SysRoot& sys, const FailedReporters& failed,
                                                     const std::vector<std::string>& names) {
  const size_t threads = std::clamp<size_t>(std::thread::hardware_concurrency(), 1, kMostThreads);
  const size_t part = std::max(kLeastOfThread, (names.size() + threads - 1) / threads);
  std::vector<std::future<Result<Part>>> out;
  for (size_t from = 0; from < names.size(); from += part) {
    // The calling thread reads the last part, and any for which no thread could be started.
    const auto how =
        from + part < names.size() ? std::launch::async | std::launch::deferred : std::launch::deferred;
    out.push_back(std::async(how, read_part, std::cref(sys), std::cref(failed), std::cref(names), from,
                             std::min(from + part, names.size())));
  }
  return out;
}

// A device that cannot be read is not one that is gone.
void add_unread(const std::string& name, const Error& error, Inventory& out) {
  out.unread.push_back({name, error.text});
}

Result<> read_pci_devices(const SysRoot& sys, const FailedReporters& failed,
                          const std::vector<std::string>& names, Inventory& out) {
  auto parts = read_in_parts(sys, failed, names);
  if (!parts.empty()) parts.back().wait();
  size_t next = 0;
  for (auto& part : parts) {
    for (Result<PciDevice>& read : TRY(part.get())) {
      const std::string& name = names[next++];
      if (!read) {
        add_unread(name, read.error(), out);
        continue;
      }
      if (read->function) out.functions.push_back(*std::move(read->function));
      if (read->gpu) out.gpus.push_back(*std::move(read->gpu));
    }
  }
  return {};
}

Result<> read_sub_functions(const SysRoot& sys, const FailedReporters& failed, Inventory& out) {
  FunctionReader reader = TRY(FunctionReader::open(sys, failed));
  for (const std::string& name : TRY(sys.list(kAuxiliaryDevices)).value_or(SysRoot::Names())) {
    const auto id = DeviceId::parse(name);
    auto read = id && !id->pci() ? reader.read_sub_function(*id) : std::optional<DeviceFacts>();
    if (!read)
      add_unread(name, read.error(), out);
    else if (*read)
      out.functions.push_back(**std::move(read));
  }
  return {};
}

void warn_of_unknown_nvlink(Inventory& out) {
  std::vector<std::string> ids;
  std::string why;
  for (const DeviceFacts& function : out.functions) {
    if (function.nvlink_unknown.empty()) continue;
    ids.push_back(function.id.text());
    why = function.nvlink_unknown;
  }
  if (ids.empty()) return;
  out.warnings.push_back(text_with_id("whether the NVLink switches are managed through " + first_few(ids) +
                                          " is not known, so a resource may advertise what leads to no "
                                          "network: " +
                                          why,
                                      ErrorId::permission_denied));
}

}  // namespace

bool DeviceFacts::away() const {
  // An accelerator has no interface in any namespace, nor has a device bound to such a driver.
  if (kind == FunctionKind::accelerator || vdpa.has_value()) return false;
  return driver.kind() == DriverKind::kernel && netdevs.empty() && rdma.empty();
}

bool DeviceFacts::partly_away() const {
  if (kind == FunctionKind::accelerator || vdpa.has_value()) return false;
  return driver.kind() == DriverKind::kernel && (netdevs.empty() || misses_rdma());
}

Result<Inventory> scan(const SysRoot& sys, Kernel* host) {
  const auto names = TRY(sys.list(kPciDevices));
  if (!names) {
    return Error{Errc::not_found, 0,
                 sys.path(kPciDevices) + " is not there: is sysfs mounted below this root?",
                 ErrorId::node_not_read};
  }
  Inventory out;
  HostNetwork network = TRY(read_host_network(sys, host));
  out.warnings = std::move(network.warnings);
  const auto asked = TRY(read_failed_reporters(sys));
  out.asked_devlink = asked.has_value();
  const FailedReporters failed = asked.value_or(FailedReporters());
  TRY(read_pci_devices(sys, failed, *names, out));
  TRY(read_sub_functions(sys, failed, out));
  if (out.functions.empty() && !out.unread.empty()) {
    const UnreadDevice& first = out.unread.front();
    return Error{Errc::system, 0,
                 "none of " + std::to_string(out.unread.size()) + " devices can be read; " + first.id + ": " +
                     first.reason,
                 ErrorId::node_not_read};
  }
  std::sort(out.functions.begin(), out.functions.end(), [](const DeviceFacts& a, const DeviceFacts& b) {
    return std::tie(a.address, a.sf_number, a.id) < std::tie(b.address, b.sf_number, b.id);
  });
  std::sort(out.gpus.begin(), out.gpus.end(),
            [](const Gpu& a, const Gpu& b) { return a.address < b.address; });
  for (DeviceFacts& function : out.functions)
    function.host_use = TRY(read_host_use(sys, function.netdevs, network));
  warn_of_unknown_nvlink(out);
  out.lags = TRY(read_lags(sys));
  out.rdma_netns_mode = TRY(read_rdma_netns_mode(sys, host));
  out.rdma_cm = TRY(has_device_node(sys, "infiniband/rdma_cm"));
  out.vhost_net = TRY(has_device_node(sys, "vhost-net")) && TRY(has_device_node(sys, "net/tun"));
  return out;
}

void mark_attached(const AttachedDevices& attached, Inventory& inventory) {
  for (DeviceFacts& function : inventory.functions) function.attached = attached.contains(function.id.text());
}

Result<std::optional<DeviceFacts>> read_function(const SysRoot& sys, const DeviceFacts& known) {
  // The scan reads health.
  const FailedReporters none;
  FunctionReader reader = TRY(FunctionReader::open(sys, none));
  if (known.kind == FunctionKind::sub_function) return reader.read_sub_function(known.id);
  auto device = TRY(read_device(sys, known.id, Facts::ids));
  return device ? reader.read(*std::move(device)) : std::optional<DeviceFacts>();
}

}  // namespace vfrail::plugin
