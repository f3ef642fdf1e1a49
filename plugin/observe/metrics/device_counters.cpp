#include "plugin/observe/metrics/device_counters.h"

#include "common/node/device_folder.h"
#include "common/node/netdevs.h"
#include "common/node/rdma_facts.h"
#include "plugin/observe/metrics/device_rows.h"
#include "plugin/observe/metrics/host_traffic.h"

#include <algorithm>
#include <chrono>
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
  explicit Reader(const CounterSources& sources)
      : sources_(sources),
        memory_(sources.memory != nullptr ? *sources.memory : own_memory_),
        host_(sources.sys, sources.kernel),
        room_(sources.most_series) {
    memory_.begin(std::chrono::steady_clock::now());
  }

  DeviceCounters read(const DeviceFacts& function) {
    DeviceCounters out;
    const DeviceFolder folder(sources_.sys, function.id);
    CounterMemory::Known& known = memory_.of(function);
    read_traffic(function, folder, known, out);
    room_ -= std::min(room_, out.series());
    if (function.rdma_capable) read_rdma(function, folder, known, out);
    return out;
  }

 private:
  using Known = CounterMemory::Known;

  void read_traffic(const DeviceFacts& function, const DeviceFolder& folder, Known& known,
                    DeviceCounters& out) {
    const PfAnswer* pf = is_pci_vf(function) ? &ask_pf(function) : nullptr;
    if (pf != nullptr && !pf->silent) {
      if (const auto reported = pf->vfs.find(static_cast<uint32_t>(function.vf_index));
          reported != pf->vfs.end()) {
        out.traffic = reported->second;
        return;
      }
    }
    out.traffic = read_own_traffic(function, folder, known);
    if (out.traffic) return;
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

  // Of its netdev in the host. What is found nowhere else is read from its own files.
  std::optional<TrafficCounters> read_own_traffic(const DeviceFacts& function, const DeviceFolder& folder,
                                                  Known& known) {
    if (!function.netdevs.empty()) {
      if (auto found = host_.find(function.id.text(), function.netdevs.front().name)) return found;
    }
    if (known.no_netdev) return std::nullopt;
    const auto netdevs = list_netdevs(folder, function.driver);
    if (!netdevs || netdevs->empty()) {
      known.no_netdev = netdevs.ok();
      return std::nullopt;
    }
    return read_statistics(folder, netdevs->front() + "/statistics");
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

  void read_rdma(const DeviceFacts& function, const DeviceFolder& folder, Known& known, DeviceCounters& out) {
    incomplete_ = false;
    const bool remembered = known.rdma.has_value();
    if (!remembered) list_counters(folder, known);
    // Nothing of what is remembered is there: the device has gone since.
    if (!read_listed(function, known, out) && remembered) {
      out.rdma.clear();
      list_counters(folder, known);
      read_listed(function, known, out);
    }
    const bool in_host = known.rdma && !known.rdma->empty();
    if (incomplete_) known = {};
    if (!in_host) read_rdma_in_pods(function, folder, known, out);
  }

  void list_counters(const DeviceFolder& folder, Known& known) {
    known.rdma.emplace();
    const auto names = folder.list(kRdmaDevices);
    incomplete_ = !names;
    if (!names) return;
    for (const std::string& name : *names) {
      RdmaCounterFiles listed = list_rdma_counters(folder, std::string(kRdmaDevices) + "/" + name + "/");
      incomplete_ = incomplete_ || !listed.whole;
      for (RdmaCounterFiles::Port& port : listed.ports)
        known.rdma->push_back({name, port.port, memory_.share(std::move(port.files))});
      if (listed.ports.empty()) known.rdma->push_back({name, 0, memory_.share({})});
    }
  }

  // False: there are files, and none has a value.
  bool read_listed(const DeviceFacts& function, Known& known, DeviceCounters& out) {
    size_t files = 0;
    for (const CounterMemory::RdmaPort& port : *known.rdma) files += port.files->size();
    if (files > room_) {
      room_ = 0;  // for the others, too: their order is that of the answer
      out.unread_series = files;
      return true;
    }
    size_t values = 0;
    for (CounterMemory::RdmaPort& port : *known.rdma) {
      if (port.port == 0) continue;
      values += read_port(function, port, out.rdma.emplace_back());
    }
    room_ -= values;
    return values > 0 || files == 0;
  }

  size_t read_port(const DeviceFacts& function, CounterMemory::RdmaPort& port, RdmaPortCounters& out) {
    out.device = port.device;
    out.port = port.port;
    if (port.files->empty()) return 0;
    const std::string below = rdma_port_below(std::string(kRdmaDevices) + "/" + port.device + "/", port.port);
    const DeviceFolder folder(sources_.sys.at(device_folder(function.id) + "/" + below));
    Names with_number;
    for (const std::string& file : *port.files) {
      auto counter = read_rdma_counter(folder, "", file);
      if (!counter || *counter) with_number.push_back(file);
      if (counter && *counter) out.counters.push_back(**std::move(counter));
    }
    const size_t values = out.counters.size();
    if (values > 0 && with_number.size() < port.files->size()) port.files = memory_.share(with_number);
    return values;
  }

  void read_rdma_in_pods(const DeviceFacts& function, const DeviceFolder& folder, Known& known,
                         DeviceCounters& out) {
    if (!known.verbs_nodes) {
      const auto listed = folder.list(kVerbsNodes);
      known.verbs_nodes = listed ? std::optional(*listed) : std::nullopt;
    }
    const Names verbs = known.verbs_nodes.value_or(function.verbs_nodes);
    if (!pods().rdma.empty()) {
      for (const std::string& name : read_rdma_names_anywhere(folder, verbs).value_or(Names())) {
        const auto found = pods().rdma.find(name);
        if (found != pods().rdma.end())
          out.rdma.insert(out.rdma.end(), found->second.begin(), found->second.end());
      }
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
  CounterMemory own_memory_;
  CounterMemory& memory_;
  HostTraffic host_;
  size_t room_;
  bool incomplete_ = false;  // what was listed last
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

size_t DeviceCounters::series() const {
  size_t out = (traffic ? kTrafficSeries : 0) + unread_series;
  for (const RdmaPortCounters& port : rdma) out += port.counters.size();
  return out;
}

CountersOfDevices read_device_counters(const CounterSources& sources,
                                       const std::vector<PublishedPool>& pools) {
  CountersOfDevices out;
  Reader reader(sources);
  for (const DeviceRow& row : list_device_rows(pools, sources.in_use))
    out.emplace(row.device->id(), reader.read(row.device->facts));
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
