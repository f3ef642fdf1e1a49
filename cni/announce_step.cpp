// The announcement of the pod's IPv4 addresses: neighbours that knew them under another MAC learn the new one
// at once. It never fails an ADD, and never waits for a carrier that is not coming.
#include "cni/steps.h"

#include <algorithm>
#include <chrono>

#include <linux/if.h>
#include <linux/if_arp.h>

namespace vfrail {

namespace {

// What sriov-cni waits, too; a VF has its carrier some ms after it came up, if its port has one.
constexpr std::chrono::milliseconds kCarrierTimeout{200};

std::vector<IpAddress> ipv4_addresses(const Assignment& assignment) {
  std::vector<IpAddress> out;
  for (const AssignedIp& ip : assignment.ips) {
    if (!ip.address.v6()) out.push_back(ip.address);
  }
  return out;
}

bool has_neighbours(const Link& link) { return link.type == ARPHRD_ETHER && (link.flags & IFF_NOARP) == 0; }

// A VF's port is that of its PF; in switchdev mode the PF's folder has the representors, too.
bool port_is_down(const Record& record, const SysRoot& sys) {
  if (!record.device || !record.device->pci()) return false;
  const std::string folder = "sys/bus/pci/devices/" + record.device->text() + "/physfn/net";
  const auto names = sys.list(folder);
  return !names.empty() && std::all_of(names.begin(), names.end(), [&](const std::string& name) {
    return sys.text_or_none(folder + "/" + name + "/operstate") == "down";
  });
}

// Hardware gets its carrier after it came up. A virtual link has that of its other end or lower link, from
// the first moment; who brings that up is not known.
bool carrier_can_come(const Link& link, const Record& record, const SysRoot& sys) {
  return link.up() && link.kind.empty() && !port_is_down(record, sys);
}

Result<bool> wait_for_carrier(Kernel& pod, int index) {
  bool carrier = false;
  const auto arrived =
      pod.wait_for_link(std::chrono::steady_clock::now() + kCarrierTimeout, [&]() -> Result<bool> {
        const auto now = TRY(pod.find_link(index), "");
        carrier = now && now->carrier();
        return carrier || !now;
      });
  if (!arrived && arrived.error().code != Errc::timeout) return arrived.error();
  return carrier;
}

}  // namespace

void announce(Kernel& pod, const Link& link, const Assignment& assignment, const Record& record,
              World& world) {
  const auto addresses = ipv4_addresses(assignment);
  if (addresses.empty() || !has_neighbours(link)) return;
  Result<bool> carrier = link.carrier();
  if (!*carrier && carrier_can_come(link, record, world.sys)) carrier = wait_for_carrier(pod, link.index);
  if (carrier && !*carrier) {
    world.log.info("the addresses are not announced, the interface has no carrier", {{"name", link.name}});
    return;
  }
  const auto sent = carrier ? pod.announce(link, addresses) : Result<>(carrier.error());
  if (!sent) {
    world.log.warning("the addresses are not announced",
                      {{"name", link.name}, {"reason", sent.error().text}});
  }
}

}  // namespace vfrail
