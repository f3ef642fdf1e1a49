#include "plugin/device/inventory/devlink.h"

#include "common/netlink/raw_attributes.h"

#include <cerrno>
#include <cstring>

#include <linux/devlink.h>
#include <linux/genetlink.h>
#include <linux/netlink.h>

namespace vfrail::plugin {

namespace {

using attributes::Bytes;
using attributes::find;
using attributes::text;

// What follows the netlink and the generic netlink header.
Bytes attributes_of(Bytes message) {
  constexpr size_t kHeaders = NLMSG_HDRLEN + GENL_HDRLEN;
  return message.size() < kHeaders ? Bytes() : message.subspan(kHeaders);
}

// A kernel that does not know the command, a driver that does not have it and a firmware that does not answer
// are answers. Without memory or a file descriptor there is none.
Result<> refused_is_none(Result<> asked) {
  if (asked) return asked;
  const int error = asked.error().sys;
  const bool no_answer = error == 0 || error == ENOMEM || error == ENOBUFS || error == EINTR;
  return no_answer ? std::move(asked) : Result<>();
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
  attributes::each(value,
                   [&](uint16_t type, Bytes) { enabled = enabled || type == DEVLINK_ATTR_PARAM_VALUE_DATA; });
  return enabled;
}

std::optional<EswitchMode> parse_eswitch_mode(Bytes message) {
  const Bytes value = find(attributes_of(message), DEVLINK_ATTR_ESWITCH_MODE);
  if (value.size() != sizeof(uint16_t)) return std::nullopt;
  uint16_t mode = 0;
  std::memcpy(&mode, value.data(), sizeof mode);
  if (mode == DEVLINK_ESWITCH_MODE_LEGACY) return EswitchMode::legacy;
  if (mode == DEVLINK_ESWITCH_MODE_SWITCHDEV) return EswitchMode::switchdev;
  return std::nullopt;
}

std::optional<std::string> parse_version(Bytes message, std::string_view name) {
  std::optional<std::string> running;
  std::optional<std::string> other;
  attributes::each(attributes_of(message), [&](uint16_t type, Bytes version) {
    const bool runs = type == DEVLINK_ATTR_INFO_VERSION_RUNNING;
    if (!runs && type != DEVLINK_ATTR_INFO_VERSION_FIXED) return;
    if (text(find(version, DEVLINK_ATTR_INFO_VERSION_NAME)) != name) return;
    (runs ? running : other) = text(find(version, DEVLINK_ATTR_INFO_VERSION_VALUE));
  });
  return running ? running : other;
}

// DEVLINK_HEALTH_REPORTER_STATE_ERROR (include/net/devlink.h); healthy is 0.
std::optional<FailedReporter> parse_failed_reporter(Bytes message) {
  const Bytes attributes = attributes_of(message);
  const Bytes reporter = find(attributes, DEVLINK_ATTR_HEALTH_REPORTER);
  const Bytes state = find(reporter, DEVLINK_ATTR_HEALTH_REPORTER_STATE);
  if (state.size() != 1 || state[0] == std::byte{0}) return std::nullopt;
  if (text(find(attributes, DEVLINK_ATTR_BUS_NAME)) != "pci") return std::nullopt;
  return FailedReporter{text(find(attributes, DEVLINK_ATTR_DEV_NAME)),
                        text(find(reporter, DEVLINK_ATTR_HEALTH_REPORTER_NAME))};
}

Result<std::optional<Devlink>> Devlink::open() {
  auto socket = NlSocket::open(NETLINK_GENERIC);
  if (!socket && socket.error().code == Errc::unsupported) return std::optional<Devlink>();
  if (!socket) return std::move(socket).error();
  NlMessage message(GENL_ID_CTRL, 0);
  message.put_header(genlmsghdr{CTRL_CMD_GETFAMILY, 1, 0});
  message.put_text(CTRL_ATTR_FAMILY_NAME, DEVLINK_GENL_NAME);
  std::optional<uint16_t> family;
  TRY(refused_is_none(socket->query(message,
                                    [&](Bytes answer) {
                                      family = parse_family_id(answer);
                                      return Result<>();
                                    })),
      "ask for devlink");
  if (!family) return std::optional<Devlink>();
  return std::optional(Devlink(*std::move(socket), *family));
}

NlMessage Devlink::ask(uint8_t command, const DevlinkHandle& function) const {
  NlMessage message(family_, 0);
  message.put_header(genlmsghdr{command, DEVLINK_GENL_VERSION, 0});
  message.put_text(DEVLINK_ATTR_BUS_NAME, function.bus);
  message.put_text(DEVLINK_ATTR_DEV_NAME, function.device);
  return message;
}

Result<std::optional<bool>> Devlink::enable_rdma(const DevlinkHandle& function) {
  NlMessage message = ask(DEVLINK_CMD_PARAM_GET, function);
  message.put_text(DEVLINK_ATTR_PARAM_NAME, "enable_rdma");
  std::optional<bool> enabled;
  TRY(refused_is_none(socket_.query(message,
                                    [&](Bytes answer) {
                                      enabled = parse_enable_rdma(answer);
                                      return Result<>();
                                    })),
      "ask devlink for enable_rdma of " + function.device);
  return enabled;
}

Result<std::optional<std::string>> Devlink::version(const DevlinkHandle& function, std::string_view name) {
  std::optional<std::string> found;
  TRY(refused_is_none(socket_.query(ask(DEVLINK_CMD_INFO_GET, function),
                                    [&](Bytes answer) {
                                      found = parse_version(answer, name);
                                      return Result<>();
                                    })),
      "ask devlink for a version of " + function.device);
  return found;
}

Result<std::optional<EswitchMode>> Devlink::eswitch_mode(const DevlinkHandle& function) {
  std::optional<EswitchMode> mode;
  TRY(refused_is_none(socket_.query(ask(DEVLINK_CMD_ESWITCH_GET, function),
                                    [&](Bytes answer) {
                                      mode = parse_eswitch_mode(answer);
                                      return Result<>();
                                    })),
      "ask devlink for the eswitch mode of " + function.device);
  return mode;
}

Result<> Devlink::set_eswitch_mode(const DevlinkHandle& function, EswitchMode mode) {
  const uint16_t value =
      mode == EswitchMode::legacy ? DEVLINK_ESWITCH_MODE_LEGACY : DEVLINK_ESWITCH_MODE_SWITCHDEV;
  NlMessage message = ask(DEVLINK_CMD_ESWITCH_SET, function);
  message.put_bytes(DEVLINK_ATTR_ESWITCH_MODE,
                    std::span(reinterpret_cast<const uint8_t*>(&value), sizeof value));
  TRY(socket_.request(message), std::string("set eswitch mode ") + eswitch_name(mode));
  return {};
}

Result<FailedReporters> Devlink::failed_reporters() {
  FailedReporters out;
  NlMessage message(family_, NLM_F_DUMP);
  message.put_header(genlmsghdr{DEVLINK_CMD_HEALTH_REPORTER_GET, DEVLINK_GENL_VERSION, 0});
  TRY(refused_is_none(socket_.dump(
          message,
          [&](Bytes answer) {
            if (auto failed = parse_failed_reporter(answer))
              out[std::move(failed->device)].push_back(std::move(failed->reporter));
            return Result<>();
          },
          [&] { out.clear(); })),
      "ask devlink for the health reporters");
  return out;
}

}  // namespace vfrail::plugin
