#include "plugin/observe/events/kernel_message.h"

#include <cstring>
#include <vector>

#include <catch2/catch.hpp>
#include <linux/devlink.h>
#include <linux/genetlink.h>
#include <linux/if_arp.h>
#include <linux/rtnetlink.h>
#include <rdma/rdma_netlink.h>

using namespace vfrail;
using namespace vfrail::plugin;

namespace {

using Bytes = std::vector<std::byte>;

Bytes operator+(Bytes left, const Bytes& right) {
  left.insert(left.end(), right.begin(), right.end());
  return left;
}

template <class Header>
Bytes bytes(const Header& header) {
  Bytes out((sizeof header + 3) & ~size_t{3});
  std::memcpy(out.data(), &header, sizeof header);
  return out;
}

Bytes attribute(uint16_t type, const Bytes& payload) {
  Bytes out = bytes(nlattr{static_cast<uint16_t>(sizeof(nlattr) + payload.size()), type}) + payload;
  out.resize((out.size() + 3) & ~size_t{3});
  return out;
}

Bytes text(uint16_t type, const std::string& value) {
  Bytes payload(value.size() + 1);
  std::memcpy(payload.data(), value.c_str(), payload.size());
  return attribute(type, payload);
}

template <class Header>
Bytes message(uint16_t type, const Header& header, const Bytes& attributes = {}) {
  const Bytes payload = bytes(header) + attributes;
  nlmsghdr netlink{};
  netlink.nlmsg_len = static_cast<uint32_t>(sizeof netlink + payload.size());
  netlink.nlmsg_type = type;
  return bytes(netlink) + payload;
}

Bytes link_message(const std::string& name, const std::string& kind, uint16_t type = RTM_NEWLINK,
                   uint16_t arp = ARPHRD_ETHER, uint8_t family = AF_UNSPEC) {
  ifinfomsg header{};
  header.ifi_family = family;
  header.ifi_type = arp;
  const Bytes info = kind.empty() ? Bytes() : attribute(IFLA_LINKINFO, text(IFLA_INFO_KIND, kind));
  return message(type, header, text(IFLA_IFNAME, name) + info);
}

Bytes route_message(uint8_t length, uint8_t kind = RTN_UNICAST, uint16_t type = RTM_NEWROUTE,
                    unsigned flags = 0) {
  rtmsg header{};
  header.rtm_family = AF_INET;
  header.rtm_dst_len = length;
  header.rtm_type = kind;
  header.rtm_flags = flags;
  return message(type, header);
}

Bytes devlink_message(uint8_t command) {
  return message(20, genlmsghdr{command, 1, 0},
                 text(DEVLINK_ATTR_BUS_NAME, "pci") + text(DEVLINK_ATTR_DEV_NAME, "0000:03:00.0"));
}

std::optional<std::string> noted(KernelSource kind, const Bytes& datagram) {
  const auto event = read_kernel_message(kind, datagram);
  return event ? std::optional(event->words) : std::nullopt;
}

Bytes uevent_bytes(const std::string& action, const std::string& path, const std::string& subsystem,
                   const std::string& more = "") {
  std::string all = action + "@" + path + '\0' + "ACTION=" + action + '\0' + "DEVPATH=" + path + '\0';
  all += "SUBSYSTEM=" + subsystem + '\0' + more + (more.empty() ? "" : std::string(1, '\0')) + "SEQNUM=4711" +
         '\0';
  Bytes datagram(all.size());
  std::memcpy(datagram.data(), all.data(), all.size());
  return datagram;
}

std::optional<std::string> uevent(const std::string& action, const std::string& path,
                                  const std::string& subsystem, const std::string& more = "") {
  return noted(KernelSource::uevent, uevent_bytes(action, path, subsystem, more));
}

// What it is about; fails the test if it does not matter.
Changed about(KernelSource kind, const Bytes& datagram) {
  const auto event = read_kernel_message(kind, datagram);
  REQUIRE(event);
  return event->changed;
}

Changed about_uevent(const std::string& path, const std::string& subsystem, const std::string& more = "") {
  return about(KernelSource::uevent, uevent_bytes("add", path, subsystem, more));
}

}  // namespace

TEST_CASE("uevents of functions, their RDMA devices and what hangs on them matter") {
  const std::string function = "/devices/pci0000:20/0000:20:00.0/0000:21:10.0";
  CHECK(uevent("add", function, "pci") == "pci add 0000:21:10.0");
  CHECK(uevent("unbind", function, "pci") == "pci unbind 0000:21:10.0");
  CHECK(uevent("change", function, "pci"));
  CHECK(uevent("add", function + "/infiniband_verbs/uverbs0", "infiniband_verbs",
               "DEVNAME=infiniband/uverbs0") == "infiniband_verbs add uverbs0");
  CHECK(uevent("remove", function + "/infiniband_mad/umad0", "infiniband_mad"));
  CHECK(uevent("move", function + "/infiniband/rocep33s0", "infiniband"));
  CHECK(uevent("bind", function + "/mlx5_core.sf.4", "auxiliary"));
  CHECK(uevent("add", function + "/vdpa0", "vdpa"));
  CHECK(uevent("add", "/devices/virtual/vfio/42", "vfio"));
  CHECK(uevent("add", function + "/vfio-dev/vfio0", "vfio-dev"));
  CHECK(uevent("add", function + "/net/ens1f0v0", "net"));
}

TEST_CASE("a uevent is about the innermost function of its path, and the sub-function in it") {
  const std::string function = "/devices/pci0000:20/0000:20:00.0/0000:21:10.0";
  const Changed vf{.devices = {"0000:21:10.0"}};
  CHECK(about_uevent(function, "pci") == vf);
  CHECK(about_uevent(function + "/net/ens1f0v0", "net") == vf);
  CHECK(about_uevent(function + "/infiniband_verbs/uverbs0", "infiniband_verbs") == vf);
  CHECK(about_uevent(function + "/virtio2/net/eth0", "net") == vf);
  const Changed sf{.devices = {"0000:21:10.0", "mlx5_core.sf.4"}};
  CHECK(about_uevent(function + "/mlx5_core.sf.4", "auxiliary") == sf);
  CHECK(about_uevent(function + "/mlx5_core.sf.4/net/eth9", "net") == sf);
  CHECK(about_uevent("/devices/virtual/vfio/42", "vfio") == Changed{.iommu_groups = {"42"}});
  CHECK(about_uevent("/devices/virtual/vfio/noiommu-7", "vfio") == Changed{.iommu_groups = {"7"}});
  CHECK(about_uevent("/devices/virtual/infiniband/rxe0", "infiniband") == Changed::all());
  CHECK(about_uevent("/devices/platform/net/eth0", "net") == Changed::all());
  CHECK(about_uevent("/devices/virtual/misc/vhost-net", "misc", "DEVNAME=vhost-net") == Changed());
}

TEST_CASE("messages name their device by its bus, and else by its interface or RDMA device") {
  const auto link = [](const std::string& bus, const std::string& device) {
    return about(KernelSource::route, message(RTM_NEWLINK, ifinfomsg{},
                                              text(IFLA_IFNAME, "eth7") + text(IFLA_PARENT_DEV_NAME, device) +
                                                  text(IFLA_PARENT_DEV_BUS_NAME, bus)));
  };
  const Changed named{.devices = {"0000:21:10.0"}};
  const Changed interface {
    .interfaces = { "eth7" }
  };
  CHECK(link("pci", "0000:21:10.0") == named);
  CHECK(link("auxiliary", "mlx5_core.sf.4") == Changed{.devices = {"mlx5_core.sf.4"}});
  CHECK(link("auxiliary", "mlx5_core.eth.4") == interface);
  CHECK(link("virtio", "virtio0") == interface);
  CHECK(about(KernelSource::route, link_message("eth7", "")) == interface);
  CHECK(about(KernelSource::route, route_message(0)) == Changed::all());
  CHECK(about(KernelSource::devlink, devlink_message(DEVLINK_CMD_NEW)) ==
        Changed{.devices = {"0000:03:00.0"}});
  CHECK(about(KernelSource::devlink, message(20, genlmsghdr{DEVLINK_CMD_NEW, 1, 0},
                                             text(DEVLINK_ATTR_BUS_NAME, "netdevsim") +
                                                 text(DEVLINK_ATTR_DEV_NAME, "netdevsim1"))) ==
        Changed::all());
  CHECK(about(KernelSource::rdma, message(0x1400, uint32_t{0})) == Changed::all());
}

TEST_CASE("an RDMA notification names its device") {
  // As nl_rdma_notif_register() of Linux 6.13 fills it: index, then name.
  Bytes payload =
      attribute(RDMA_NLDEV_ATTR_DEV_INDEX, bytes(uint32_t{3})) + text(RDMA_NLDEV_ATTR_DEV_NAME, "mlx5_3");
  nlmsghdr header{};
  header.nlmsg_len = static_cast<uint32_t>(sizeof header + payload.size());
  CHECK(about(KernelSource::rdma, bytes(header) + payload) == Changed{.rdma_devices = {"mlx5_3"}});
}

TEST_CASE("a datagram of several messages is about all of them") {
  CHECK(about(KernelSource::route,
              link_message("ens1f0", "") + link_message("veth1", "veth") + link_message("ens1f1", "")) ==
        Changed{.interfaces = {"ens1f0", "ens1f1"}});
}

TEST_CASE("uevents of device nodes that are allocated beside a function matter") {
  CHECK(uevent("add", "/devices/virtual/misc/rdma_cm", "misc", "DEVNAME=infiniband/rdma_cm"));
  CHECK(uevent("add", "/devices/virtual/misc/vhost-net", "misc", "DEVNAME=vhost-net"));
  CHECK_FALSE(uevent("add", "/devices/virtual/misc/fuse", "misc", "DEVNAME=fuse"));
}

TEST_CASE("uevents of pods, disks and modules do not matter") {
  CHECK_FALSE(uevent("add", "/devices/virtual/net/veth12ab34cd", "net"));
  CHECK_FALSE(uevent("add", "/devices/virtual/net/veth12ab34cd/queues/rx-0", "queues"));
  CHECK_FALSE(uevent("change", "/devices/virtual/block/loop0", "block"));
  CHECK_FALSE(uevent("add", "/module/xt_comment", "module"));
  CHECK_FALSE(uevent("add", "/bus/pci/drivers/igbvf", "drivers"));
  CHECK_FALSE(uevent("add", "/kernel/slab/x/cgroup/y", "slab"));
}

TEST_CASE("links of functions matter, those of pods and on top of functions do not") {
  const auto source = KernelSource::route;
  CHECK(noted(source, link_message("ens1f0v0", "")) == "link ens1f0v0");
  CHECK(noted(source, link_message("ens1f0v0", "", RTM_DELLINK)) == "link gone ens1f0v0");
  CHECK(noted(source, link_message("ib0", "ipoib", RTM_NEWLINK, ARPHRD_INFINIBAND)));
  for (const char* kind : {"veth", "bridge", "vlan", "macvlan", "vxlan", "dummy"}) {
    INFO(kind);
    CHECK_FALSE(noted(source, link_message("any", kind)));
    CHECK_FALSE(noted(source, link_message("any", kind, RTM_DELLINK)));
  }
  CHECK_FALSE(noted(source, link_message("lo", "", RTM_NEWLINK, ARPHRD_LOOPBACK)));
  // A port's state in its bridge; its own link message shows that it is one.
  CHECK_FALSE(noted(source, link_message("ens1f0", "", RTM_NEWLINK, ARPHRD_ETHER, AF_BRIDGE)));
}

TEST_CASE("a function that is a port of a bond has a kind of port, not a kind") {
  ifinfomsg header{};
  header.ifi_type = ARPHRD_ETHER;
  const Bytes info = attribute(IFLA_LINKINFO, text(IFLA_INFO_SLAVE_KIND, "bond"));
  CHECK(noted(KernelSource::route, message(RTM_NEWLINK, header, text(IFLA_IFNAME, "ens1f0") + info)));
}

TEST_CASE("default routes matter, others do not") {
  const auto source = KernelSource::route;
  CHECK(noted(source, route_message(0)) == "default route");
  CHECK(noted(source, route_message(0, RTN_UNICAST, RTM_DELROUTE)));
  CHECK_FALSE(noted(source, route_message(32)));
  CHECK_FALSE(noted(source, route_message(0, RTN_UNREACHABLE)));
  CHECK_FALSE(noted(source, route_message(0, RTN_UNICAST, RTM_NEWROUTE, RTM_F_CLONED)));
}

TEST_CASE("devlink's devices, ports, parameters and health matter, flashing does not") {
  const auto source = KernelSource::devlink;
  for (const uint8_t command :
       {DEVLINK_CMD_NEW, DEVLINK_CMD_PORT_DEL, DEVLINK_CMD_PARAM_NEW, DEVLINK_CMD_HEALTH_REPORTER_RECOVER}) {
    INFO(int{command});
    CHECK(noted(source, devlink_message(command)) == "devlink " + std::to_string(command) + " 0000:03:00.0");
  }
  CHECK_FALSE(noted(source, devlink_message(DEVLINK_CMD_FLASH_UPDATE_STATUS)));
  CHECK_FALSE(noted(source, devlink_message(DEVLINK_CMD_TRAP_NEW)));
}

TEST_CASE("any RDMA notification matters") {
  CHECK(noted(KernelSource::rdma, message(0x1234, uint32_t{0})));
  CHECK_FALSE(noted(KernelSource::rdma, {}));
}

TEST_CASE("a datagram of several messages is read to the first that matters") {
  CHECK(noted(KernelSource::route, link_message("veth1", "veth") + route_message(32) +
                                       link_message("ens1f0", "")) == "link ens1f0");
}

TEST_CASE("truncated messages are no events, and nothing is read beyond their end") {
  const std::vector<std::pair<KernelSource, Bytes>> whole{
      {KernelSource::route, link_message("ens1f0v0", "veth")},
      {KernelSource::route, route_message(24)},
      {KernelSource::devlink, devlink_message(DEVLINK_CMD_TRAP_NEW)}};
  for (const auto& [kind, all] : whole) {
    for (size_t size = 0; size <= all.size(); ++size) {
      // A copy of exactly that size, for the sanitizer to see a read behind it.
      const Bytes cut(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(size));
      CHECK_FALSE(noted(kind, cut));
      CHECK_FALSE(noted(KernelSource::uevent, cut));
    }
  }
}
