// common/container/cdi_spec.h: the file with a device's nodes for a container runtime.
#include "common/container/cdi_spec.h"

#include "common/json.h"
#include "common/unique_fd.h"
#include "tests/support/temp_dir.h"

#include <chrono>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <sys/inotify.h>
#include <sys/stat.h>
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
          {.nodes = {node("/dev/infiniband/umad4"),
                     node("/dev/infiniband/uverbs4"),
                     node("/dev/infiniband/rdma_cm"),
                     {"/dev/vfio/noiommu-3", "/dev/vfio/3", "rwm"}}}};
}

std::vector<std::string> paths(const CdiSpec& spec) {
  std::vector<std::string> out;
  for (const DeviceNode& one : spec.edits.nodes) out.push_back(one.host_path);
  return out;
}

}  // namespace

TEST_CASE("A spec has what version 0.5.0 of CDI defines, and nothing else") {
  CdiSpec spec = make_spec();
  spec.edits.nodes.erase(spec.edits.nodes.begin(), spec.edits.nodes.begin() + 3);
  const auto json = Json::parse(format_cdi_spec(spec));
  REQUIRE(json);
  CHECK(json->text() ==
        R"({"cdiVersion":"0.5.0","kind":"nvidia.com/net-pci","devices":[{"name":"0000:03:02.1",)"
        R"("containerEdits":{"deviceNodes":[{"path":"/dev/vfio/3",)"
        R"("hostPath":"/dev/vfio/noiommu-3","permissions":"rwm"}]}}]})");
}

TEST_CASE("A spec carries environment variables, mounts and hooks as CDI defines them") {
  const CdiSpec spec{"nvidia.com/net-pci",
                     "0000:03:02.1",
                     {.env = {{"A", "1"}, {"B", "x=y"}},
                      .mounts = {{"/run/a", "/etc/a", true}, {"/run/b", "/b", false}},
                      .hooks = {{.name = "createContainer",
                                 .path = "/opt/hook",
                                 .args = {"hook", "-v"},
                                 .env = {"C=2"},
                                 .timeout = std::chrono::seconds{5}}}}};
  const std::string text = format_cdi_spec(spec);
  CHECK(Json::parse(text)->find("devices")->as_array()->front().find("containerEdits")->text() ==
        R"({"env":["A=1","B=x=y"],"mounts":[)"
        R"({"hostPath":"/run/a","containerPath":"/etc/a","options":["bind","nosuid","nodev","ro"]},)"
        R"({"hostPath":"/run/b","containerPath":"/b","options":["bind","nosuid","nodev","rw"]}],)"
        R"("hooks":[{"hookName":"createContainer","path":"/opt/hook","args":["hook","-v"],"env":["C=2"],)"
        R"("timeout":5}]})");
  const auto again = parse_cdi_spec(text);
  REQUIRE(again);
  CHECK(*again == spec);
}

// Every field of CDI 0.8.0, and at each level one that no version has.
constexpr const char* kForeign = R"({
  "cdiVersion": "0.8.0", "kind": "nvidia.com/net-pci", "annotations": {"a.b/c": "d"}, "x": 1,
  "containerEdits": {"env": ["ALL=1"], "deviceNodes": [{"path": "/dev/infiniband/uverbs9"}], "x": [2]},
  "devices": [{
    "name": "0000:03:02.1", "annotations": {"e.f/g": "h"}, "x": {"y": null},
    "containerEdits": {
      "env": ["B=2", "A=1", "EMPTY="],
      "deviceNodes": [
        {"path": "/dev/cm", "hostPath": "/dev/infiniband/rdma_cm", "type": "c", "major": 10, "minor": 5,
         "fileMode": 438, "permissions": "rwm", "uid": 7, "gid": 8, "x": "kept"},
        {"path": "/dev/infiniband/uverbs4", "hostPath": "/dev/infiniband/uverbs4", "type": "c", "major": 231,
         "minor": 196, "fileMode": 384, "permissions": "rw", "uid": 1000, "gid": 1001, "x": 3.5},
        {"path": "/dev/infiniband/umad4", "hostPath": "/dev/infiniband/umad4", "permissions": "r"}],
      "mounts": [{"hostPath": "/run/a", "containerPath": "/a", "options": ["rbind", "ro"], "type": "none",
                  "x": true}],
      "hooks": [{"hookName": "prestart", "path": "/bin/hook", "args": ["hook"], "env": ["C=3"], "timeout": 9,
                 "x": {}}],
      "intelRdt": {"closID": "c", "l3CacheSchema": "l", "memBwSchema": "m", "enableCMT": true, "enableMBM": false},
      "additionalGids": [100, 101], "x": "unknown"}}]
})";

TEST_CASE("Rewriting a spec keeps its content, also what we do not know") {
  const auto spec = parse_cdi_spec(kForeign);
  REQUIRE(spec);
  CHECK(spec->edits.env == std::map<std::string, std::string>{{"A", "1"}, {"B", "2"}, {"EMPTY", ""}});
  CHECK(spec->edits.mounts == std::vector<Mount>{{"/run/a", "/a", true}});
  REQUIRE(spec->edits.hooks.size() == 1);
  CHECK(spec->edits.hooks.front().timeout == std::chrono::seconds{9});
  CHECK(*Json::parse(format_cdi_spec(*spec)) == *Json::parse(kForeign));
}

TEST_CASE("Renumbering RDMA nodes changes those nodes of a spec and nothing else") {
  auto spec = parse_cdi_spec(kForeign);
  REQUIRE(spec);
  REQUIRE(replace_rdma_nodes(*spec, {"umad7", "uverbs7"}));
  Json expected = *Json::parse(kForeign);
  std::string text = expected.text();
  const auto put = [&](const std::string& before, const std::string& after) {
    REQUIRE(text.find(before) != std::string::npos);
    text.replace(text.find(before), before.size(), after);
  };
  // The device's number was the old node's; permissions are those of the first RDMA node, as at Allocate.
  put(R"({"path":"/dev/infiniband/umad4","hostPath":"/dev/infiniband/umad4","permissions":"r"})", "");
  put(R"(,{"path":"/dev/infiniband/uverbs4","hostPath":"/dev/infiniband/uverbs4","type":"c","major":231,)"
      R"("minor":196,"fileMode":384,"permissions":"rw","uid":1000,"gid":1001,"x":3.5},)",
      "");
  put(R"("deviceNodes":[{"path":"/dev/cm")",
      R"("deviceNodes":[{"path":"/dev/infiniband/umad7","hostPath":"/dev/infiniband/umad7","permissions":"rw"},)"
      R"({"path":"/dev/infiniband/uverbs7","hostPath":"/dev/infiniband/uverbs7","type":"c","fileMode":384,)"
      R"("permissions":"rw","uid":1000,"gid":1001,"x":3.5},{"path":"/dev/cm")");
  CHECK(Json::parse(format_cdi_spec(*spec))->text() == text);
}

TEST_CASE(
    "A spec that is read can be written and read again, also one that indentation would make too long") {
  // Sixty lists within each other: two spaces for each in front of every number.
  const std::string numbers = std::string(60, '[') + "1" + std::string(60, ']');
  std::string deep = numbers;
  for (int i = 0; i < 1000; ++i) deep.insert(60, "1,");
  const auto spec =
      parse_cdi_spec(R"({"kind":"a/b","devices":[{"name":"c","containerEdits":{}}],"x":)" + deep + "}");
  REQUIRE(spec);
  const test::TempDir dir;
  const std::string path = dir.path("vfrail-a-b-c.json");
  REQUIRE(write_cdi_spec(path, path + ".new", *spec));
  const auto again = read_cdi_spec(path);
  REQUIRE(again);
  REQUIRE(again->has_value());
  CHECK(**again == *spec);
  CHECK((*again)->document == spec->document);
  CHECK(format_cdi_spec(**again) == format_cdi_spec(*spec));
}

TEST_CASE("A spec that is too long to be read again is not written") {
  const test::TempDir dir;
  const std::string path = dir.path("vfrail-a-b-c.json");
  CdiSpec spec = make_spec();
  REQUIRE(write_cdi_spec(path, path + ".new", spec));
  spec.edits.env["LONG"] = std::string(kMaxCdiSpecBytes, 'x');
  const auto refused = write_cdi_spec(path, path + ".new", spec);
  REQUIRE(!refused);
  CHECK(refused.error().text.find(path) != std::string::npos);
  CHECK(refused.error().text.find("65536") != std::string::npos);
  const auto kept = read_cdi_spec(path);
  REQUIRE((kept && kept->has_value()));
  CHECK(**kept == make_spec());
}

TEST_CASE("A spec is read as it was written") {
  const test::TempDir dir;
  const std::string path = dir.path(make_spec().file_name());
  CHECK_FALSE(read_cdi_spec(path)->has_value());
  REQUIRE(write_cdi_spec(path, path + ".new", make_spec()));
  CHECK(**read_cdi_spec(path) == make_spec());
  CHECK(std::filesystem::directory_iterator(dir.path())->path() == path);
}

TEST_CASE("Whoever reads a spec as vfrail does leaves no trace, so that a runtime's reading shows") {
  const test::TempDir dir;
  const std::string path = dir.path(make_spec().file_name());
  REQUIRE(write_cdi_spec(path, path + ".new", make_spec()));
  REQUIRE(read_cdi_spec(path));
  struct stat info {};
  REQUIRE(::stat(path.c_str(), &info) == 0);
  CHECK(info.st_atim.tv_sec < info.st_mtim.tv_sec);
}

TEST_CASE("The file name follows from the device's, and CDI's library accepts it as JSON") {
  CHECK(make_spec().qualified_name() == "nvidia.com/net-pci=0000:03:02.1");
  CHECK(make_spec().file_name() == "vfrail-nvidia.com-net-pci-0000:03:02.1.json");
}

TEST_CASE("A file that is not a spec of vfrail is an error that names the file and the key") {
  const auto [text, key] = GENERATE(table<const char*, const char*>(
      {{"{", "line 1"},
       {"{}", "kind"},
       {R"({"kind":"a/b"})", "devices"},
       {R"({"kind":"a/b","devices":[{"name":"1"},{"name":"2"}]})", "devices"},
       {R"({"kind":"a/b","devices":[5]})", "devices"},
       {R"({"kind":"a/b","devices":[{"name":""}]})", "name"},
       {R"({"kind":"a/b","devices":[{"name":"1\u00002","containerEdits":{}}]})", "name of a file"},
       {R"({"kind":"a/b","devices":[{"name":"1"}]})", "containerEdits"},
       {R"({"kind":"a/b","devices":[{"name":"1","containerEdits":5}]})", "containerEdits"},
       {R"({"kind":"a/b","devices":[{"name":"1","containerEdits":{"deviceNodes":{}}}]})", "deviceNodes"},
       {R"({"kind":"a/b","devices":[{"name":"1","containerEdits":{"env":["PATH"]}}]})", "env: element"},
       {R"({"kind":"a/b","devices":[{"name":"1","containerEdits":{"mounts":[{"hostPath":"/a"}]}}]})",
        "mounts: containerPath"},
       {R"({"kind":"a/b","devices":[{"name":"1","containerEdits":{"mounts":[
           {"hostPath":"/a","containerPath":"/b","options":"ro"}]}}]})",
        "mounts: options"},
       {R"({"kind":"a/b","devices":[{"name":"1","containerEdits":{"hooks":[
           {"hookName":"poststop","path":"/a","timeout":"5"}]}}]})",
        "hooks: timeout"},
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
  for (const DeviceNode& one : spec.edits.nodes) {
    if (one.host_path.starts_with("/dev/infiniband/")) CHECK(one == node(one.host_path));
  }
  CHECK(spec.edits.nodes.back() == make_spec().edits.nodes.back());
}

TEST_CASE("Replaced nodes keep the permissions that the resource asks for") {
  CdiSpec spec = make_spec();
  for (DeviceNode& one : spec.edits.nodes) one.permissions = "rwm";
  REQUIRE(replace_rdma_nodes(spec, {"uverbs5"}));
  CHECK(spec.edits.nodes.front() == node("/dev/infiniband/uverbs5", "rwm"));
}

TEST_CASE("The same nodes in another order are no change") {
  CdiSpec spec = make_spec();
  CHECK_FALSE(replace_rdma_nodes(spec, {"uverbs4", "umad4"}));
  CHECK(spec == make_spec());
}

TEST_CASE("A spec has RDMA nodes if any of its nodes has a number") {
  CdiSpec spec = make_spec();
  CHECK(has_rdma_nodes(spec));
  spec.edits.nodes = {node("/dev/infiniband/rdma_cm"), node("/dev/vfio/vfio"), node("/dev/infiniband")};
  CHECK_FALSE(has_rdma_nodes(spec));
}

// CDI's library watches the folder; in its older versions only the departure of the temporary name
// (IN_MOVED_FROM) makes it read the folder again, not the arrival of the new one.
TEST_CASE("Writing a spec is a rename, which folder watches report") {
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

TEST_CASE("A FIFO or a link in the place of a spec, or at its temporary name, is neither read nor written") {
  const test::TempDir dir;
  const std::string path = dir.path(make_spec().file_name());
  const bool is_fifo = GENERATE(true, false);
  const auto put = [&](const std::string& name) {
    if (is_fifo) REQUIRE(::mkfifo(name.c_str(), 0666) == 0);
    if (!is_fifo) std::filesystem::create_symlink(dir.path("victim"), name);
  };
  put(path);
  CHECK_FALSE(read_cdi_spec(path));
  put(path + ".new");
  REQUIRE(write_cdi_spec(path, path + ".new", make_spec()));
  CHECK(read_cdi_spec(path));
  CHECK_FALSE(std::filesystem::exists(dir.path("victim")));
}

}  // namespace vfrail
