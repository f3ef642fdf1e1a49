#include "plugin/dra/port_details.h"

#include "common/node/rdma_facts.h"
#include "common/text.h"
#include "plugin/device/prefer/preferred.h"
#include "plugin/dra/data_direct.h"

#include <algorithm>
#include <set>

namespace vfrail::plugin {

namespace {

// The API's limit for a string of an attribute.
constexpr size_t kMaxValue = 64;
// Longer parts of a version stand for something else.
constexpr size_t kMaxDigits = 9;

std::string first_line(const Result<std::optional<std::string>>& text) {
  if (!text || !*text) return {};
  return **text;
}

// The kernel prints the firmware from memory, without asking the card (fw_ver_show() in
// drivers/infiniband/core/sysfs.c), and the rate of a link that is down as that of the slowest.
PortDetails read_details(const SysRoot& sys, const PciAddress& address) {
  PortDetails out;
  const std::string folder = "sys/bus/pci/devices/" + address.text() + "/infiniband";
  const auto names = sys.list(folder);
  if (!names || !*names || (*names)->empty()) return out;
  const std::string device = folder + "/" + *(*names)->begin();
  out.firmware = first_line(sys.text(device + "/fw_ver"));
  if (out.firmware.size() > kMaxValue || !is_utf8(out.firmware)) out.firmware.clear();
  const std::string port = device + "/ports/1";
  if (first_line(sys.text(port + "/state")).find("ACTIVE") == std::string::npos) return out;
  if (const auto mbps = rate_mbps(first_line(sys.text(port + "/rate")))) out.gbps = *mbps / 1000;
  return out;
}

// It does not change, and reading it asks the card.
void add_data_direct(const SysRoot& sys, PortsByFunction& ports) {
  std::set<PciAddress> unknown;
  for (const auto& [address, port] : ports) {
    if (!port.data_direct_root) unknown.insert(address);
  }
  if (unknown.empty()) return;
  for (auto& [address, root] : find_data_direct_roots(sys, unknown))
    ports[address].data_direct_root = std::move(root);
}

}  // namespace

void read_port_details(const SysRoot& sys, const std::vector<PublishedPool>& pools, PortsByFunction& ports) {
  std::set<PciAddress> wanted;
  for (const PublishedPool& pool : pools) {
    for (const PoolDevice& device : pool->devices) wanted.insert(port_of(device.facts));
  }
  std::erase_if(ports, [&](const auto& one) { return !wanted.contains(one.first); });
  for (const PciAddress& address : wanted) {
    PortDetails now = read_details(sys, address);
    PortDetails& known = ports[address];
    if (!now.firmware.empty()) known.firmware = std::move(now.firmware);
    if (now.gbps != 0) known.gbps = now.gbps;
  }
  add_data_direct(sys, ports);
}

std::string semantic_version(const std::string& firmware) {
  std::string out;
  size_t parts = 0;
  for (const std::string& part : split(firmware, ".")) {
    const bool number = !part.empty() && part.size() <= kMaxDigits &&
                        part.find_first_not_of("0123456789") == std::string::npos;
    if (!number || ++parts > 3) return {};
    const size_t zeros = std::min(part.find_first_not_of('0'), part.size() - 1);
    out += (out.empty() ? "" : ".") + part.substr(zeros);
  }
  return parts == 3 ? out : std::string();
}

}  // namespace vfrail::plugin
