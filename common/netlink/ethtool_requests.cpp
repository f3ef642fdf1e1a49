// NetlinkKernel's part over NETLINK_GENERIC, and the one question that has no message there.
#include "common/netlink/ethtool_messages.h"
#include "common/netlink/netlink_kernel.h"

#include <cerrno>
#include <cstring>
#include <net/if.h>
#include <string>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <linux/ethtool.h>
#include <linux/netlink.h>
#include <linux/sockios.h>

namespace vfrail {

namespace {

// ENOTSUPP is not an errno of user space, but some drivers answer it.
bool is_not_supported(const Error& error) { return error.sys == EOPNOTSUPP || error.sys == 524; }

// "set rings of link 7".
std::string request_text(const char* request, EthtoolGroup group, int link) {
  return std::string(request) + " " + group_name(group) + " of link " + std::to_string(link);
}

// Of what rtnetlink shows neither kind nor device: hardware, or the kernel's own (lo). IPoIB has a kind, and
// its own interface, other than those of its partitions, has no lower one.
bool can_be_hardware(const Link& link) {
  return link.parent_device.empty() && !link.loopback() &&
         (link.kind.empty() || (link.ipoib() && link.lower == 0));
}

}  // namespace

// Before Linux 5.14 rtnetlink does not report the device below an interface (IFLA_PARENT_DEV_NAME); the
// driver's answer to ETHTOOL_GDRVINFO has it on all kernels, without privilege, in any namespace. An
// interface that has ended or was renamed meanwhile, or whose driver does not say, keeps what is known.
Result<> NetlinkKernel::name_parent(Link& link) {
  if (!can_be_hardware(link)) return {};
  ethtool_drvinfo answer{};
  answer.cmd = ETHTOOL_GDRVINFO;
  ifreq request{};
  link.name.text().copy(request.ifr_name, IFNAMSIZ - 1);
  request.ifr_data = reinterpret_cast<char*>(&answer);
  if (ioctl(TRY(ioctls()), SIOCETHTOOL, &request) != 0) return {};
  const size_t length = strnlen(answer.bus_info, sizeof(answer.bus_info));
  const auto address = PciAddress::parse(std::string_view(answer.bus_info, length));
  if (!address) return {};
  link.parent_bus = "pci";
  link.parent_device = address->text();
  return {};
}

Result<NlSocket*> NetlinkKernel::generic() {
  if (!generic_) generic_ = TRY(open_socket(NETLINK_GENERIC), "ethtool");
  return &*generic_;
}

Result<std::optional<uint16_t>> NetlinkKernel::ethtool_family() {
  NlSocket* socket = TRY(generic());
  std::optional<uint16_t> out;
  auto result = socket->query(ethtool_family_message(), [&](NlBytes reply) -> Result<> {
    out = TRY(parse_ethtool_family(reply));
    return {};
  });
  if (!result && result.error().sys == ENOENT) return std::optional<uint16_t>();
  TRY(std::move(result), "ask for the kernel's ethtool interface");
  return out;
}

Result<std::optional<EthtoolSettings>> NetlinkKernel::ethtool(uint16_t family, int link, EthtoolGroup group) {
  NlSocket* socket = TRY(generic());
  std::optional<EthtoolSettings> out;
  auto result = socket->query(ethtool_get_message(family, link, group), [&](NlBytes reply) -> Result<> {
    out = TRY(parse_ethtool(reply, group));
    return {};
  });
  if (!result && is_not_supported(result.error())) return std::optional<EthtoolSettings>();
  TRY(std::move(result), request_text("read", group, link));
  return out;
}

Result<> NetlinkKernel::change_ethtool(uint16_t family, int link, EthtoolGroup group,
                                       const EthtoolSettings& change) {
  NlSocket* socket = TRY(generic());
  TRY(socket->request(ethtool_set_message(family, link, group, change)), request_text("set", group, link));
  return {};
}

}  // namespace vfrail
