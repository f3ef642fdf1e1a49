#include "cni/node/mac_owners.h"

#include "cni/node/boot.h"

namespace vfrail::cni {

Result<std::vector<std::string>> attachments_with(const MacAddress& mac, const AttachmentName& us,
                                                  const std::string& device_key, const World& world) {
  std::vector<std::string> out;
  for (const auto& [key, name] : TRY(world.store.owners())) {
    if (key == device_key || name == us) continue;
    const auto record = world.store.load(name);
    // A damaged one is for its own verbs and a sweep.
    if (!record || !*record || (*record)->pod_mac != mac) continue;
    if (TRY(from_this_boot(**record, world))) out.push_back(attachment_text(**record));
  }
  return out;
}

Result<std::vector<std::string>> host_links_with(const MacAddress& mac, int own_index, const World& world) {
  std::vector<std::string> out;
  for (const Link& link : TRY(world.host.links())) {
    if (link.mac == mac && link.index != own_index) out.push_back(link.name + " of the host");
  }
  return out;
}

}  // namespace vfrail::cni
