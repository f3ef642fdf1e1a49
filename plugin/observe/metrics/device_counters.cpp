#include "plugin/observe/metrics/device_counters.h"

#include "common/node/device_folder.h"
#include "common/node/netdevs.h"
#include "common/node/rdma_facts.h"

#include <algorithm>
#include <utility>

namespace vfrail::plugin {

namespace {

// What one PF reports of its VFs.
struct PfAnswer {
  bool in_reach = false;
  bool silent = true;
  std::map<uint32_t, TrafficCounters> vfs;
};

// A sample that cannot be read is missing in this scrape; nothing is decided by it.
uint64_t counter_in(const DeviceFolder& device, const std::string& path) {
  const auto number = device.number(path).or_none();
  return number && *number > 0 ? static_cast<uint64_t>(*number) : 0;
}

TrafficCounters read_statistics(const DeviceFolder& device, const std::string& folder) {
  return {.rx_packets = counter_in(device, folder + "/rx_packets"),
          .tx_packets = counter_in(device, folder + "/tx_packets"),
          .rx_bytes = counter_in(device, folder + "/rx_bytes"),
          .tx_bytes = counter_in(device, folder + "/tx_bytes"),
          .rx_dropped = counter_in(device, folder + "/rx_dropped"),
          .tx_dropped = counter_in(device, folder + "/tx_dropped")};
}

using Names = std::vector<std::string>;

bool is_pci_vf(const DeviceFacts& function) {
  return function.pf.has_value() && function.kind != FunctionKind::sub_function;
}

class Reader {
 public:
  explicit Reader(const CounterSources& sources) : sources_(sources) {}

  DeviceCounters read(const DeviceFacts& function) {
    DeviceCounters out;
    const DeviceFolder folder(sources_.sys, function.id);
    read_traffic(function, folder, out);
    if (function.rdma_capable) read_rdma(folder, out);
    return out;
  }

 private:
  void read_traffic(const DeviceFacts& function, const DeviceFolder& folder, DeviceCounters& out) {
    const PfAnswer* pf = is_pci_vf(function) ? &ask_pf(function) : nullptr;
    if (pf != nullptr && !pf->silent) {
      if (const auto reported = pf->vfs.find(static_cast<uint32_t>(function.vf_index));
          reported != pf->vfs.end()) {
        out.traffic = reported->second;
        return;
      }
    }
    if (const auto netdevs = list_netdevs(folder, function.driver).value_or(Names()); !netdevs.empty()) {
      out.traffic = read_statistics(folder, netdevs.front() + "/statistics");
      return;
    }
    if (function.driver.is_user_space()) {
      out.no_traffic = pf == nullptr || !pf->in_reach ? NoCounters::none_there : NoCounters::silent_driver;
      return;
    }
    const auto found = pods().netdevs.find(function.id.text());
    if (found != pods().netdevs.end())
      out.traffic = found->second;
    else if (pods().in_reach)
      out.no_traffic = NoCounters::not_found;
    else if (pf == nullptr)
      out.no_traffic = NoCounters::pod_out_of_reach;
    else
      out.no_traffic = pf->in_reach ? NoCounters::silent_driver : NoCounters::pf_out_of_reach;
  }

  const PfAnswer& ask_pf(const DeviceFacts& function) {
    const auto [at, is_new] = pfs_.try_emplace(*function.pf);
    if (!is_new || sources_.kernel == nullptr || function.pf_name.empty()) return at->second;
    // The name comes from the host's sysfs. In another namespace it can be another link's, so the parent must
    // match.
    const auto link = sources_.kernel->find_link(function.pf_name);
    if (!link || !*link || (*link)->parent_device != function.pf->text()) return at->second;
    const auto reported = sources_.kernel->vf_traffic((*link)->index);
    if (!reported) return at->second;
    at->second.in_reach = true;
    for (const VfTraffic& one : *reported) {
      at->second.vfs[one.vf] = one.traffic;
      if (!(one.traffic == TrafficCounters())) at->second.silent = false;
    }
    return at->second;
  }

  void read_rdma(const DeviceFolder& folder, DeviceCounters& out) {
    const Names names = folder.list(kRdmaDevices).value_or(Names());
    for (const std::string& name : names) {
      for (RdmaPortCounters& port :
           read_rdma_counters(folder, std::string(kRdmaDevices) + "/" + name + "/", name))
        out.rdma.push_back(std::move(port));
    }
    if (!names.empty()) return;
    const Names verbs = folder.list(kVerbsNodes).value_or(Names());
    for (const std::string& name : read_rdma_names_anywhere(folder, verbs).value_or(Names())) {
      const auto found = pods().rdma.find(name);
      if (found != pods().rdma.end())
        out.rdma.insert(out.rdma.end(), found->second.begin(), found->second.end());
    }
    if (!out.rdma.empty()) return;
    if (verbs.empty())
      out.no_rdma = NoCounters::none_there;
    else
      out.no_rdma = pods().in_reach ? NoCounters::not_found : NoCounters::pod_out_of_reach;
  }

  const PodNamespaces& pods() {
    if (!pods_) pods_ = sources_.pods ? sources_.pods() : PodNamespaces();
    return *pods_;
  }

  const CounterSources& sources_;
  std::map<PciAddress, PfAnswer> pfs_;
  std::optional<PodNamespaces> pods_;
};

}  // namespace

const char* reason_name(NoCounters reason) {
  switch (reason) {
    case NoCounters::none_there:
      return "none_there";
    case NoCounters::silent_driver:
      return "silent_driver";
    case NoCounters::pf_out_of_reach:
      return "pf_out_of_reach";
    case NoCounters::pod_out_of_reach:
      return "pod_out_of_reach";
    case NoCounters::not_found:
      return "not_found";
  }
  return "";
}

CountersOfDevices read_device_counters(const CounterSources& sources,
                                       const std::vector<PublishedPool>& pools) {
  CountersOfDevices out;
  Reader reader(sources);
  for (const auto& pool : pools) {
    for (const PoolDevice& device : pool->devices) {
      // A shared pool's device can be in several.
      const std::string id = device.id();
      if (!out.contains(id)) out.emplace(id, reader.read(device.facts));
    }
  }
  return out;
}

CountersOfDevices read_device_counters(const CounterSources& sources,
                                       const std::vector<DeviceFacts>& functions) {
  CountersOfDevices out;
  Reader reader(sources);
  for (const DeviceFacts& function : functions) out.emplace(function.id.text(), reader.read(function));
  return out;
}

}  // namespace vfrail::plugin
