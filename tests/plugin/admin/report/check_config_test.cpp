// `vfrail check-config` and `vfrail render`: what is printed, and the exit codes.
#include "plugin/admin/report/check_config.h"

#include "plugin/admin/report/render.h"
#include "plugin/device/config/formats/parse_config.h"
#include "tests/plugin/admin/report/run.h"
#include "tests/support/temp_dir.h"

#include <cstdio>
#include <fstream>
#include <iostream>
#include <unistd.h>

#include <catch2/catch.hpp>

using namespace vfrail;
using namespace vfrail::plugin;
using test::kHostdev;
using test::Run;
using test::run;
using test::TempDir;
using test::write;

namespace {

Run check(const std::vector<std::string>& files) {
  CheckConfigOptions options;
  options.files = files;
  return run([&] { return check_config(options); });
}

// What `command` reads as stdin.
Run with_stdin(const std::string& file, const std::function<int()>& command) {
  const int saved = ::dup(STDIN_FILENO);
  FILE* opened = std::fopen(file.c_str(), "r");
  REQUIRE((saved >= 0 && opened != nullptr));
  ::dup2(::fileno(opened), STDIN_FILENO);
  Run out = run(command);
  ::dup2(saved, STDIN_FILENO);
  ::close(saved);
  std::fclose(opened);
  return out;
}

constexpr const char* kMap = R"(apiVersion: v1
kind: ConfigMap
metadata: {name: vfrail-config, namespace: kube-system}
data:
  config.json: |
    {"resourceList": [{"resourcePrefix": "nvidia.com", "resourceName": "hostdev", "selectors": {"isRdma": true}}]}
)";

std::string network(const std::string& resource) {
  return "apiVersion: k8s.cni.cncf.io/v1\nkind: NetworkAttachmentDefinition\nmetadata:\n  name: n\n  "
         "annotations:\n"
         "    k8s.v1.cni.cncf.io/resourceName: " +
         resource + "\nspec:\n  config: '{\"cniVersion\": \"1.0.0\", \"type\": \"vfrail\"}'\n";
}

constexpr const char* kHostDevice =
    "apiVersion: mellanox.com/v1alpha1\nkind: HostDeviceNetwork\nmetadata: {name: h}\nspec:\n"
    "  {networkNamespace: d, resourceName: hostdev}\n";

}  // namespace

TEST_CASE("check-config describes a good configuration and exits with 0") {
  const TempDir folder;
  CheckConfigOptions options;
  options.files = {write(folder, kHostdev)};
  const Run result = run([&] { return check_config(options); });
  CHECK(result.code == 0);
  CHECK(result.out.find("intel.com/hostdev\n  selects    with RDMA\n") == 0);
  CHECK(result.err.find("warning: " + options.files[0] +
                        ": resourceList[0] (intel.com/hostdev): selectors.comment") == 0);
}

TEST_CASE(
    "check-config exits with 2 for a missing file, under strict for an unknown key, and for too long a "
    "name") {
  const TempDir folder;
  CheckConfigOptions options;
  options.files = {folder.path("none.json")};
  Run result = run([&] { return check_config(options); });
  CHECK(result.code == 2);
  CHECK(result.err.find("vfrail: open configuration " + options.files[0] + ": ENOENT") == 0);

  options.files = {write(folder, kHostdev)};
  options.strict = true;
  result = run([&] { return check_config(options); });
  CHECK(result.code == 2);
  CHECK(result.out.empty());

  options.files[0] = write(folder, R"({"resourceList":[{"resourcePrefix":"a-rather-long-prefix.example.com",
      "resourceName":"a_name_of_sixty_characters_which_is_fine_for_kubernetes_itself","selectors":{}}]})");
  options.strict = false;
  result = run([&] { return check_config(options); });
  CHECK(result.code == 2);
  CHECK(result.err.find("a unix socket's path can have 107") != std::string::npos);
}

TEST_CASE("check-config describes a file with vfs alone, and finds what is wrong in it") {
  const TempDir folder;
  const Run good = check({write(folder, R"({"vfs": [{"pf": ["ens1f*", "0000:3b:00.0"], "count": 8,
                                                     "driver": "vfio-pci#4-7"}], "rdma": {"netns": "shared"}})")});
  CHECK(good.code == 0);
  CHECK(good.out ==
        "vfs[0]\n  PFs        0000:3b:00.0, ens1f*\n  makes      8 VFs\n  driver     vfio-pci#4-7\n");
  CHECK_THAT(good.err, Catch::Contains("note: ") && Catch::Contains("for `vfrail provision`, not for serve"));
  const Run faulty = check({write(folder, R"({"vfs": [{"pf": "ens1f0"}]})")});
  CHECK(faulty.code == 2);
  CHECK_THAT(faulty.err, Catch::Contains("vfs[0].count: missing"));
  const Run misspelt =
      check({write(folder, R"({"vfs": [{"pf": "ens1f0", "count": 1}], "resourceLst": []})")});
  CHECK(misspelt.code == 2);
  CHECK_THAT(misspelt.err, Catch::Contains("did you mean \"resourceList\"?"));
}

TEST_CASE("check-config says on which nodes ddpProfiles match nothing") {
  const TempDir folder;
  const Run result = check(
      {write(folder, R"({"resourceList":[{"resourceName":"a","selectors":{"ddpProfiles":["GTP"]}}]})")});
  CHECK(result.code == 0);
  CHECK(result.err.find("note: ddpProfiles of intel.com/a are compared with fw.app.name") == 0);
}

TEST_CASE("check-config exits with 2 for one faulty entry, and under strict with 1 for a warning") {
  const TempDir folder;
  CheckConfigOptions options;
  options.files.emplace_back();
  options.files[0] =
      write(folder, R"({"resourceList":[{"resourceName":"a","selectors":{"drivers":["mlx5_core"]}},
      {"resourceName":"b","selectors":{"vendor":["15b3"]}}]})");
  Run result = run([&] { return check_config(options); });
  CHECK(result.code == 2);
  CHECK(result.err.find("error: " + options.files[0] + ": resourceList[1] (intel.com/b): selectors.vendor") ==
        0);
  CHECK(result.out.find("intel.com/a") == 0);
  for (const char* odd :
       {R"({"resourceList":[{"resourceName":"a","selectors":{"vendors":["0x15b3","15b3"]}}]})",
        R"({"resourceList":[{"resourceName":"a","selectors":{"pfNames":["p#3-1","p#0"]}}]})"}) {
    CAPTURE(odd);
    options.files = {write(folder, odd)};
    options.strict = false;
    result = run([&] { return check_config(options); });
    CHECK(result.code == 0);
    CHECK(result.err.find("warning: ") == 0);
    options.strict = true;
    CHECK(run([&] { return check_config(options); }).code == 1);
  }
  options.strict = false;
  for (const char* mistake :
       {R"({"mode":"foo"})", R"({"configList":[{"resourceName":"a","devices":["x"],"rdmaHcaMax":0}]})",
        R"({"resourceList":[{"resourceName":"a","selectors":{"pfNames":["ens*"]}}]})"}) {
    CAPTURE(mistake);
    options.files = {write(folder, mistake)};
    result = run([&] { return check_config(options); });
    CHECK(result.code == 2);
    CHECK(result.err.find("error: ") == 0);
  }
}

TEST_CASE("a configuration is read through the symbolic links of a mounted ConfigMap") {
  const TempDir folder;
  test::write_tree(folder.path(), "config.json -> ..data/config.json\n..data -> ..2026/\n..2026/");
  std::ofstream(folder.path("..2026/config.json")) << kHostdev;
  CheckConfigOptions options;
  options.files = {folder.path("config.json")};
  CHECK(run([&] { return check_config(options); }).code == 0);
}

TEST_CASE("check-config accepts a ConfigMap with networks beside it, and lists what it read") {
  const TempDir folder;
  const Run result =
      check({write(folder, "all.yaml",
                   kMap + std::string("---\n") + network("nvidia.com/hostdev") + "---\n" + kHostDevice)});
  INFO(result.err);
  CHECK(result.code == 0);
  CHECK(result.err == "note: " + folder.path("all.yaml") +
                          ": document 1 (ConfigMap kube-system/vfrail-config): the configuration is "
                          "data[\"config.json\"] (line 5)\n");
  CHECK(result.out.find("nvidia.com/hostdev\n") == 0);
  CHECK(result.out.find("network default/n\n  plugins    vfrail\n  resource   nvidia.com/hostdev\n") !=
        std::string::npos);
  CHECK(result.out.find("network d/h\n  plugins    host-device\n") != std::string::npos);
}

TEST_CASE("check-config exits with 2 for a network whose resource no file configures") {
  const TempDir folder;
  const std::string map = write(folder, "map.yaml", kMap);
  const std::string wrong = write(folder, "wrong.yaml", network("nvidia.com/hostdevs"));
  const Run result = check({map, wrong});
  CHECK(result.code == 2);
  CHECK(result.err.find(
            "error: " + wrong +
            ": document 1 (NetworkAttachmentDefinition n): the resource nvidia.com/hostdevs (line 6) is "
            "in no configuration that was given; did you mean \"nvidia.com/hostdev\"?") != std::string::npos);
  const Run alone = check({wrong});
  CHECK(alone.code == 0);
  CHECK(alone.err.find("note: " + wrong) == 0);
  const std::string other = write(
      folder, "other.json",
      R"({"resourceList":[{"resourcePrefix":"nvidia.com","resourceName":"hostdevs","selectors":{"isRdma":true}}]})");
  CHECK(check({map, wrong, other}).code == 0);
  CHECK(check({write(folder, "faulty.yaml", network("hostdev"))}).code == 2);
}

TEST_CASE("check-config exits with 2 for a warning of serve, if a selection differs from what it states") {
  const TempDir folder;
  const Run result = check({write(
      folder, "c.json",
      R"({"resourceList":[{"resourceName":"a","selectors":{"drivers":["vfio-pci"],"isRdma":true}}]})")});
  CHECK(result.code == 2);
  CHECK(result.err.find(
            "error: " + folder.path("c.json") +
            ": resourceList[0] (intel.com/a): selectors: matches nothing on any node: isRdma cannot be "
            "combined with the driver vfio-pci") == 0);
  CHECK(result.out.find("intel.com/a\n") == 0);
}

TEST_CASE("check-config finds in a network what vfrail-cni would ignore or refuse, in YAML as in JSON") {
  const TempDir folder;
  const auto check_network = [&](const std::string& config) {
    return check({write(folder, "network.yaml",
                        "apiVersion: k8s.cni.cncf.io/v1\nkind: NetworkAttachmentDefinition\n"
                        "metadata: {name: n, annotations: {k8s.v1.cni.cncf.io/resourceName: a.com/b}}\n"
                        "spec:\n  config: |\n    " +
                            config)});
  };
  const Run ignored = check_network(R"({"cniVersion": "1.0.0", "type": "vfrail", "mtuu": 9000})");
  CHECK(ignored.code == 0);
  CHECK_THAT(ignored.err, Catch::Contains("warning: ") && Catch::Contains("spec.config: ") &&
                              Catch::Contains("mtuu") && Catch::Contains("[VF-NETWORK-KEY-IGNORED]"));
  const Run refused = check_network(
      R"({"cniVersion": "1.0.0", "plugins": [{"type": "vfrail", "mtu": 9000}, {"type": "vfrail", "rdma": "yes"}]})");
  CHECK(refused.code == 2);
  CHECK_THAT(refused.err, Catch::Contains("error: ") && Catch::Contains("spec.config: plugins[1]: ") &&
                              Catch::Contains("rdma") && !Catch::Contains("plugins[0]"));
  const Run other = check_network(R"({"cniVersion": "1.0.0", "type": "bridge", "mtuu": 9000})");
  CHECK(other.code == 0);
  CHECK_THAT(other.err, !Catch::Contains("mtuu"));
}

TEST_CASE("check-config exits with 2 for a file with neither a configuration nor a network") {
  const TempDir folder;
  const Run result = check({write(folder, "pod.yaml", "apiVersion: v1\nkind: Pod\nmetadata: {name: p}\n")});
  CHECK(result.code == 2);
  CHECK(result.err.find("no configuration: there is Pod p; expected") != std::string::npos);
  for (const char* file : {"none.yaml", "none.json"}) {
    CHECK(
        check({write(folder, file, "\n")}).err.find(std::string(file) + ": it is empty [VF-CONFIG-EMPTY]") !=
        std::string::npos);
  }
}

TEST_CASE("check-config and render read stdin") {
  const TempDir folder;
  const std::string map = write(folder, "map.yaml", kMap);
  CheckConfigOptions options;
  options.files = {"-"};
  const Run checked = with_stdin(map, [&] { return check_config(options); });
  CHECK(checked.code == 0);
  CHECK(checked.err.find("note: stdin: document 1 (ConfigMap") == 0);
  const Run rendered = with_stdin(write(folder, "h.yaml", kHostDevice), [] { return render({.file = "-"}); });
  CHECK(rendered.code == 0);
  CHECK(rendered.out.find("apiVersion: \"k8s.cni.cncf.io/v1\"\n") == 0);
}

TEST_CASE("render prints the network of each HostDeviceNetwork, or none if one is wrong") {
  const TempDir folder;
  const std::string two = std::string(kHostDevice) + "---\napiVersion: v1\nkind: Pod\n---\n" + kHostDevice;
  RenderOptions options;
  options.file = write(folder, "two.yaml", two);
  const Run good = run([&] { return render(options); });
  CHECK(good.code == 0);
  CHECK(good.out.find("'\n---\napiVersion: ") != std::string::npos);
  CHECK(good.out.find("\"type\":\"host-device\"") != std::string::npos);
  options.type = "vfrail";
  CHECK(run([&] { return render(options); }).out.find("\"type\":\"vfrail\"") != std::string::npos);
  options.file = write(folder, "wrong.yaml", two + "---\n" + std::string(kHostDevice) + "  # more\n  ,\n");
  CHECK(run([&] { return render(options); }).code == 2);
  options.file = write(folder, "nameless.yaml",
                       "apiVersion: mellanox.com/v1alpha1\nkind: HostDeviceNetwork\nspec: {}\n");
  const Run nameless = run([&] { return render(options); });
  CHECK(nameless.code == 2);
  CHECK(nameless.out.empty());
  CHECK(nameless.err == "vfrail: " + options.file +
                            ": document 1 (HostDeviceNetwork without a name): metadata.name: must be a "
                            "string that is not empty [VF-INVALID-INPUT]\n");
  options.file = write(folder, "map.yaml", kMap);
  CHECK(run([&] { return render(options); }).err ==
        "vfrail: " + options.file +
            ": no HostDeviceNetwork, MacvlanNetwork or IPoIBNetwork: there is ConfigMap "
            "kube-system/vfrail-config [VF-CONFIG-EMPTY]\n");
}

TEST_CASE("render --type is for HostDeviceNetworks, and the other networks keep their plugins") {
  const TempDir folder;
  const std::string start = "---\napiVersion: mellanox.com/v1alpha1\nkind: ";
  const std::string file = write(folder, "three.yaml",
                                 kHostDevice + start + "MacvlanNetwork\nmetadata: {name: m}\nspec: {}\n" +
                                     start + "IPoIBNetwork\nmetadata: {name: i}\nspec: {master: ib0}\n");
  const Run rendered = run([&] { return render({.file = file, .type = "vfrail"}); });
  CHECK(rendered.code == 0);
  for (const char* type : {"vfrail", "macvlan", "ipoib"})
    CHECK(rendered.out.find("\"type\":\"" + std::string(type) + "\"") != std::string::npos);
}
