// plugin/device/inventory/node_devices.h: which device nodes the node has.
#include "plugin/device/inventory/node_devices.h"

#include "tests/plugin/tree.h"

#include <catch2/catch.hpp>

using namespace vfrail;
using namespace vfrail::plugin;
using test::Tree;

TEST_CASE("a device node exists as a file, or by its class in the kernel where /dev is not mounted") {
  Tree tree("management");
  const SysRoot sys(tree.root());
  REQUIRE_FALSE(*has_device_node(sys, "vhost-net"));
  SECTION("file") { tree.add("dev/vhost-net = x"); }
  SECTION("misc device") { tree.add("sys/class/misc/vhost-net/dev = 10:238"); }
  SECTION("another class") { tree.add("sys/class/vhost/vhost-net/dev = 10:238"); }
  CHECK(*has_device_node(sys, "vhost-net"));
  CHECK_FALSE(*has_device_node(sys, "vhost"));
}

TEST_CASE("a device node in a folder of /dev has its own name in the class") {
  Tree tree("management");
  REQUIRE_FALSE(*has_device_node(SysRoot(tree.root()), "infiniband/another_cm"));
  tree.add("sys/class/misc/another_cm/dev = 10:56");
  CHECK(*has_device_node(SysRoot(tree.root()), "infiniband/another_cm"));
}
