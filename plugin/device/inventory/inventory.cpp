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
#include <iterator>
#include <map>
#include <set>
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

// A name in the folder of PCI devices. Read by its address, one that is written in another way would be
// another folder's device.
Result<PciDevice> read_named(const SysRoot& sys, const std::string& name, FunctionReader& reader) {
  const auto address = PciAddress::parse(name);
  if (!address) return PciDevice();
  if (address->text() == name) return read_pci_device(sys, *address, reader);
  return Error{Errc::invalid, 0,
               "its folder in sysfs must have the name " + address->text() +
                   ", as the kernel writes this address; correct the tree that was captured"};
}

using Part = std::vector<Result<PciDevice>>;

// A part of the list, by one thread.
Result<Part> read_part(const SysRoot& sys, const FailedReporters& failed,
                       const std::vector<std::string>& names, size_t from, size_t to) {
  FunctionReader reader = TRY(FunctionReader::open(sys, failed));
  Part out;
  for (size_t i = from; i < to; ++i) out.push_back(read_named(sys, names[i], reader));
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

// What the scan ends with, whichever functions it has read.
Result<> check_any_read(const Inventory& inventory) {
  if (!inventory.functions.empty() || inventory.unread.empty()) return {};
  const UnreadDevice& first = inventory.unread.front();
  return Error{Errc::system, 0,
               "none of " + std::to_string(inventory.unread.size()) + " devices can be read; " + first.id +
                   ": " + first.reason,
               ErrorId::node_not_read};
}

void sort_by_address(Inventory& out) {
  std::sort(out.functions.begin(), out.functions.end(), [](const DeviceFacts& a, const DeviceFacts& b) {
    return std::tie(a.address, a.sf_number, a.id) < std::tie(b.address, b.sf_number, b.id);
  });
  std::sort(out.gpus.begin(), out.gpus.end(),
            [](const Gpu& a, const Gpu& b) { return a.address < b.address; });
}

Result<> read_node(const SysRoot& sys, Kernel* host, Inventory& out) {
  out.rdma_netns_mode = TRY(read_rdma_netns_mode(sys, host));
  out.rdma_cm = TRY(has_device_node(sys, "infiniband/rdma_cm"));
  out.vhost_net = TRY(has_device_node(sys, "vhost-net")) && TRY(has_device_node(sys, "net/tun"));
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
  out.warnings.push_back({"whether the NVLink switches are managed through " + first_few(ids) +
                              " is not known, so a resource may advertise what leads to no "
                              "network: " +
                              why,
                          ErrorId::permission_denied, "", first_few(ids)});
}

// Reads devices again, with those that depend on them.
class Rereader {
 public:
  static Result<Rereader> open(const SysRoot& sys, const FailedReporters& failed, const Inventory& last) {
    return Rereader(sys, last, TRY(FunctionReader::open(sys, failed)));
  }

  void read(const std::set<DeviceId>& wanted) {
    waiting_.assign(wanted.begin(), wanted.end());
    while (!waiting_.empty()) {
      const DeviceId id = waiting_.back();
      waiting_.pop_back();
      if (!done_.insert(id).second) continue;
      if (const auto known = known_.find(id); known != known_.end() && known->second->vf_index >= 0)
        reader_.expect_index(id, known->second->vf_index);
      auto device = read_one(id);
      if (!device) unread_.push_back({id.text(), device.error().text});
      add_dependent(id, device ? device->function : std::nullopt);
      if (device && device->function) functions_.push_back(*std::move(device->function));
      if (device && device->gpu) gpus_.push_back(*std::move(device->gpu));
    }
  }

  std::vector<DeviceFacts>& functions() { return functions_; }

  // What was not read again is as it was.
  Inventory merge(Inventory last) && {
    std::erase_if(last.functions, [&](const DeviceFacts& one) { return done_.contains(one.id); });
    std::erase_if(last.gpus, [&](const Gpu& one) { return done_.contains(DeviceId(one.address)); });
    std::move(functions_.begin(), functions_.end(), std::back_inserter(last.functions));
    std::move(gpus_.begin(), gpus_.end(), std::back_inserter(last.gpus));
    last.unread = std::move(unread_);
    std::sort(last.unread.begin(), last.unread.end(),
              [](const UnreadDevice& a, const UnreadDevice& b) { return a.id < b.id; });
    sort_by_address(last);
    return last;
  }

 private:
  Rereader(const SysRoot& sys, const Inventory& last, FunctionReader reader)
      : sys_(sys), reader_(std::move(reader)) {
    for (const DeviceFacts& one : last.functions) known_.emplace(one.id, &one);
  }

  Result<PciDevice> read_one(const DeviceId& id) {
    if (id.pci()) return read_named(sys_, id.text(), reader_);
    PciDevice out;
    out.function = TRY(reader_.read_sub_function(id));
    return out;
  }

  // A VF's PF has changed as well where VFs are made or removed, and VFs and sub-functions have facts of the
  // PF.
  void add_dependent(const DeviceId& id, const std::optional<DeviceFacts>& now) {
    const auto known = known_.find(id);
    const DeviceFacts* before = known == known_.end() ? nullptr : known->second;
    for (const DeviceFacts* one : {before, now ? &*now : nullptr}) {
      if (one != nullptr && one->pf) waiting_.emplace_back(*one->pf);
    }
    const auto address = id.pci();
    if (!address) return;
    if (before != nullptr && now && has_same_facts(*before, *now)) return;
    for (const auto& [other, facts] : known_) {
      if (facts->pf == address) waiting_.push_back(other);
    }
  }

  // Host use is read afterwards, and nothing that depends on the function has it from there.
  static bool has_same_facts(const DeviceFacts& before, const DeviceFacts& now) {
    DeviceFacts copy = now;
    copy.host_use = before.host_use;
    return copy == before;
  }

  const SysRoot& sys_;
  FunctionReader reader_;
  std::map<DeviceId, const DeviceFacts*> known_;  // of the last inventory
  std::vector<DeviceId> waiting_;
  std::set<DeviceId> done_;
  std::vector<DeviceFacts> functions_;
  std::vector<Gpu> gpus_;
  std::vector<UnreadDevice> unread_;
};

// Those that could not be read, and whose health reporters are not as they were.
void add_unsettled(const Inventory& last, const FailedReporters& failed, std::set<DeviceId>& out) {
  for (const UnreadDevice& device : last.unread) {
    if (auto id = DeviceId::parse(device.id)) out.insert(*std::move(id));
  }
  for (const DeviceFacts& one : last.functions) {
    if (one.pf) continue;
    const auto now = failed.find(one.address.text());
    if (now == failed.end() ? !one.port.failed_reporters.empty() : now->second != one.port.failed_reporters)
      out.insert(one.id);
  }
}

// Of functions that were read again.
Result<std::vector<Warning>> add_host_use(const SysRoot& sys, Kernel* host,
                                          std::vector<DeviceFacts>& functions) {
  std::vector<HostLinks> links(functions.size());
  std::set<std::string> names;
  for (size_t i = 0; i < functions.size(); ++i) {
    TRY(add_host_links(sys, functions[i].netdevs, links[i]));
    for (const auto& [name, link] : links[i]) names.insert(name);
  }
  HostNetwork network = TRY(read_host_network(sys, host, &names));
  for (size_t i = 0; i < functions.size(); ++i)
    functions[i].host_use = find_host_use(functions[i].netdevs, std::move(links[i]), network);
  return std::move(network.warnings);
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
  TRY(check_any_read(out));
  sort_by_address(out);
  for (DeviceFacts& function : out.functions)
    function.host_use = TRY(read_host_use(sys, function.netdevs, network));
  warn_of_unknown_nvlink(out);
  out.lags = TRY(read_lags(sys));
  TRY(read_node(sys, host, out));
  return out;
}

Result<Inventory> rescan(const SysRoot& sys, Kernel* host, Inventory last, const Changed& changed) {
  auto devices = find_devices(changed, last);
  if (!devices) return scan(sys, host);
  const auto asked = TRY(read_failed_reporters(sys));
  const FailedReporters failed = asked.value_or(FailedReporters());
  add_unsettled(last, failed, *devices);
  Rereader again = TRY(Rereader::open(sys, failed, last));
  again.read(*devices);
  auto warnings = TRY(add_host_use(sys, host, again.functions()));
  Inventory out = std::move(again).merge(std::move(last));
  TRY(check_any_read(out));
  out.warnings = std::move(warnings);
  out.asked_devlink = asked.has_value();
  warn_of_unknown_nvlink(out);
  TRY(read_node(sys, host, out));
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
