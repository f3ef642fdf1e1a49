// NetlinkKernel's part over NETLINK_GENERIC.
#include "common/netlink/ethtool_messages.h"
#include "common/netlink/netlink_kernel.h"

#include <cerrno>
#include <string>

#include <linux/netlink.h>

namespace vfrail {

namespace {

// ENOTSUPP is not an errno of user space, but some drivers answer it.
bool is_not_supported(const Error& error) { return error.sys == EOPNOTSUPP || error.sys == 524; }

// "set rings of link 7".
std::string request_text(const char* request, EthtoolGroup group, int link) {
  return std::string(request) + " " + group_name(group) + " of link " + std::to_string(link);
}

}  // namespace

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
