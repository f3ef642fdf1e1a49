#include "cni/in_pod/facts/pod_network.h"

#include <algorithm>
#include <charconv>

namespace vfrail::pod {

namespace {

constexpr uint32_t kMainTable = 254;

Result<int64_t> read_conf(Kernel& kernel, const std::string& link, const std::string& key) {
  const auto text = TRY(kernel.read_sysctl("ipv4/conf/" + link + "/" + key));
  int64_t out = 0;
  if (text) std::from_chars(text->data(), text->data() + text->size(), out);
  return out;
}

Result<PodLink> read_pod_link(Kernel& kernel, const Link& link) {
  PodLink out{link.index, link.name, link.mtu, link.up(), {}, {}};
  for (const LinkAddress& one : TRY(kernel.addresses(link.index))) out.addresses.push_back(one.address);
  for (const char* key : {"rp_filter", "arp_ignore", "arp_announce"}) {
    const int64_t own = TRY(read_conf(kernel, link.name, key));
    out.ipv4_conf[key] = std::max(own, TRY(read_conf(kernel, "all", key)));
  }
  return out;
}

}  // namespace

const PodLink* PodNetwork::find(const std::string& name) const {
  const auto at =
      std::find_if(links.begin(), links.end(), [&](const PodLink& link) { return link.name == name; });
  return at == links.end() ? nullptr : &*at;
}

const PodLink* PodNetwork::find(int index) const {
  const auto at =
      std::find_if(links.begin(), links.end(), [&](const PodLink& link) { return link.index == index; });
  return at == links.end() ? nullptr : &*at;
}

Result<PodNetwork> read_pod_network(Kernel& kernel) {
  PodNetwork out;
  for (const Link& link : TRY(kernel.links(), "list interfaces"))
    out.links.push_back(TRY(read_pod_link(kernel, link), "read " + link.name));
  std::sort(out.links.begin(), out.links.end(),
            [](const PodLink& a, const PodLink& b) { return a.index < b.index; });
  for (const Route& route : TRY(kernel.routes(0), "list routes")) {
    if (route.table == kMainTable) out.routes.push_back(route);
  }
  out.rules = TRY(kernel.rules(), "list rules");
  return out;
}

bool share_subnet(const IpAddress& one, const IpAddress& other) {
  if (one.bytes.size() != other.bytes.size() || one.prefix != other.prefix) return false;
  for (size_t bit = 0; bit < one.prefix; ++bit) {
    const auto mask = static_cast<uint8_t>(0x80U >> (bit % 8));
    if ((one.bytes[bit / 8] & mask) != (other.bytes[bit / 8] & mask)) return false;
  }
  return true;
}

}  // namespace vfrail::pod
