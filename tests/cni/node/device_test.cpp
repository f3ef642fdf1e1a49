// cni/node/device.h: which netdev a configuration means, where a device has several, or has it below another
// bus.
#include "cni/node/device.h"

#include "tests/cni/fake_node.h"
#include "tests/support/sys_tree.h"

namespace vfrail::test {
using namespace cni;
namespace {

using Catch::Contains;

struct HostTree : SysTree {
  using SysTree::SysTree;
  Result<Device> find(const DeviceSelector& selector) { return find_device(sys, *host, selector); }

  FakeWorld world{dir.path("fake")};  // for a Kernel that is asked nothing
  std::unique_ptr<Kernel> host = world.open(FakeWorld::kHost);
};

DeviceSelector by_id(const std::string& text) {
  DeviceSelector out;
  out.id = *DeviceId::parse(text);
  return out;
}

constexpr const char* kTwoPorts =
    "sys/bus/pci/devices/0000:03:00.0/driver -> ../../drivers/mlx4_core\n"
    "sys/bus/pci/devices/0000:03:00.0/net/a9/dev_port = 1\n"
    "sys/bus/pci/devices/0000:03:00.0/net/b1/dev_port = 0\n"
    "sys/bus/pci/devices/0000:03:00.0/net/b0/dev_port = 2\n";

std::string ifname_config(const std::string& keys) {
  return R"({"cniVersion":"1.0.0","name":"n","type":"vfrail","deviceID":"0000:21:10.0")" + keys + "}";
}

}  // namespace

TEST_CASE("of several netdevs the one with the lowest dev_port is taken, or that of the requested port") {
  HostTree tree(kTwoPorts);
  DeviceSelector selector = by_id("0000:03:00.0");
  CHECK(tree.find(selector)->netdev_names() == std::vector<std::string>{"b1"});
  selector.port = 2;
  CHECK(tree.find(selector)->netdev_names() == std::vector<std::string>{"b0"});
  selector.port = 7;
  const auto none = tree.find(selector);
  REQUIRE_FALSE(none);
  CHECK_THAT(none.error().text, Contains("dev_port 7") && Contains("b1, a9, b0"));
}

TEST_CASE("a GUID at the second port of a card is set through the PF's interface of that port") {
  HostTree tree(
      "sys/bus/pci/devices/0000:03:00.1/physfn -> ../0000:03:00.0\n"
      "sys/bus/pci/devices/0000:03:00.0/virtfn0 -> ../0000:03:00.1\n"
      "sys/bus/pci/devices/0000:03:00.0/driver -> ../../drivers/mlx4_core\n"
      "sys/bus/pci/devices/0000:03:00.0/net/ib0/dev_port = 0\n"
      "sys/bus/pci/devices/0000:03:00.0/net/ib0/ifindex = 4\n"
      "sys/bus/pci/devices/0000:03:00.0/net/ib1/dev_port = 1\n"
      "sys/bus/pci/devices/0000:03:00.0/net/ib1/ifindex = 5\n"
      "sys/bus/pci/devices/0000:03:00.0/net/ib0/type = 32\n"
      "sys/bus/pci/devices/0000:03:00.0/net/ib1/type = 32\n");
  const auto interface_at = [&](std::optional<uint32_t> port) {
    const auto found = find_vf_place(tree.sys, *DeviceId::parse("0000:03:00.1"), port);
    REQUIRE(found);
    INFO(found->why_not);
    REQUIRE(found->place);
    return found->place->pf + " " + std::to_string(found->place->pf_link);
  };
  CHECK(interface_at(1) == "ib1 5");
  CHECK(interface_at(0) == "ib0 4");
  CHECK(interface_at({}) == "ib0 4");
  CHECK(interface_at(7) == "ib0 4");
}

TEST_CASE("netdevs that no port distinguishes are all candidates") {
  HostTree tree(
      "sys/bus/pci/devices/0000:03:00.0/driver -> ../../drivers/x\n"
      "sys/bus/pci/devices/0000:03:00.0/net/b/\n"
      "sys/bus/pci/devices/0000:03:00.0/net/a/\n");
  CHECK(tree.find(by_id("0000:03:00.0"))->netdev_names() == std::vector<std::string>{"a", "b"});
}

TEST_CASE("the netdev of a virtio device belongs to the PCI function above it") {
  HostTree tree(
      "sys/bus/pci/devices/0000:00:05.0/driver -> ../../drivers/virtio-pci\n"
      "sys/bus/pci/devices/0000:00:05.0/virtio2/net/eth3/dev_port = 0\n");
  const auto device = tree.find(by_id("0000:00:05.0"));
  CHECK(device->netdev_names() == std::vector<std::string>{"eth3"});
  CHECK(device->missing_part().empty());
}

TEST_CASE("an auxiliary device has its netdev and its RDMA device") {
  HostTree tree(
      "sys/bus/auxiliary/devices/mlx5_core.sf.4/driver -> ../../drivers/mlx5_core.sf\n"
      "sys/bus/auxiliary/devices/mlx5_core.sf.4/net/eth3/dev_port = 0\n"
      "sys/bus/auxiliary/devices/mlx5_core.sf.4/infiniband/mlx5_4/ports/1/link_layer = Ethernet\n"
      "sys/bus/auxiliary/devices/mlx5_core.sf.4/infiniband_verbs/uverbs4/ibdev = mlx5_4\n");
  const auto device = tree.find(by_id("mlx5_core.sf.4"));
  CHECK(device->netdev_names() == std::vector<std::string>{"eth3"});
  CHECK(device->rdma_names() == std::vector<std::string>{"mlx5_4"});
  CHECK(device->rdma_nodes() == std::vector<std::string>{"uverbs4"});
}

TEST_CASE("a kernelpath to a function with several netdevs respects the requested port, too") {
  HostTree tree(
      "sys/devices/pci0000:00/0000:03:00.0/net/a/dev_port = 1\n"
      "sys/devices/pci0000:00/0000:03:00.0/net/b/dev_port = 0\n");
  DeviceSelector selector;
  selector.kernel_path = "/sys/devices/pci0000:00/0000:03:00.0";
  CHECK(tree.find(selector)->netdev_names() == std::vector<std::string>{"b"});
  selector.port = 1;
  CHECK(tree.find(selector)->netdev_names() == std::vector<std::string>{"a"});
}

TEST_CASE("of a function with several netdevs only the chosen one is moved and restored") {
  const auto [keys, chosen] = GENERATE(table<std::string, std::string>({
      {"", "vf0"},
      {R"(,"port":1)", "a-port1"},
      {R"(,"device":"a-port1")", "a-port1"},
  }));
  CAPTURE(keys);
  TwoVfs node;
  node.world.add_port("0000:21:10.0", "a-port1", 1);
  const std::string before = node.world.snapshot();
  const std::string mac = node.world.link(chosen).mac.text();
  const auto added = node.add(ifname_config(keys));
  INFO((added ? "" : added.error().text));
  REQUIRE(added);
  const std::string other = chosen == "vf0" ? "a-port1" : "vf0";
  CHECK(node.has("netns 2 link net1 "));
  CHECK(node.has("netns 1 link " + other));
  SECTION("by DEL") {
    REQUIRE(node.del(ifname_config(keys)));
    CHECK(node.world.snapshot() == before);
  }
  SECTION("after the end of its namespace") {
    node.world.end_netns(kPod);
    REQUIRE(node.del(ifname_config(keys), ""));
    CHECK(node.has("netns 1 link " + chosen + " " + mac));
    CHECK(node.has("netns 1 link " + other));
  }
}

TEST_CASE("DEL fails and keeps the record when it cannot find out where the device is") {
  TwoVfs node;
  REQUIRE(node.add(ifname_config("")));
  const std::string folder = node.dir.path("root/sys/bus/pci/devices/0000:21:10.0");
  std::filesystem::remove_all(folder);
  std::filesystem::create_symlink("0000:21:10.0", folder);  // ELOOP for everything below it
  // The pod's namespace lives, its path is gone.
  const auto failed = node.del(ifname_config(""), "");
  REQUIRE_FALSE(failed);
  CHECK_THAT(failed.error().text, Contains("ELOOP"));
  CHECK_FALSE(node.no_state());
}

TEST_CASE("a device bound to a variant of vfio-pci is for user space and needs no netdev") {
  HostTree tree("sys/bus/pci/devices/0000:03:02.1/driver -> ../../drivers/mlx5_vfio_pci\n");
  const auto device = tree.find(by_id("0000:03:02.1"));
  REQUIRE(device);
  CHECK(device->driver.is_user_space());
  CHECK(device->missing_part().empty());
}

TEST_CASE("a driver that is not bound after a rebind is an error") {
  const bool bound = GENERATE(true, false);
  // The files of this tree do nothing, so the driver stays bound, or unbound.
  std::string files =
      "sys/bus/pci/devices/0000:03:00.0/vendor = 0x15b3\n"
      "sys/bus/pci/drivers/mlx5_core/unbind = x\n"
      "sys/bus/pci/drivers_probe = x\n";
  if (bound) files += "sys/bus/pci/devices/0000:03:00.0/driver -> ../../drivers/mlx5_core\n";
  const HostTree tree(files);
  const auto done = rebind_driver(tree.sys, *DeviceId::parse("0000:03:00.0"));
  CHECK(static_cast<bool>(done) == bound);
  if (!done) CHECK(done.error().id_text() == "VF-NO-DRIVER");
}

TEST_CASE("a function is reset between unbind and bind, and gets its driver although the reset fails") {
  const bool resettable = GENERATE(true, false);
  const std::string folder = "sys/bus/pci/devices/0000:03:00.0/";
  std::string files = folder +
                      "driver -> ../../drivers/mlx5_core\nsys/bus/pci/drivers/mlx5_core/unbind = x\n"
                      "sys/bus/pci/drivers_probe = x\n";
  if (resettable) files += folder + "reset = x\n";
  const HostTree tree(files);
  const auto reset = reset_function(tree.sys, *DeviceId::parse("0000:03:00.0"));
  REQUIRE(reset);
  CHECK(reset->empty() == resettable);
  CHECK(*tree.sys.text("sys/bus/pci/drivers_probe") == "0000:03:00.0");
  if (resettable) CHECK(*tree.sys.text(folder + "reset") == "1");
}

TEST_CASE("hwaddr means hardware, and what stands on it only where no hardware has the address") {
  HostTree tree("");
  tree.world.add_vf("0000:21:10.0", "vf0");
  tree.world.stack(FakeWorld::kHost, "vf0", "macvlan0");
  DeviceSelector selector;
  selector.mac = tree.world.link("vf0").mac;
  REQUIRE(tree.find(selector));
  CHECK(tree.find(selector)->netdev_names() == std::vector<std::string>{"vf0"});
  tree.world.link("vf0").mac = *MacAddress::parse("02:00:00:00:00:77");
  REQUIRE(tree.find(selector));
  CHECK(tree.find(selector)->netdev_names() == std::vector<std::string>{"macvlan0"});
}

}  // namespace vfrail::test
