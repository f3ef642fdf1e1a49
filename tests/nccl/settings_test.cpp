// The real NCCL beside what vfrail-check says of it: which of several files and variables counts, and which
// interface it takes. For each version in VFRAIL_NCCL.
#include "cni/in_pod/facts/nccl_choice.h"
#include "common/netlink/netlink_kernel.h"
#include "tests/netns/program.h"
#include "tests/support/places.h"
#include "tests/support/temp_dir.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <regex>

#include <catch2/catch.hpp>

namespace vfrail::test {
using namespace pod;
namespace {

namespace fs = std::filesystem;

struct Version {
  int minor = 0;  // 27 of 2.27.7
  std::string library;
};

std::vector<Version> versions() {
  std::vector<Version> out;
  for (const auto& folder : fs::directory_iterator(std::getenv("VFRAIL_NCCL"))) {
    const std::string name = folder.path().filename().string();
    out.push_back({std::stoi(name.substr(2)), folder.path().string() + "/libnccl.so.2"});
  }
  std::sort(out.begin(), out.end(), [](const Version& a, const Version& b) { return a.minor < b.minor; });
  return out;
}

// A pod's files. The home that /etc/passwd names, and that of $HOME, are different.
struct Pod {
  Pod() {
    for (const char* home : {"passwd", "home"}) fs::create_directories(dir.path(home));
    write_text("/etc/passwd", "root:x:0:0:root:" + dir.path("passwd") + ":/bin/sh\n");
    fs::remove("/etc/nccl.conf");
    environment["HOME"] = dir.path("home");
  }
  void write(const std::string& home, const std::string& text) const {
    write_text(dir.path(home + "/.nccl.conf"), text);
  }
  // What NCCL's own process has at its end, and prints before.
  std::map<std::string, std::string> settings(const Version& version) const {
    const Outcome outcome = run(version);
    std::map<std::string, std::string> out;
    std::istringstream lines(outcome.out);
    for (std::string line; std::getline(lines, line);) {
      const size_t equals = line.find('=');
      if (line.starts_with("NCCL_") && equals != std::string::npos)
        out[line.substr(0, equals)] = line.substr(equals + 1);
    }
    return out;
  }
  Outcome run(const Version& version) const {
    Outcome out = Program({test::program_path("show_nccl"), version.library}, environment, "").wait();
    INFO(version.library << ": " << out.out << out.err);
    REQUIRE(out.status == 0);
    return out;
  }
  NcclSettings expected() const { return must(read_nccl_settings(SysRoot("/"), environment)); }

  template <class T>
  static T must(Result<T> result) {
    REQUIRE(result);
    return std::move(*result);
  }

  TempDir dir;
  PodEnvironment environment;
};

// vfrail-check says the same of every variable as NCCL has it.
void same(const Pod& pod, const Version& version, const std::vector<std::string>& names) {
  const auto real = pod.settings(version);
  const NcclSettings ours = pod.expected();
  for (const std::string& name : names) {
    CAPTURE(version.library, name);
    const NcclValue* value = ours.find(name);
    const auto at = real.find(name);
    REQUIRE((value != nullptr) == (at != real.end()));
    if (value != nullptr) CHECK(value->text == at->second);
  }
}

// Interfaces with an address each, in this order.
class Links {
 public:
  explicit Links(std::vector<std::string> names) : names_(std::move(names)) {
    // Else the other ends have addresses, too. NCCL 2.32 takes no interface without carrier.
    for (const char* all : {"all", "default"})
      write_text(std::string("/proc/sys/net/ipv6/conf/") + all + "/disable_ipv6", "1");
    for (size_t i = 0; i < names_.size(); ++i) {
      const std::string number = std::to_string(i + 1);
      shell("ip link add " + names_[i] + " type veth peer name peer" + number + " && ip link set " +
            names_[i] + " up && ip link set peer" + number + " up && ip address add 10.0." + number +
            ".2/24 dev " + names_[i]);
    }
  }
  Links(const Links&) = delete;
  Links& operator=(const Links&) = delete;
  ~Links() {
    for (const std::string& name : names_) shell("ip link del " + name);
  }

 private:
  std::vector<std::string> names_;
};

// As vfrail-cni writes it for two rails.
constexpr const char* kOfVfrail =
    "# vfrail: net1 net2\nNCCL_IB_HCA==mlx5_0:1,mlx5_1:1\nNCCL_IB_GID_INDEX=3\nNCCL_SOCKET_IFNAME==eth0\n"
    "NCCL_IB_TC=106\n";

}  // namespace

TEST_CASE("NCCL has everything of the pod's file, and what the user sets in the environment instead") {
  const auto all = versions();
  REQUIRE(all.size() >= 3);
  const Links links({"eth0"});
  for (const Version& version : all) {
    Pod pod;
    write_text("/etc/nccl.conf", kOfVfrail);
    pod.environment["NCCL_IB_TC"] = "";
    pod.environment["NCCL_IB_GID_INDEX"] = "5";
    CAPTURE(version.library);
    const auto real = pod.settings(version);
    CHECK(real.at("NCCL_IB_HCA") == "=mlx5_0:1,mlx5_1:1");
    CHECK(real.at("NCCL_IB_GID_INDEX") == "5");
    CHECK(real.at("NCCL_IB_TC").empty());
    same(pod, version,
         {"NCCL_IB_HCA", "NCCL_IB_GID_INDEX", "NCCL_IB_TC", "NCCL_SOCKET_IFNAME", "NCCL_DEBUG"});
  }
}

TEST_CASE("of several files the first that has a variable counts, and /etc/nccl.conf is always read") {
  const Links links({"eth0"});
  for (const Version& version : versions()) {
    Pod pod;
    write_text("/etc/nccl.conf", "NCCL_A=etc\nNCCL_B=etc\nNCCL_C=etc\nNCCL_D=etc\n");
    pod.write("passwd", "NCCL_A=home\nNCCL_B=home\n");
    pod.environment["HOME"] = pod.dir.path("passwd");
    pod.environment["NCCL_A"] = "env";
    same(pod, version, {"NCCL_A", "NCCL_B", "NCCL_C", "NCCL_D", "NCCL_E"});
    write_text(pod.dir.path("own.conf"),
               "NCCL_C=own\n#NCCL_D=own\n NCCL_E=own\nNCCL_F= own \nNCCL_G\nNCCL_H=a=b\n");
    pod.environment["NCCL_CONF_FILE"] = pod.dir.path("own.conf");
    // Before 2.23 it was not known.
    if (version.minor >= 23)
      same(pod, version, {"NCCL_A", "NCCL_B", "NCCL_C", "NCCL_D", "NCCL_E", "NCCL_F", "NCCL_G", "NCCL_H"});
  }
}

TEST_CASE("the home of .nccl.conf is the passwd entry's before 2.30, and $HOME since") {
  const Links links({"eth0"});
  for (const Version& version : versions()) {
    Pod pod;
    pod.write("passwd", "NCCL_A=passwd\n");
    pod.write("home", "NCCL_A=home\n");
    CAPTURE(version.library);
    CHECK(pod.settings(version).at("NCCL_A") == (version.minor >= 30 ? "home" : "passwd"));
    CHECK_FALSE(pod.expected().doubt().empty());
  }
}

TEST_CASE("NCCL's sockets use the interface that vfrail-check names") {
  const std::vector<std::pair<std::vector<std::string>, PodEnvironment>> cases = {
      {{"net1", "eth0"}, {}},
      {{"eth0", "net1"}, {}},
      {{"docker0", "net1"}, {}},
      {{"eth0", "ib0"}, {}},
      {{"docker0"}, {}},
      {{"net1", "eth0"}, {{"NCCL_SOCKET_IFNAME", "=eth0"}}},
      {{"net1", "eth01", "eth0"}, {{"NCCL_SOCKET_IFNAME", "eth"}}},
      {{"net1", "eth01", "eth0"}, {{"NCCL_SOCKET_IFNAME", "=eth0"}}},
      {{"net1", "eth0"}, {{"NCCL_SOCKET_IFNAME", "^net"}}},
      {{"net1", "eth0"}, {{"NCCL_SOCKET_IFNAME", "^=net1"}}},
  };
  for (const auto& [names, environment] : cases) {
    const Links links(names);
    for (const Version& version : versions()) {
      Pod pod;
      pod.environment.insert(environment.begin(), environment.end());
      pod.environment["NCCL_DEBUG"] = "INFO";
      const auto kernel = Pod::must(NetlinkKernel::open_current());
      const auto network = Pod::must(read_pod_network(*kernel));
      const Outcome outcome = pod.run(version);
      std::smatch found;
      CAPTURE(version.library, outcome.out);
      REQUIRE(std::regex_search(outcome.out, found, std::regex("Bootstrap ?: Using ([^:]+):")));
      CHECK(choose_socket_interface(network, pod.expected()) == found[1].str());
    }
  }
}

}  // namespace vfrail::test
