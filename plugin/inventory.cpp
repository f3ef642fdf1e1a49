#include "plugin/inventory.h"

#include "plugin/function_folder.h"
#include "plugin/function_reader.h"
#include "plugin/gpu_facts.h"
#include "plugin/host_network.h"
#include "plugin/host_use.h"
#include "plugin/lag_facts.h"

#include <algorithm>
#include <functional>
#include <future>
#include <thread>
#include <tuple>

namespace vfrail {

namespace {

constexpr const char* kPciDevices = "sys/bus/pci/devices";
constexpr const char* kAuxiliaryDevices = "sys/bus/auxiliary/devices";
constexpr size_t kMostThreads = 4;
constexpr size_t kLeastOfThread = 64;  // functions, for which a thread is worth its start

std::optional<RdmaNetnsMode> read_rdma_netns_mode(const SysRoot& sys, Kernel* host) {
  if (host != nullptr) {
    const auto asked = host->rdma_netns_mode();
    if (asked && *asked) return **asked;
  }
  // The parameter follows `rdma system set netns` (rdma_compatdev_set() sets the same variable).
  const auto shared = sys.text_or_none("sys/module/ib_core/parameters/netns_mode");
  if (!shared) return std::nullopt;
  return *shared == "Y" || *shared == "1" ? RdmaNetnsMode::shared : RdmaNetnsMode::exclusive;
}

using ReadFunction = Result<std::optional<Function>>;

// A part of the list, by one thread.
std::vector<ReadFunction> read_part(const SysRoot& sys, const FailedReporters& failed,
                                    const std::vector<std::string>& names, size_t from, size_t to) {
  FunctionReader reader(sys, failed);
  std::vector<ReadFunction> out;
  for (size_t i = from; i < to; ++i) {
    const auto address = PciAddress::parse(names[i]);
    out.push_back(address ? reader.read(*address) : std::optional<Function>());
  }
  return out;
}

// What the kernel tells about a function are some twenty files, and a node can have a thousand functions:
// several threads ask. Neighbours stay together, because they have the PF in common.
std::vector<std::future<std::vector<ReadFunction>>> read_in_parts(const SysRoot& sys,
                                                                  const FailedReporters& failed,
                                                                  const std::vector<std::string>& names) {
  const size_t threads = std::clamp<size_t>(std::thread::hardware_concurrency(), 1, kMostThreads);
  const size_t part = std::max(kLeastOfThread, (names.size() + threads - 1) / threads);
  std::vector<std::future<std::vector<ReadFunction>>> out;
  for (size_t from = 0; from < names.size(); from += part) {
    // The last part is left to who asks; so is any for which there is no thread to be had.
    const auto how =
        from + part < names.size() ? std::launch::async | std::launch::deferred : std::launch::deferred;
    out.push_back(std::async(how, read_part, std::cref(sys), std::cref(failed), std::cref(names), from,
                             std::min(from + part, names.size())));
  }
  return out;
}

// Adds what was read; a failure is a warning, the node has other devices.
void add(const std::string& name, Result<std::optional<Function>> read, Inventory& out) {
  if (!read)
    out.warnings.push_back(name + " is left out, it cannot be read: " + read.error().text);
  else if (*read)
    out.functions.push_back(**std::move(read));
}

}  // namespace

DeviceId Function::id() const {
  if (aux_name.empty()) return DeviceId(address);
  return DeviceId::parse(aux_name).value_or(DeviceId(address));
}

bool Function::away() const {
  // With these drivers there is nothing to see in any namespace.
  const bool for_userspace = driver.find("vfio") != std::string::npos ||
                             driver.find("uio") != std::string::npos || driver == "pci-stub" ||
                             vdpa.has_value();
  return !driver.empty() && !for_userspace && netdevs.empty() && rdma.empty();
}

Result<Inventory> scan(const SysRoot& sys, Kernel* host) {
  if (!sys.exists(kPciDevices)) {
    return Error{Errc::not_found, 0,
                 sys.path(kPciDevices) + " is not there: is sysfs mounted below this root?"};
  }
  Inventory out;
  HostNetwork network = read_host_network(sys, host);
  out.warnings = std::move(network.warnings);
  const FailedReporters failed = read_failed_reporters(sys);
  const std::vector<std::string> names = sys.list(kPciDevices);
  auto parts = read_in_parts(sys, failed, names);
  if (!parts.empty()) parts.back().wait();
  size_t next = 0;
  for (auto& part : parts) {
    for (ReadFunction& read : part.get()) add(names[next++], std::move(read), out);
  }
  FunctionReader reader(sys, failed);
  for (const std::string& name : sys.list(kAuxiliaryDevices)) add(name, reader.read_sub_function(name), out);
  std::sort(out.functions.begin(), out.functions.end(), [](const Function& a, const Function& b) {
    return std::tie(a.address, a.sf_number, a.aux_name) < std::tie(b.address, b.sf_number, b.aux_name);
  });
  for (Function& function : out.functions) function.host_use = find_host_use(sys, function.netdevs, network);
  out.gpus = read_gpus(sys, out.functions);
  out.lags = read_lags(sys);
  out.rdma_netns_mode = read_rdma_netns_mode(sys, host);
  out.rdma_cm = sys.exists("dev/infiniband/rdma_cm");
  out.vhost_net = sys.exists("dev/vhost-net") && sys.exists("dev/net/tun");
  return out;
}

Result<std::optional<Function>> read_function(const SysRoot& sys, const Function& known) {
  // Health is the scan's business.
  const FailedReporters none;
  FunctionReader reader(sys, none);
  return known.kind == FunctionKind::sub_function ? reader.read_sub_function(known.aux_name)
                                                  : reader.read(known.address);
}

}  // namespace vfrail
