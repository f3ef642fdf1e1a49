// plugin/service/kubelet/allocate_response.h: edits as kubelet's answer has them.
#include "plugin/service/kubelet/allocate_response.h"

#include <catch2/catch.hpp>

namespace vfrail::test {
using namespace plugin;
namespace {

ResourceConfig make_resource() {
  ResourceConfig out;
  out.prefix = "nvidia.com";
  out.name = "hostdev";
  return out;
}

}  // namespace

TEST_CASE("variables, device nodes, mounts and CDI names have their fields in the response") {
  v1beta1::ContainerAllocateResponse out;
  REQUIRE(to_response(make_resource(),
                      {.env = {{"A", "1"}},
                       .nodes = {{"/dev/vfio/noiommu-3", "/dev/vfio/3", "rwm"}},
                       .mounts = {{"/run/a", "/etc/a", true}, {"/run/b", "/b", false}},
                       .cdi_devices = {"nvidia.com/net-pci=0000:03:02.1"}},
                      out));
  CHECK(out.envs().at("A") == "1");
  REQUIRE(out.devices_size() == 1);
  CHECK(out.devices(0).host_path() == "/dev/vfio/noiommu-3");
  CHECK(out.devices(0).container_path() == "/dev/vfio/3");
  CHECK(out.devices(0).permissions() == "rwm");
  REQUIRE(out.mounts_size() == 2);
  CHECK(out.mounts(0).host_path() == "/run/a");
  CHECK(out.mounts(0).container_path() == "/etc/a");
  CHECK(out.mounts(0).read_only());
  CHECK_FALSE(out.mounts(1).read_only());
  REQUIRE(out.cdi_devices_size() == 1);
  CHECK(out.cdi_devices(0).name() == "nvidia.com/net-pci=0000:03:02.1");
  REQUIRE(out.annotations_size() == 1);
  CHECK(out.annotations().begin()->second == "nvidia.com/net-pci=0000:03:02.1");
}

TEST_CASE("a hook, which kubelet cannot pass, is an error that names it and the remedy") {
  v1beta1::ContainerAllocateResponse out;
  const auto done =
      to_response(make_resource(), {.hooks = {{.name = "createContainer", .path = "/opt/hook"}}}, out);
  REQUIRE_FALSE(done);
  CHECK(done.error().code == Errc::unsupported);
  CHECK(done.error().text ==
        "nvidia.com/hostdev: kubelet passes no hooks to containers (createContainer /opt/hook); CDI does: "
        "start "
        "vfrail with --use-cdi");
}

}  // namespace vfrail::test
