#include "cni/steps/announce_step.h"

#include <linux/if.h>

namespace vfrail::cni {

void announce(Kernel& pod, const Link& link, const Assignment& assignment, Log& log) {
  if ((link.flags & IFF_NOARP) != 0) return;
  for (const AssignedIp& ip : assignment.ips) {
    if (ip.address.v6()) continue;
    // No wait for a carrier: the kernel asks three times within two seconds.
    const auto sent = pod.announce(link.index, ip.address);
    if (!sent) {
      log.warning("an address is not announced", {{"name", link.name},
                                                  {"address", ip.address.text()},
                                                  {"reason", sent.error().text},
                                                  {"id", sent.error().id_text()}});
    }
  }
}

}  // namespace vfrail::cni
