#include "common/node/rdma_counters.h"

namespace vfrail {

namespace {

// Ports and counters of one RDMA device that are read; mlx5 has 1 and 80.
constexpr uint32_t kMaxPorts = 4;
constexpr size_t kMaxCountersOfPort = 128;

}  // namespace

std::vector<RdmaPortCounters> read_rdma_counters(const DeviceFolder& folder, const std::string& below,
                                                 const std::string& device) {
  using Names = std::vector<std::string>;
  std::vector<RdmaPortCounters> out;
  for (uint32_t port = 1; port <= kMaxPorts; ++port) {
    const std::string base = below + "ports/" + std::to_string(port);
    if (!folder.exists(base).value_or(false)) break;
    RdmaPortCounters one{.device = device, .port = port, .counters = {}};
    for (const char* kind : {"/counters/", "/hw_counters/"}) {
      for (const std::string& name : folder.list(base + kind).value_or(Names())) {
        if (name == "lifespan" || one.counters.size() == kMaxCountersOfPort) continue;
        // Some have no number ("N/A (no PMA)" on VFs).
        const auto value = folder.number(base + kind + name).or_none();
        if (value && *value >= 0) one.counters.push_back({name, static_cast<uint64_t>(*value)});
      }
    }
    out.push_back(std::move(one));
  }
  return out;
}

}  // namespace vfrail
