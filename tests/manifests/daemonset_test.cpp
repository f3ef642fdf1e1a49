// The DaemonSet asks for no right it can do without, and what it asks for is written down: capabilities with
// a comment, host paths in manifests/README.md.
#include "tests/manifests/documents.h"
#include "tests/support/places.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <regex>
#include <set>
#include <sstream>

#include <catch2/catch.hpp>

namespace vfrail::test {
using namespace plugin;
namespace {

constexpr const char* kDaemonSet = "manifests/daemonset.yaml";

YAML::Node pod_spec(const std::string& file) { return document(file).node["spec"]["template"]["spec"]; }

// The containers of the DaemonSet and of the patches beside it.
std::vector<YAML::Node> all_containers() {
  std::vector<YAML::Node> all;
  for (const Document& one : documents_of("DaemonSet")) {
    for (const char* list : {"initContainers", "containers"}) {
      for (const auto& container : below(one.node, {"spec", "template", "spec", list}))
        all.push_back(container);
    }
  }
  return all;
}

struct HostPath {
  std::string inside;
  bool write = false;
  bool operator==(const HostPath&) const = default;
};

// Host path -> where it is mounted, as the DaemonSet has it, and whether any container may write there.
std::map<std::string, HostPath> mounted() {
  const YAML::Node spec = pod_spec(kDaemonSet);
  std::map<std::string, HostPath> paths;
  for (const auto& volume : spec["volumes"]) {
    if (!volume["hostPath"].IsDefined()) continue;
    const auto path = volume["hostPath"]["path"].as<std::string>();
    for (const char* list : {"initContainers", "containers"}) {
      for (const auto& container : spec[list]) {
        for (const auto& mount : container["volumeMounts"]) {
          if (mount["name"].as<std::string>() != volume["name"].as<std::string>()) continue;
          HostPath& out = paths[path];
          out.inside = mount["mountPath"].as<std::string>();
          out.write = out.write || !mount["readOnly"].as<bool>(false);
        }
      }
    }
    INFO(path << " is a volume that no container mounts");
    REQUIRE(paths.contains(path));
  }
  return paths;
}

// The same, as the table in the README has it: "| `host` | `inside` or the same | read or write | why |".
std::map<std::string, HostPath> documented() {
  static const std::regex row(R"(^\| `(/[^`]*)` \| (?:`(/[^`]*)`|the same) \| (read|write) \| \S.* \|$)");
  std::map<std::string, HostPath> paths;
  std::istringstream lines(file_text("manifests/README.md"));
  for (std::string line; std::getline(lines, line);) {
    std::smatch match;
    if (!std::regex_match(line, match, row)) continue;
    paths[match[1]] = {match[2].matched ? match[2].str() : match[1].str(), match[3] == "write"};
  }
  return paths;
}

std::string show(const std::map<std::string, HostPath>& paths) {
  std::string text;
  for (const auto& [host, path] : paths) {
    text += host + " at " + path.inside + (path.write ? " to write\n" : " to read\n");
  }
  return text;
}

}  // namespace

TEST_CASE("the pod has no namespace of the host, no privilege and no API token") {
  const YAML::Node spec = pod_spec(kDaemonSet);
  for (const char* key : {"hostNetwork", "hostPID", "hostIPC"}) {
    INFO(key);
    CHECK_FALSE(spec[key].as<bool>(false));
  }
  CHECK_FALSE(spec["automountServiceAccountToken"].as<bool>(true));
  CHECK(spec["serviceAccountName"].as<std::string>() == "default");
  CHECK(below(spec, {"securityContext", "seccompProfile", "type"}).as<std::string>() == "RuntimeDefault");
  for (const Document& one : documents()) {
    INFO(one.where());
    CHECK(one.kind().find("Role") == std::string::npos);
    CHECK(one.kind() != "ServiceAccount");
  }
}

TEST_CASE("every container drops all capabilities, has a read-only root and cannot gain rights") {
  const auto all = all_containers();
  REQUIRE(all.size() >= 3);
  for (const YAML::Node& container : all) {
    INFO(container["name"].as<std::string>());
    const YAML::Node context = container["securityContext"];
    CHECK_FALSE(context["privileged"].as<bool>(false));
    CHECK_FALSE(context["allowPrivilegeEscalation"].as<bool>(true));
    CHECK(context["readOnlyRootFilesystem"].as<bool>(false));
    CHECK(below(context, {"capabilities", "drop"}).as<std::vector<std::string>>() ==
          std::vector<std::string>{"ALL"});
    // On the pod's address; none of the node.
    for (const auto& port : container["ports"]) CHECK_FALSE(port["hostPort"].IsDefined());
    CHECK(below(container, {"resources", "limits", "memory"}).IsDefined());
  }
}

TEST_CASE("the plugin may only listen, an installer has one capability") {
  for (const YAML::Node& container : all_containers()) {
    const auto name = container["name"].as<std::string>();
    INFO(name);
    const auto added = below(container, {"securityContext", "capabilities", "add"})
                           .as<std::vector<std::string>>(std::vector<std::string>{});
    if (name == "vfrail") {
      CHECK(added == std::vector<std::string>{"NET_BROADCAST"});
    } else {
      CHECK(added == std::vector<std::string>{"DAC_OVERRIDE"});
    }
  }
}

TEST_CASE("each added capability has its reason in front of it and in the README") {
  const std::string readme = file_text("manifests/README.md");
  static const std::regex add(R"(^ *add: *(.*)$)");
  static const std::regex item(R"(^ *- ([A-Z_]+) *$)");
  size_t added = 0;
  for (const std::string& file : files_with({".yaml"})) {
    if (!file.starts_with("manifests/")) continue;
    std::istringstream lines(file_text(file));
    std::string before;
    bool in_list = false;
    for (std::string line; std::getline(lines, line); before = line) {
      INFO(file << ": " << line);
      std::smatch match;
      if (std::regex_match(line, match, add)) {
        // A list in brackets has no room for reasons.
        CHECK(match[1].str().empty());
        in_list = true;
      } else if (in_list && std::regex_match(line, match, item)) {
        ++added;
        CHECK(before.find("# ") != std::string::npos);
        CHECK(readme.find("`" + match[1].str() + "`") != std::string::npos);
      } else if (line.find('#') == std::string::npos) {
        in_list = false;
      }
    }
  }
  size_t in_yaml = 0;
  for (const YAML::Node& container : all_containers()) {
    in_yaml += below(container, {"securityContext", "capabilities", "add"}).size();
  }
  CHECK(added == in_yaml);
}

TEST_CASE("each host path is in the README's table with its access, and no other") {
  CHECK(show(mounted()) == show(documented()));
}

TEST_CASE("only installers write to the CNI folder, and the plugin only where kubelet and the CNI read") {
  for (const auto& [path, mount] : mounted()) {
    if (mount.write) continue;
    INFO(path);
    // Kubelet's folder and vfrail-cni's are where --kubelet-root and --cni-state-dir say, inside as outside.
    CHECK(mount.inside == (path.starts_with("/var/lib/") ? path : "/host" + path));
  }
  for (const auto& container : pod_spec(kDaemonSet)["containers"]) {
    for (const auto& mount : container["volumeMounts"]) {
      if (mount["name"].as<std::string>() == "cni-bin") CHECK(mount["readOnly"].as<bool>(false));
    }
  }
  // kubelet opens the socket by the path that the plugin names.
  for (const char* path : {"/var/lib/kubelet/device-plugins", "/var/lib/kubelet/plugins_registry",
                           "/var/run/k8s.cni.cncf.io/devinfo/dp", "/run/vfrail/promised", "/run/vfrail/none",
                           "/run/vfrail/devices"}) {
    INFO(path);
    REQUIRE(mounted().contains(path));
    CHECK(mounted().at(path) == HostPath{path, true});
  }
}

TEST_CASE("whatever the plugin's source names below sys, proc and dev is mounted") {
  const auto paths = mounted();
  static const std::regex literal(R"re("((?:sys|proc|dev)/[^"]+)")re");
  size_t found = 0;
  const std::string top = test::source_path();
  for (const auto& entry : std::filesystem::recursive_directory_iterator(top + "/plugin")) {
    if (entry.path().extension() != ".cpp") continue;
    // They read about their own container: its /proc.
    if (entry.path().filename() == "process_facts.cpp" || entry.path().filename() == "main.cpp") continue;
    // Asks only with --root /, which is not the DaemonSet's.
    if (entry.path().filename() == "host_view.cpp") continue;
    // A capture has the IOMMU groups' files where it can read them. Nodes without an IOMMU do not have the
    // folder, and could not start the pod if it were mounted.
    if (entry.path().filename() == "capture.cpp") continue;
    // Read there, and then from the container's own /proc: it is the machine's.
    if (entry.path().filename() == "unclean_facts.cpp") continue;
    // As that; the rest is of a node whose files are all there, and is reported as unknown in the container.
    if (entry.path().parent_path().filename() == "doctor") continue;
    const std::string text = file_text(std::filesystem::relative(entry.path(), top).string());
    for (auto at = std::sregex_iterator(text.begin(), text.end(), literal); at != std::sregex_iterator();
         ++at) {
      // What captured trees have in place of proc/1/net, which is tried first.
      if ((*at)[1] == "proc/net/" || (*at)[1] == "proc/net" || (*at)[1] == "proc/1" ||
          (*at)[1] == "proc/self")
        continue;
      const std::string read = "/" + (*at)[1].str() + "/";
      INFO(entry.path().filename().string() << " reads " << read);
      ++found;
      CHECK(std::any_of(paths.begin(), paths.end(),
                        [&](const auto& one) { return read.starts_with(one.first + "/"); }));
    }
  }
  CHECK(found > 0);
}

TEST_CASE("the configuration is mounted where --config-file reads it, and follows the ConfigMap") {
  const YAML::Node spec = pod_spec(kDaemonSet);
  const auto args = spec["containers"][0]["args"].as<std::vector<std::string>>();
  REQUIRE(args[0] == "serve");
  const std::string option = "--config-file=";
  const auto file =
      std::find_if(args.begin(), args.end(), [&](const auto& one) { return one.starts_with(option); });
  REQUIRE(file != args.end());
  CHECK(std::find(args.begin(), args.end(), "--root=/host") != args.end());

  std::string volume;
  for (const auto& mount : spec["containers"][0]["volumeMounts"]) {
    if (option + mount["mountPath"].as<std::string>() + "/config.json" != *file) continue;
    volume = mount["name"].as<std::string>();
    CHECK_FALSE(mount["subPath"].IsDefined());
  }
  REQUIRE(!volume.empty());
  for (const auto& one : spec["volumes"]) {
    if (one["name"].as<std::string>() != volume) continue;
    CHECK(one["configMap"]["name"].as<std::string>() == documents_of("ConfigMap").at(0).name());
  }
}

TEST_CASE("the commands of all containers are in the image, and the image is the same everywhere") {
  // What is in the image tests/image/run says, and holds it to that.
  const std::string files = file_text("tests/image/run");
  std::set<std::string> images;
  for (const YAML::Node& container : all_containers()) {
    const auto command = container["command"].as<std::vector<std::string>>();
    INFO(command[0]);
    CHECK(files.find("\n" + command[0].substr(1) + "\n") != std::string::npos);
    images.insert(container["image"].as<std::string>());
  }
  CHECK(images.size() == 1);
}

namespace {

// The node that a JSON pointer names; "-" behind a list is its end.
YAML::Node at_pointer(YAML::Node node, const std::string& pointer) {
  std::istringstream parts(pointer.substr(1));
  for (std::string part; std::getline(parts, part, '/');) {
    if (part == "-") {
      INFO(pointer << " appends to what is no list");
      REQUIRE(node.IsSequence());
      return node;
    }
    node.reset(node.IsSequence() ? node[std::stoul(part)] : node[part]);
    INFO(pointer << ": " << part);
    REQUIRE(node.IsDefined());
  }
  return node;
}

}  // namespace

TEST_CASE("the example with CDI adds to the DaemonSet what its comments say") {
  const YAML::Node kustomization = document("examples/cdi/kustomization.yaml").node;
  CHECK(kustomization["resources"][0].as<std::string>() == "../../manifests");
  YAML::Node daemonset = YAML::Clone(document(kDaemonSet).node);
  for (const auto& patch : kustomization["patches"]) {
    CHECK(patch["target"]["name"].as<std::string>() == daemonset["metadata"]["name"].as<std::string>());
    for (const auto& change : YAML::Load(patch["patch"].as<std::string>())) {
      REQUIRE(change["op"].as<std::string>() == "add");
      at_pointer(daemonset, change["path"].as<std::string>()).push_back(change["value"]);
    }
  }
  const YAML::Node spec = daemonset["spec"]["template"]["spec"];
  const YAML::Node plugin = spec["containers"][0];
  CHECK(plugin["args"][plugin["args"].size() - 1].as<std::string>() == "--use-cdi");
  // The runtime reads where the plugin writes, at the same path; and its configuration is below --root.
  const auto paths = mounted();
  CHECK(paths.at("/var/run/cdi") == HostPath{"/var/run/cdi", true});
  for (const char* folder : {"/etc/containerd", "/etc/crio"})
    CHECK(paths.at(folder) == HostPath{std::string("/host") + folder, false});
}

TEST_CASE("metrics and probes are on, at the port that is declared, in the pod's own network") {
  const YAML::Node plugin = pod_spec(kDaemonSet)["containers"][0];
  REQUIRE(plugin["ports"].size() == 1);
  const auto port = plugin["ports"][0]["containerPort"].as<std::string>();
  const auto args = plugin["args"].as<std::vector<std::string>>();
  CHECK(std::find(args.begin(), args.end(), "--metrics-address=:" + port) != args.end());
  for (const auto& [probe, path] :
       {std::pair{"readinessProbe", "/readyz"}, std::pair{"livenessProbe", "/healthz"}}) {
    INFO(probe);
    CHECK(below(plugin, {probe, "httpGet", "path"}).as<std::string>("") == path);
    CHECK(below(plugin, {probe, "httpGet", "port"}).as<std::string>("") ==
          plugin["ports"][0]["name"].as<std::string>());
  }
}

TEST_CASE("a host path that a node may lack does not keep the pod from it") {
  // What every node has, and what says that the node's kubelet or runtime is elsewhere.
  const std::set<std::string> required = {"/var/lib/kubelet/device-plugins",
                                          "/opt/cni/bin",
                                          "/sys/bus",
                                          "/sys/class",
                                          "/sys/devices",
                                          "/sys/module",
                                          "/proc/1/net"};
  for (const auto& volume : pod_spec(kDaemonSet)["volumes"]) {
    const auto path = below(volume, {"hostPath", "path"}).as<std::string>("");
    if (path.empty()) continue;
    INFO(path);
    CHECK(below(volume, {"hostPath", "type"}).as<std::string>("") ==
          (required.contains(path) ? "Directory" : "DirectoryOrCreate"));
  }
}

TEST_CASE("the pod goes to the architectures that the image is built for") {
  const YAML::Node terms = below(
      pod_spec(kDaemonSet), {"affinity", "nodeAffinity", "requiredDuringSchedulingIgnoredDuringExecution"});
  const YAML::Node wanted = terms["nodeSelectorTerms"][0]["matchExpressions"][0];
  CHECK(wanted["key"].as<std::string>() == "kubernetes.io/arch");
  CHECK(wanted["values"].as<std::vector<std::string>>() == std::vector<std::string>{"amd64", "arm64"});
}

}  // namespace vfrail::test
