#include "plugin/devlink.h"

#include <algorithm>
#include <cstring>

#include <linux/devlink.h>
#include <linux/genetlink.h>
#include <linux/netlink.h>

namespace vfrail {

namespace {

using Bytes = std::span<const std::byte>;

constexpr size_t align(size_t size) { return (size + 3) & ~size_t{3}; }

// Calls `visit(type, payload)` for each attribute that fits.
template <class Visit>
void each_attribute(Bytes attributes, Visit visit) {
  while (attributes.size() >= sizeof(nlattr)) {
    nlattr header{};
    std::memcpy(&header, attributes.data(), sizeof header);
    if (header.nla_len < sizeof header || header.nla_len > attributes.size()) return;
    visit(static_cast<uint16_t>(header.nla_type & NLA_TYPE_MASK),
          attributes.subspan(sizeof header, header.nla_len - sizeof header));
    attributes = attributes.subspan(std::min(align(header.nla_len), attributes.size()));
  }
}

// The first one: a parameter has a value for each configuration mode, and the peers look at the first.
Bytes find(Bytes attributes, uint16_t wanted) {
  std::optional<Bytes> found;
  each_attribute(attributes, [&](uint16_t type, Bytes payload) {
    if (type == wanted && !found) found = payload;
  });
  return found.value_or(Bytes());
}

std::string text(Bytes payload) {
  const auto* data = reinterpret_cast<const char*>(payload.data());
  return data == nullptr ? std::string() : std::string(data, strnlen(data, payload.size()));
}

// What follows the netlink and the generic netlink header.
Bytes attributes_of(Bytes message) {
  constexpr size_t kHeaders = NLMSG_HDRLEN + GENL_HDRLEN;
  return message.size() < kHeaders ? Bytes() : message.subspan(kHeaders);
}

}  // namespace

std::optional<uint16_t> parse_family_id(Bytes message) {
  const Bytes payload = find(attributes_of(message), CTRL_ATTR_FAMILY_ID);
  if (payload.size() != sizeof(uint16_t)) return std::nullopt;
  uint16_t id = 0;
  std::memcpy(&id, payload.data(), sizeof id);
  return id;
}

std::optional<bool> parse_enable_rdma(Bytes message) {
  const Bytes parameter = find(attributes_of(message), DEVLINK_ATTR_PARAM);
  const Bytes value = find(find(parameter, DEVLINK_ATTR_PARAM_VALUES_LIST), DEVLINK_ATTR_PARAM_VALUE);
  if (value.empty()) return std::nullopt;
  // A boolean parameter is a flag: present for true (devlink_nl_param_value_fill_one() in the kernel).
  bool enabled = false;
  each_attribute(value,
                 [&](uint16_t type, Bytes) { enabled = enabled || type == DEVLINK_ATTR_PARAM_VALUE_DATA; });
  return enabled;
}

std::optional<std::string> parse_version(Bytes message, std::string_view name) {
  std::optional<std::string> running;
  std::optional<std::string> other;
  each_attribute(attributes_of(message), [&](uint16_t type, Bytes version) {
    const bool runs = type == DEVLINK_ATTR_INFO_VERSION_RUNNING;
    if (!runs && type != DEVLINK_ATTR_INFO_VERSION_FIXED) return;
    if (text(find(version, DEVLINK_ATTR_INFO_VERSION_NAME)) != name) return;
    (runs ? running : other) = text(find(version, DEVLINK_ATTR_INFO_VERSION_VALUE));
  });
  return running ? running : other;
}

std::optional<Devlink> Devlink::open() {
  auto socket = NlSocket::open(NETLINK_GENERIC);
  if (!socket) return std::nullopt;
  NlMessage message(GENL_ID_CTRL, 0);
  message.put_header(genlmsghdr{CTRL_CMD_GETFAMILY, 1, 0});
  message.put_text(CTRL_ATTR_FAMILY_NAME, DEVLINK_GENL_NAME);
  std::optional<uint16_t> family;
  const auto asked = socket->query(message, [&](Bytes answer) {
    family = parse_family_id(answer);
    return Result<>();
  });
  if (!asked || !family) return std::nullopt;
  return Devlink(*std::move(socket), *family);
}

NlMessage Devlink::ask(uint8_t command, const DevlinkHandle& function) const {
  NlMessage message(family_, 0);
  message.put_header(genlmsghdr{command, DEVLINK_GENL_VERSION, 0});
  message.put_text(DEVLINK_ATTR_BUS_NAME, function.bus);
  message.put_text(DEVLINK_ATTR_DEV_NAME, function.device);
  return message;
}

std::optional<bool> Devlink::enable_rdma(const DevlinkHandle& function) {
  NlMessage message = ask(DEVLINK_CMD_PARAM_GET, function);
  message.put_text(DEVLINK_ATTR_PARAM_NAME, "enable_rdma");
  std::optional<bool> enabled;
  const auto asked = socket_.query(message, [&](Bytes answer) {
    enabled = parse_enable_rdma(answer);
    return Result<>();
  });
  return asked ? enabled : std::nullopt;
}

std::optional<std::string> Devlink::version(const DevlinkHandle& function, std::string_view name) {
  std::optional<std::string> found;
  const auto asked = socket_.query(ask(DEVLINK_CMD_INFO_GET, function), [&](Bytes answer) {
    found = parse_version(answer, name);
    return Result<>();
  });
  return asked ? found : std::nullopt;
}

}  // namespace vfrail
