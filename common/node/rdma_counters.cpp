#include "common/node/rdma_counters.h"

namespace vfrail {

namespace {

// Ports and counters of one RDMA device that are read; mlx5 has 1 and 80.
constexpr uint32_t kMaxPorts = 4;
constexpr size_t kMaxCountersOfPort = 128;

}  // namespace

RdmaCounterFiles list_rdma_counters(const DeviceFolder& folder, const std::string& below) {
  RdmaCounterFiles out;
  for (uint32_t port = 1; port <= kMaxPorts; ++port) {
    const std::string base = rdma_port_below(below, port);
    const auto there = folder.exists(base);
    out.whole = out.whole && there.ok();
    if (!there.ok() || !*there) break;
    RdmaCounterFiles::Port one{.port = port, .files = {}};
    for (const char* kind : {"counters/", "hw_counters/"}) {
      const auto names = folder.list(base + kind);
      out.whole = out.whole && names.ok();
      if (!names) continue;
      for (const std::string& name : *names) {
        if (name != "lifespan" && one.files.size() < kMaxCountersOfPort) one.files.push_back(kind + name);
      }
    }
    out.ports.push_back(std::move(one));
  }
  return out;
}

std::string rdma_port_below(const std::string& below, uint32_t port) {
  return below + "ports/" + std::to_string(port) + "/";
}

Result<std::optional<NamedCounter>> read_rdma_counter(const DeviceFolder& folder, const std::string& below,
                                                      const std::string& file) {
  const auto value = TRY(folder.number(below + file));
  // Some have no number ("N/A (no PMA)" on VFs).
  if (!value || *value < 0) return std::optional<NamedCounter>();
  return std::optional(NamedCounter{file.substr(file.find('/') + 1), static_cast<uint64_t>(*value)});
}

std::vector<RdmaPortCounters> read_rdma_counters(const DeviceFolder& folder, const std::string& below,
                                                 const std::string& device) {
  std::vector<RdmaPortCounters> out;
  for (const RdmaCounterFiles::Port& port : list_rdma_counters(folder, below).ports) {
    RdmaPortCounters& one = out.emplace_back();
    one.device = device;
    one.port = port.port;
    for (const std::string& file : port.files) {
      auto counter = read_rdma_counter(folder, rdma_port_below(below, port.port), file).or_none();
      if (counter) one.counters.push_back(*std::move(counter));
    }
  }
  return out;
}

}  // namespace vfrail
