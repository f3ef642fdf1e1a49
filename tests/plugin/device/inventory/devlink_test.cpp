#include "plugin/device/inventory/devlink.h"

#include <cstring>
#include <vector>

#include <catch2/catch.hpp>
#include <linux/devlink.h>
#include <linux/genetlink.h>
#include <linux/netlink.h>

using namespace vfrail;
using namespace vfrail::plugin;

namespace {

using Bytes = std::vector<std::byte>;

Bytes attribute(uint16_t type, const Bytes& payload) {
  const nlattr header{static_cast<uint16_t>(sizeof(nlattr) + payload.size()), type};
  Bytes out(sizeof header);
  std::memcpy(out.data(), &header, sizeof header);
  out.insert(out.end(), payload.begin(), payload.end());
  while (out.size() % 4 != 0) out.push_back(std::byte{0});
  return out;
}

Bytes text(uint16_t type, const std::string& value) {
  Bytes payload(value.size() + 1);
  std::memcpy(payload.data(), value.c_str(), value.size() + 1);
  return attribute(type, payload);
}

Bytes operator+(Bytes left, const Bytes& right) {
  left.insert(left.end(), right.begin(), right.end());
  return left;
}

Bytes message(const Bytes& attributes) { return Bytes(NLMSG_HDRLEN + GENL_HDRLEN) + attributes; }

Bytes parameter(const Bytes& data) {
  return message(attribute(DEVLINK_ATTR_PARAM,
                           text(DEVLINK_ATTR_PARAM_NAME, "enable_rdma") +
                               attribute(DEVLINK_ATTR_PARAM_VALUES_LIST,
                                         attribute(DEVLINK_ATTR_PARAM_VALUE,
                                                   data + attribute(DEVLINK_ATTR_PARAM_VALUE_CMODE, {})))));
}

Bytes version(uint16_t kind, const std::string& name, const std::string& value) {
  return attribute(kind,
                   text(DEVLINK_ATTR_INFO_VERSION_NAME, name) + text(DEVLINK_ATTR_INFO_VERSION_VALUE, value));
}

}  // namespace

TEST_CASE("devlink: a family's id is read") {
  CHECK(parse_family_id(message(text(CTRL_ATTR_FAMILY_NAME, "devlink") +
                                attribute(CTRL_ATTR_FAMILY_ID, {std::byte{0x15}, std::byte{0}}))) == 0x15);
  CHECK_FALSE(parse_family_id(message({})));
}

TEST_CASE("devlink: enable_rdma is true when its flag is set, false when only the value is, else unknown") {
  CHECK(parse_enable_rdma(parameter(attribute(DEVLINK_ATTR_PARAM_VALUE_DATA, {}))) == true);
  CHECK(parse_enable_rdma(parameter({})) == false);
  CHECK_FALSE(parse_enable_rdma(message({})).has_value());
}

TEST_CASE("devlink: a version is found by its name, the running one first") {
  const Bytes answer =
      message(version(DEVLINK_ATTR_INFO_VERSION_FIXED, "fw.app.name", "old") +
              version(DEVLINK_ATTR_INFO_VERSION_RUNNING, "fw.mgmt", "5.1") +
              version(DEVLINK_ATTR_INFO_VERSION_RUNNING, "fw.app.name", "ICE COMMS Package"));
  CHECK(parse_version(answer, "fw.app.name") == "ICE COMMS Package");
  CHECK_FALSE(parse_version(answer, "fw.undi"));
}

TEST_CASE("devlink: a truncated answer is not read beyond its end") {
  const Bytes answer = message(version(DEVLINK_ATTR_INFO_VERSION_RUNNING, "fw.app.name", "package"));
  for (size_t size = 0; size < answer.size(); ++size) {
    const Bytes part(answer.begin(), answer.begin() + static_cast<std::ptrdiff_t>(size));
    CHECK_NOTHROW(parse_version(part, "fw.app.name"));
    CHECK_NOTHROW(parse_enable_rdma(part));
    CHECK_NOTHROW(parse_family_id(part));
  }
}
