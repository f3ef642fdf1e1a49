// common/node/cdi_spec.h: the file that tells a container runtime a device's nodes.
#include "common/node/cdi_spec.h"

#include "common/json.h"
#include "common/unique_fd.h"
#include "tests/support/temp_dir.h"

#include <filesystem>
#include <fstream>
#include <sstream>
#include <sys/inotify.h>
#include <unistd.h>

#include <catch2/catch.hpp>

namespace vfrail {
namespace {

DeviceNode node(const std::string& path, const std::string& permissions = "rw") {
  return {path, path, permissions};
}

CdiSpec make_spec() {
  return {"nvidia.com/net-pci",
          "0000:03:02.1",
          {node("/dev/infiniband/umad4"),
           node("/dev/infiniband/uverbs4"),
           node("/dev/infiniband/rdma_cm"),
           {"/dev/vfio/noiommu-3", "/dev/vfio/3", "rwm"}}};
}

std::vector<std::string> paths(const CdiSpec& spec) {
  std::vector<std::string> out;
  for (const DeviceNode& one : spec.nodes) out.push_back(one.host_path);
  return out;
}

}  // namespace

TEST_CASE("A spec has what version 0.5.0 of CDI knows, and nothing else") {
  CdiSpec spec = make_spec();
  spec.nodes.erase(spec.nodes.begin(), spec.nodes.begin() + 3);
  const auto json = Json::parse(format_cdi_spec(spec));
  REQUIRE(json);
  CHECK(json->text() ==
        R"({"cdiVersion":"0.5.0","kind":"nvidia.com/net-pci","devices":[{"name":"0000:03:02.1",)"
        R"("containerEdits":{"deviceNodes":[{"path":"/dev/vfio/3",)"
        R"("hostPath":"/dev/vfio/noiommu-3","permissions":"rwm"}]}}]})");
}

TEST_CASE("A spec is read as it was written") {
  const test::TempDir dir;
  const std::string path = dir.path(make_spec().file_name());
  CHECK_FALSE(read_cdi_spec(path)->has_value());
  REQUIRE(write_cdi_spec(path, path + ".new", make_spec()));
  CHECK(**read_cdi_spec(path) == make_spec());
  CHECK(std::filesystem::directory_iterator(dir.path())->path() == path);
}

TEST_CASE("The file's name follows from the device's, and CDI's library takes it for JSON") {
  CHECK(make_spec().qualified_name() == "nvidia.com/net-pci=0000:03:02.1");
  CHECK(make_spec().file_name() == "vfrail-nvidia.com-net-pci-0000:03:02.1.json");
}

TEST_CASE("A file that is no spec of ours is an error that names the file and the key") {
  const auto [text, key] = GENERATE(table<const char*, const char*>(
      {{"{", "line 1"},
       {"{}", "kind"},
       {R"({"kind":"a/b"})", "devices"},
       {R"({"kind":"a/b","devices":[{"name":"1"},{"name":"2"}]})", "devices"},
       {R"({"kind":"a/b","devices":[5]})", "devices"},
       {R"({"kind":"a/b","devices":[{"name":""}]})", "name"},
       {R"({"kind":"a/b","devices":[{"name":"1"}]})", "containerEdits"},
       {R"({"kind":"a/b","devices":[{"name":"1","containerEdits":{"deviceNodes":[]}}]})", "deviceNodes"},
       {R"({"kind":"a/b","devices":[{"name":"1","containerEdits":{"deviceNodes":[5]}}]})", "deviceNodes"},
       {R"({"kind":"a/b","devices":[{"name":"1","containerEdits":{"deviceNodes":[{"path":"/dev/a"}]}}]})",
        "hostPath"}}));
  CAPTURE(text);
  const test::TempDir dir;
  std::ofstream(dir.path("vfrail-a.json")) << text;
  const auto spec = read_cdi_spec(dir.path("vfrail-a.json"));
  REQUIRE_FALSE(spec);
  CHECK(spec.error().text.find("vfrail-a.json") != std::string::npos);
  CHECK(spec.error().text.find(key) != std::string::npos);
}

TEST_CASE("Nodes of RDMA devices are replaced, all others stay as they are") {
  CdiSpec spec = make_spec();
  CHECK(replace_rdma_nodes(spec, {"issm0", "umad7", "uverbs12"}));
  CHECK(paths(spec) == std::vector<std::string>{"/dev/infiniband/issm0", "/dev/infiniband/umad7",
                                                "/dev/infiniband/uverbs12", "/dev/infiniband/rdma_cm",
                                                "/dev/vfio/noiommu-3"});
  for (const DeviceNode& one : spec.nodes) {
    if (one.host_path.starts_with("/dev/infiniband/")) CHECK(one == node(one.host_path));
  }
  CHECK(spec.nodes.back() == make_spec().nodes.back());
}

TEST_CASE("Replaced nodes keep the permissions that the resource asks for") {
  CdiSpec spec = make_spec();
  for (DeviceNode& one : spec.nodes) one.permissions = "rwm";
  REQUIRE(replace_rdma_nodes(spec, {"uverbs5"}));
  CHECK(spec.nodes.front() == node("/dev/infiniband/uverbs5", "rwm"));
}

TEST_CASE("The same nodes in another order are no change") {
  CdiSpec spec = make_spec();
  CHECK_FALSE(replace_rdma_nodes(spec, {"uverbs4", "umad4"}));
  CHECK(spec == make_spec());
}

TEST_CASE("Whether a spec has RDMA nodes is a question of those with numbers") {
  CdiSpec spec = make_spec();
  CHECK(has_rdma_nodes(spec));
  spec.nodes = {node("/dev/infiniband/rdma_cm"), node("/dev/vfio/vfio"), node("/dev/infiniband")};
  CHECK_FALSE(has_rdma_nodes(spec));
}

// CDI's library watches the folder; in its older versions only the departure of the temporary name
// (IN_MOVED_FROM) makes it read the folder again, not the arrival of the new one.
TEST_CASE("Who watches the folder sees a name leave it when a spec is written") {
  const test::TempDir dir;
  const std::string path = dir.path(make_spec().file_name());
  REQUIRE(write_cdi_spec(path, path + ".new", make_spec()));
  const UniqueFd watch(::inotify_init1(IN_NONBLOCK | IN_CLOEXEC));
  REQUIRE(::inotify_add_watch(watch.get(), dir.path().c_str(), IN_MOVED_FROM) >= 0);
  REQUIRE(write_cdi_spec(path, path + ".new", make_spec()));
  alignas(inotify_event) char events[4096];
  REQUIRE(::read(watch.get(), events, sizeof events) > 0);
  CHECK(std::string(reinterpret_cast<inotify_event*>(events)->name) == make_spec().file_name() + ".new");
}

}  // namespace vfrail
