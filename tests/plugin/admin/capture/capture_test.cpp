#include "plugin/admin/capture/capture.h"

#include "common/container/cdi_spec.h"
#include "common/container/claim_record.h"
#include "plugin/admin/capture/anonymous.h"
#include "plugin/admin/doctor/doctor.h"
#include "plugin/admin/report/inspect.h"
#include "plugin/device/allocate/prepared_record.h"
#include "plugin/device/config/formats/parse_config.h"
#include "plugin/device/match/pools.h"
#include "plugin/dra/offer_state.h"
#include "tests/plugin/admin/report/run.h"
#include "tests/plugin/tree.h"

#include <filesystem>
#include <fstream>
#include <sstream>

#include <catch2/catch.hpp>

using namespace vfrail;
using namespace vfrail::plugin;
using test::TempDir;
using test::Tree;

namespace {

namespace fs = std::filesystem;

// Who is where, with the reasons, as text.
std::string outcome(const SysRoot& sys) {
  const auto config = parse_config(R"({"resourceList":[
    {"resourceName":"rdma","selectors":{"isRdma":true}},{"resourceName":"any","selectors":{}},
    {"resourceName":"sf","deviceType":"auxNetDevice","selectors":{"auxTypes":["sf"]}}]})",
                                   {"c.json", "intel.com", true});
  REQUIRE(config);
  const auto inventory = scan(sys, nullptr);
  REQUIRE(inventory);
  const Pools pools = match(*config, *inventory);
  std::string out;
  for (const Pool& pool : pools.pools) {
    for (const PoolDevice& device : pool.devices) {
      out += pool.resource() + " " + device.id() + " " + device.facts.driver.name() + " " +
             device.facts.pf_name + " " + device.facts.link_type + " " + device.facts.iommu_group + " " +
             device.fault.text + "\n";
      for (const std::string& part : device.facts.pcie_path) out += part + " ";
      for (const RdmaFacts& rdma : device.facts.rdma) out += rdma.name + " " + rdma.uverbs + "\n";
    }
  }
  for (const LeftOut& left : pools.left_out) {
    out += left.id + ":";
    // Addresses are other ones in the copy.
    for (const std::string& reason : texts_of(left.reasons))
      out += " " + reason.substr(0, reason.find(" has "));
    out += "\n";
  }
  return out + std::to_string(inventory->gpus.size()) + std::to_string(inventory->lags.size());
}

std::string all_text(const std::string& folder) {
  std::ostringstream out;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    if (entry.is_regular_file() && !entry.is_symlink()) out << std::ifstream(entry.path()).rdbuf() << "\n";
  }
  return out.str();
}

}  // namespace

TEST_CASE("a captured node has the same pools for the same reasons") {
  for (const char* name : {"igb_node", "mlx5_switchdev", "management", "dgx_a100", "a100_bond", "erdma_vm"}) {
    CAPTURE(name);
    const Tree tree(name);
    const TempDir folder;
    REQUIRE(capture(tree.sys(), folder.path("captured")));
    CHECK(outcome(SysRoot(folder.path("captured"))) == outcome(tree.sys()));
  }
}

TEST_CASE("a captured node has the findings of doctor that the node has") {
  Tree tree("a100_bond");
  tree.add(
      "proc/sys/kernel/osrelease = 4.18.0\nproc/sys/kernel/numa_balancing = 1\n"
      "sys/devices/system/node/node0/\nsys/devices/system/node/node1/\nsys/module/nvidia/\n"
      "etc/cni/net.d/00-cilium.conf = {\"token\":\"secret\"}\nopt/cni/bin/bridge/\n"
      "var/lib/kubelet/device-plugins/a.sock = socket\n"
      "usr/lib/udev/rules.d/60-rdma.rules = ATTR{node_guid}==\"secret\", PROGRAM=\"rdma_rename %k "
      "NAME_PCI\"\n"
      "dev/kmsg | 6,0,0,-;Command line: root=secret\n"
      "dev/kmsg | 3,12,3000000,-;mlx5_core 0000:4b:00.0: Health issue observed, firmware\n"
      "dev/kmsg | 4,13,4000000,-;pcieport 0000:4a:02.0: AER: Corrected error received: 0000:4b:00.0\n"
      "proc/1/net/route | ibp75s0 0000010A 00000000 0001 0 0 0 0000FFFF 0 0 0\n"
      "proc/1/net/route | ibp178s0 0000010A 00000000 0001 0 0 0 0000FFFF 0 0 0\n"
      "proc/1/net/route | eno1 0000020A 00000000 0001 0 0 0 0000FFFF 0 0 0\n"
      "proc/sys/net/core/netdev_max_backlog = 1000\n"
      "etc/udev/rules.d/10-local.rules = ENV{TOKEN}=\"secret\"\n"
      "var/lib/kubelet/config.yaml = topologyManagerPolicy: best-effort\n"
      "dev/null = \ndev/infiniband/uverbs0 = \nusr/bin/hook = \n"
      "proc/77/comm = containerd\nproc/77/environ = TOKEN=secret\n"
      "proc/77/limits | Max locked memory         65536                65536                bytes\n"
      "etc/containerd/config.toml | version = 2\netc/containerd/config.toml | enable_cdi = true\n"
      "etc/containerd/config.toml | [plugins.\"io.containerd.grpc.v1.cri\".registry.auth]\n"
      "etc/containerd/config.toml | password = \"secret\"\n"
      R"(var/run/cdi/a.json = {"kind":"a.com/gpu","devices":[{"name":"0","containerEdits":{)"
      R"("env":["TOKEN=secret"],"hooks":[{"path":"/usr/bin/hook"},{"path":"/gone/hook","args":["secret"]},)"
      R"({"path":"/../../../outside"},{"path":"/"},{"path":"/etc/cni/net.d"},{"path":"/proc/sys/kernel/osrelease"}]}}]})"
      "\n"
      R"(etc/cdi/b.json = {"kind":"a.com/gpu","devices":[{"name":"0"}]})"
      "\n");
  const TempDir folder;
  for (const char* rail : {"all", "ibp75s0", "ibp178s0"}) {
    for (const char* setting : {"arp_ignore", "arp_announce", "rp_filter"})
      tree.add(std::string("proc/sys/net/ipv4/conf/") + rail + "/" + setting + " = 0\n");
  }
  // Beside the node's files and beside the copy: where a hook's path with ".." would lead.
  std::ofstream(folder.path("outside")) << "as it was";
  tree.add("outside = \n");
  REQUIRE(capture(tree.sys(), folder.path("captured/a/b")));
  const SysRoot captured(folder.path("captured/a/b"));
  std::string outside;
  std::getline(std::ifstream(folder.path("outside")), outside);
  CHECK(outside == "as it was");
  const auto found = [](const SysRoot& sys) {
    const auto inventory = scan(sys, nullptr);
    REQUIRE(inventory);
    std::string out = render_checks(check_node({sys, *inventory, sys}), {.all = true});
    // Where it is, and the networks, which are others in the copy.
    for (const std::string& other : {sys.path(""), std::string("10.1.0.0"), std::string("10.2.0.0"),
                                     std::string("192.0.2.0"), std::string("198.18.0.1")}) {
      for (size_t at = 0; (at = out.find(other, at)) != std::string::npos;) out.erase(at, other.size());
    }
    return out;
  };
  const std::string findings = found(tree.sys());
  CHECK(found(captured) == findings);
  for (const char* finding :
       {"may lock 64 KiB", "enables CDI", "etc/cdi/b.json", "CDI hook /gone/hook", "lacks uverbs"})
    CHECK_THAT(findings, Catch::Contains(finding));
  CHECK(all_text(folder.path("captured")).find("secret") == std::string::npos);
}

namespace {

// A node on which a pod has a device by a claim; what identifies it, and what may be secret, is "secret".
struct ClaimedNode {
  ClaimedNode() {
    tree.add(
        "var/lib/kubelet/plugins_registry/vfrail.io-reg.sock = \nvar/lib/kubelet/plugins/vfrail.io/dra.sock "
        "= "
        "\nvar/lib/kubelet/plugins_registry/other.txt = secret\nvar/lib/kubelet/pods/77/etc-hosts = secret\n"
        "proc/sys/kernel/osrelease = 6.8.0\nrun/vfrail/claims/uid-2.json = {\n"
        "run/vfrail/claims/shared-pools = "
        R"({"schema":1,"pools":[{"resource":"rdma/hca","by_claims":false,"reason":"pods have shares"}]})"
        "\n");
    std::filesystem::permissions(run() + "/claims", fs::perms::owner_all);
    REQUIRE(write_offer_state(run(), {.driver = "vfrail.io",
                                      .socket = "/run/vfrail-dra/node.sock",
                                      .resources = {"nvidia.com/hostdev"},
                                      .node = "secret-1",
                                      .reason = "https://10.96.0.1 does not answer secret-1",
                                      .id = "VF-TIMED-OUT"}));
    for (const char* uid : {"uid-1", "uid-3"}) {  // the pod of the latter is gone
      const std::string pod = uid == std::string("uid-1") ? "77" : "88";
      const std::string device = uid == std::string("uid-1") ? "0000:21:10.0" : "0000:21:10.2";
      REQUIRE(write_claim(run(), {.claim = {"team", "nics", uid},
                                  .pod = {"train-0", pod},
                                  .node_pool = "secret-1",
                                  .requests = {{"nic", {{device, "nvidia.com/hostdev", device}}}}}));
      const std::string spec = "/var/run/cdi/vfrail-nvidia.com-net-pci-" + device + ".json";
      ContainerEdits edits{.env = {{"TOKEN", "secret"}}};
      edits.mounts.push_back({"/secret", "/secret"});
      REQUIRE(write_prepared(run(), {.owner = uid,
                                     .asked = {},
                                     .files = {.paths = {spec}, .allocated_nodes = {}, .units = {}},
                                     .edits = std::vector<ContainerEdits>{edits}}));
      // Of yesterday, before the device had another number.
      edits.nodes.push_back({"/dev/infiniband/uverbs77", "/dev/infiniband/uverbs77", "rw"});
      edits.hooks.push_back({"createContainer", "/opt/cni/bin/vfrail", {"secret"}});
      fs::create_directories(tree.root() + "/var/run/cdi");
      REQUIRE(write_cdi_spec(tree.root() + spec, tree.root() + spec + ".new",
                             {"nvidia.com/net-pci", device, edits}));
    }
  }
  std::string run() const { return tree.root() + "/run/vfrail"; }

  Tree tree{"igb_node"};
};

// What doctor says of claims, without where the node's files are.
std::string findings_of_claims(const SysRoot& sys) {
  const auto inventory = scan(sys, nullptr);
  REQUIRE(inventory);
  std::string out;
  for (const CheckReport& report :
       check_node({.sys = sys, .inventory = *inventory, .kernel = sys, .run_dir = sys.path("run/vfrail")})) {
    if (report.id < "VF-N47" || report.id > "VF-N51") continue;
    for (const CheckResult& one : report.results)  // of a damaged record that it is damaged
      out += report.id + " " + std::to_string(static_cast<int>(one.finding)) + " " +
             one.text.substr(0, one.text.find("cannot be read: ")) + "\n";
  }
  for (size_t at = 0; (at = out.find(sys.path(""), at)) != std::string::npos;)
    out.erase(at, sys.path("").size());
  return out;
}

}  // namespace

TEST_CASE("inspect and doctor say of a captured node's claims what they say on the node") {
  const ClaimedNode node;
  const TempDir folder;
  REQUIRE(capture(node.tree.sys(), folder.path("captured")));
  const std::string config =
      test::write(folder, R"({"resourceList":[{"resourceName":"hostdev","resourcePrefix":"nvidia.com",)"
                          R"("selectors":{"isRdma":true}}]})");
  const auto inspected = [&](const std::string& root) {
    InspectOptions options;
    options.root = root;
    options.config_file = config;
    options.output = InspectOptions::Output::wide;
    const AskKubelet none = [](const std::string&) {
      return Result<DevicesInUse>(Error{Errc::not_found, 0, "no kubelet"});
    };
    return test::run([&] { return inspect(options, none); }).out;
  };
  const std::string table = inspected(folder.path("captured"));
  INFO(table);
  for (const char* text : {"team/train-0  nics (nic)", "by DRA, not published by vfrail.io", "rdma/hca stays",
                           "claims/uid-2.json cannot be read"})
    CHECK_THAT(table, Catch::Contains(text));
  const std::string findings = findings_of_claims(SysRoot(folder.path("captured")));
  INFO(findings);
  for (const char* text : {"uverbs77", "pod train-0 is prepared, and that pod is not on this node",
                           "does not answer node [VF-TIMED-OUT]", "claims/uid-2.json "})
    CHECK_THAT(findings, Catch::Contains(text));
  std::string of_node = findings_of_claims(node.tree.sys());
  const std::string reason = "https://10.96.0.1 does not answer secret-1";
  REQUIRE(of_node.find(reason) != std::string::npos);
  of_node.replace(of_node.find(reason), reason.size(), "REASON");
  std::string copied = findings;
  const size_t begin = copied.find("https://");
  copied.replace(begin, copied.find(" [VF-TIMED-OUT]") - begin, "REASON");
  CHECK(copied == of_node);
  CHECK(all_text(folder.path("captured")).find("secret") == std::string::npos);
  CHECK(all_text(folder.path("captured")).find("10.96.0.1") == std::string::npos);
}

TEST_CASE("a record of a claim does not lead a capture out of its folder") {
  ClaimedNode node;
  const TempDir folder;
  REQUIRE(write_claim(node.run(), {.claim = {"team", "nics", "uid-1"},
                                   .pod = {"train-0", "../../../../pod"},
                                   .node_pool = "node",
                                   .requests = {}}));
  node.tree.add("var/lib/kubelet/pods/ = \npod/ = \noutside/vfrail-a.json = {}\n");
  REQUIRE(write_prepared(
      node.run(),
      {.owner = "uid-1",
       .asked = {},
       .files = {.paths = {"/run/../../outside/vfrail-a.json"}, .allocated_nodes = {}, .units = {}},
       .edits = {}}));
  fs::create_directories(folder.path("outside"));
  REQUIRE(capture(node.tree.sys(), folder.path("captured")));
  CHECK(fs::is_empty(folder.path("outside")));
  CHECK_FALSE(fs::exists(folder.path("captured/pod")));
}

TEST_CASE("a capture has no MAC address, GUID or IP address of the node") {
  Tree tree("igb_node");
  tree.add("proc/1/net/route | eth0 0000A8C0 00000000 0001 0 0 100 00FFFFFF 0 0 0");
  tree.add(
      "sys/devices/pci0000:20/0000:20:00.0/0000:21:10.0/infiniband/mlx5_0/node_guid = b859:9f03:00a8:1c2e");
  const TempDir folder;
  REQUIRE(capture(tree.sys(), folder.path("captured")));
  const std::string text = all_text(folder.path("captured"));
  CHECK(text.find("52:54:00") == std::string::npos);
  CHECK(text.find("b859") == std::string::npos);
  CHECK(text.find("0000A8C0") == std::string::npos);
  CHECK(text.find("000200C0") != std::string::npos);
}

TEST_CASE("a root that does not exist, or has no sysfs, is refused, and nothing is created") {
  const Tree without("");
  const TempDir folder;
  for (const SysRoot& sys : {without.sys(), SysRoot(folder.path("none"))}) {
    const auto refused = capture(sys, folder.path("captured"));
    REQUIRE_FALSE(refused);
    CHECK(refused.error().code == Errc::not_found);
    CHECK_FALSE(std::filesystem::exists(folder.path("captured")));
  }
}

TEST_CASE("a folder that cannot be listed is an error of the capture, not an empty folder") {
  Tree tree("igb_node");
  const std::string net = "sys/devices/pci0000:20/0000:20:00.0/0000:21:10.0/net";
  tree.remove(net);
  tree.add(net + " -> net");
  const TempDir folder;
  CHECK_FALSE(capture(tree.sys(), folder.path("captured")));
}

TEST_CASE("a folder that is not empty is not written to") {
  const Tree tree("igb_node");
  const TempDir folder;
  std::ofstream(folder.path("mine")) << "keep";
  const auto refused = capture(tree.sys(), folder.path());
  REQUIRE_FALSE(refused);
  CHECK(refused.error().code == Errc::exists);
  CHECK(refused.error().text == folder.path() + " is there and not empty; name a new folder");
}

TEST_CASE("messages of the kernel lose MAC addresses, GIDs and IP addresses, and keep PCI addresses") {
  Anonymous anonymous;
  CHECK(anonymous.message("mlx5_core 0000:17:00.0: DMAR: [17:00.0] addr 0xdead, 5.4 s, eth1: up") ==
        "mlx5_core 0000:17:00.0: DMAR: [17:00.0] addr 0xdead, 5.4 s, eth1: up");
  CHECK(anonymous.message("gid fe80:0000:0000:0000:0211:22ff:fe33:4455, mac b8:59:9f:03:00:a8: 10.1.2.3.") ==
        "gid 0000:0000:0000:0000:0000:0000:0000:0001, mac 02:00:00:00:00:02: 192.0.2.1.");
  CHECK(anonymous.message("2001:db8::5 and fe80::1").find("db8") == std::string::npos);
}

TEST_CASE("replaced hardware addresses are equal where the real ones are, and zero where they are") {
  Anonymous anonymous;
  const std::string first = anonymous.hardware("52:54:00:41:10:02");
  CHECK(first == "02:00:00:00:00:01");
  CHECK(anonymous.hardware("52:54:00:41:10:03") == "02:00:00:00:00:02");
  CHECK(anonymous.hardware("52:54:00:41:10:02") == first);
  CHECK(anonymous.hardware("00:00:00:00:00:00") == "00:00:00:00:00:00");
  CHECK(anonymous.hardware("b859:9f03:00a8:1c2e") == "0000:0000:0000:0003");
}

TEST_CASE("routes keep what they are, and lose their addresses") {
  CHECK(Anonymous::route("Iface Destination\neno1\t00000000\t0100000A\t0003\t0\t0\t100\t00000000\t0\t0\t0\n"
                         "eno1 0000FEA9 00000000 0001 0 0 0 0000FFFF 0 0 0\n") ==
        "Iface Destination\neno1 00000000 010200C0 0003 0 0 100 00000000 0 0 0\n"
        "eno1 0000FEA9 00000000 0001 0 0 0 0000FFFF 0 0 0\n");
  CHECK(Anonymous::if_inet6("fe80000000000000505400fffe411002 02 40 20 80 eth0\n"
                            "fd00000000000000505400fffe411002 02 40 00 80 eth0\n") ==
        "fe800000000000000000000000000001 02 40 20 80 eth0\n20010db8000000000000000000000001 02 40 00 80 "
        "eth0\n");
  CHECK(Anonymous::fib_trie("Main:\n  +-- 0.0.0.0/0 3 0 5\n     |-- 0.0.0.0\n        /0 universe UNICAST\n"
                            "     |-- 10.1.2.3\n        /32 host LOCAL\n") ==
        "Main:\n     |-- 0.0.0.0\n        /0 universe UNICAST\n");
}
