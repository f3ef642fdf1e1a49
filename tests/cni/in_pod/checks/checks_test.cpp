// cni/in_pod: what each check finds, and that it finds nothing where nothing is wrong.
#include "cni/in_pod/pod_report.h"
#include "cni/in_pod/probe/memory_probe.h"
#include "tests/cni/in_pod/pod_tree.h"
#include "tests/support/temp_dir.h"

#include <cerrno>
#include <functional>
#include <set>

#include <catch2/catch.hpp>

using namespace vfrail;
using namespace vfrail::pod;
using test::PodTree;

namespace {

// "VF-P06 fault: TEXT", of all that is neither good nor unreadable.
std::vector<std::string> findings(const CheckedPod& pod) {
  std::vector<std::string> out;
  for (const CheckReport& report : check_pod(pod)) {
    for (const CheckResult& result : report.results) {
      if (result.finding > Finding::unknown)
        out.push_back(report.id + " " + word_of(result.finding) + ": " + result.text);
    }
  }
  return out;
}

struct Case {
  const char* finding;                              // the one that is found, up to where it differs
  std::function<void(PodTree&)> break_tree;         // before it is read
  std::function<void(CheckedPod&)> break_pod = {};  // what is not in files
};

void refuse_lock(CheckedPod& pod) { pod.probes = Probes{{kProbedBytes, ENOMEM}, {}, {}}; }

void limit(PodTree& tree, const std::string& own, const std::string& first) {
  const auto line = [](const std::string& bytes) {
    return "Max locked memory         " + bytes + "                " + bytes + "                bytes\n";
  };
  tree.write("proc/self/limits", line(own));
  tree.write("proc/1/limits", line(first));
}

void status(PodTree& tree, const std::string& uid, const std::string& effective,
            const std::string& more = "") {
  tree.write("proc/self/status", "Uid:\t" + uid + "\t" + uid + "\t0\t0\nCapEff:\t" + effective +
                                     "\nCapBnd:\t00000000a80465fb\n" + more + "Cpus_allowed_list:\t0-7\n");
}

constexpr const char* kNoLock = "00000000a80425fb";
constexpr const char* kIpcLock = "00000000a80465fb";
const std::string kVerbs2 = "sys/devices/pci0000:16/0000:16:01.0/0000:17:00.1/infiniband_verbs/uverbs2/";

std::vector<Case> device_cases() {
  return {
      {"VF-P01 note: there is no ",
       [](PodTree& tree) {
         tree.remove("run/vfrail/pod.json");
         tree.environment["PCIDEVICE_X"] = "0000:17:00.1,0000:17:01.1";
       }},
      {"VF-P01 advice: ", [](PodTree& tree) { tree.add("run/vfrail/pod.json = {\"version\": 2}"); }},
      {"VF-P01 advice: ", [](PodTree& tree) { tree.add("run/vfrail/pod.json = {"); }},
      {"VF-P02 fault: visible, and no node in /dev/infiniband: mlx5_6 (net2)",
       [](PodTree& tree) { tree.remove("dev/infiniband/uverbs6"); }},
      {"VF-P02 fault: visible, and no node in /dev/infiniband: mlx5_2 (net1) mlx5_6 (net2)",
       [](PodTree& tree) {
         tree.remove("dev/infiniband");
         tree.environment["PCIDEVICE_X"] = "0000:17:00.1";
       }},
      {"VF-P02 fault: net2 was attached with mlx5_6, which is not here",
       [](PodTree& tree) {
         tree.remove("sys/class/infiniband/mlx5_6");
         tree.remove("dev/infiniband/uverbs6");
       }},
      {"VF-P03 advice: /dev/infiniband has nodes of devices that were not allocated: uverbs9 (0000:98:00.0)",
       [](PodTree& tree) {
         tree.add(
             "sys/class/infiniband_verbs/uverbs9/ibdev = mlx5_9\n"
             "sys/class/infiniband_verbs/uverbs9/device -> ../../../0000:98:00.0\n"
             "dev/infiniband/uverbs9/\n");
       }},
      {"VF-P04 fault: mlx5_2 (net1) is uverbs7, and was uverbs2 when it was attached",
       [](PodTree& tree) {
         tree.remove("dev/infiniband/uverbs2");
         tree.add(
             "dev/infiniband/uverbs7/\n"
             "sys/class/infiniband_verbs/uverbs7/ibdev = mlx5_2\n"
             "sys/class/infiniband_verbs/uverbs7/device -> ../../../0000:17:00.1\n" +
             kVerbs2 + "ibdev = mlx5_4\n");
       }},
      {"VF-P04 fault: /dev/infiniband/uverbs2 cannot be opened: EPERM (Operation not permitted)",
       [](PodTree&) {},
       [](CheckedPod& pod) {
         pod.probes = Probes{{kProbedBytes, 0}, {{"uverbs2", "231:2", EPERM}}, {}};
       }},
      {"VF-P04 fault: /dev/infiniband/uverbs2 is device 231:9, and mlx5_2 is 231:2", [](PodTree&) {},
       [](CheckedPod& pod) {
         pod.probes = Probes{{kProbedBytes, 0}, {{"uverbs2", "231:9", 0}}, {}};
       }},
      {"VF-P05 advice: this image has no driver of libibverbs for mlx5",
       [](PodTree& tree) { tree.remove("usr/lib"); }},
      {"VF-P05 advice: this image has no driver of libibverbs for mlx5",
       [](PodTree& tree) { tree.remove("etc/libibverbs.d"); }},
      {"VF-P14 note: there is no /dev/infiniband/rdma_cm",
       [](PodTree& tree) { tree.remove("dev/infiniband/rdma_cm"); }},
      {"VF-P14 note: there is no /dev/infiniband/umad",
       [](PodTree& tree) {
         tree.remove("dev/infiniband/umad2");
         tree.remove("dev/infiniband/umad6");
       }},
  };
}

const std::string kPort = test::kFirstPort;
const std::string kNodeType =
    "sys/devices/pci0000:16/0000:16:01.0/0000:17:00.1/infiniband/mlx5_2/node_type = ";

// Pods whose GPU is elsewhere, and without GPUDirect.
void move_gpu(PodTree& tree, const std::string& target, const char* numa_node) {
  tree.remove("sys/bus/pci/devices/0000:17:02.0");
  tree.add("sys/bus/pci/devices/0000:17:02.0 -> ../../../devices/" + target + "\nsys/devices/" + target +
           "/numa_node = " + numa_node + "\nsys/devices/" + target + "/class = 0x030200\n");
}

void try_dmabuf(CheckedPod& pod, bool works) {
  pod.probes = Probes{{kProbedBytes, 0}, {}, {{"mlx5_2", "", 0, 4096, true}, {"mlx5_6", "", 0, 4096, works}}};
}

std::vector<Case> gpu_cases() {
  return {
      {"VF-P18 advice: nvidia0 (0000:17:02.0) is PHB from its nearest rails, mlx5_2 mlx5_6",
       [](PodTree& tree) { move_gpu(tree, "pci0000:16/0000:16:02.0/0000:17:02.0", "0"); }},
      {"VF-P18 advice: nvidia0 (0000:17:02.0) is NODE from its nearest rails",
       [](PodTree& tree) { move_gpu(tree, "pci0000:40/0000:40:02.0/0000:17:02.0", "0"); }},
      {"VF-P18 advice: nvidia0 (0000:17:02.0) is SYS from its nearest rails",
       [](PodTree& tree) { move_gpu(tree, "pci0000:80/0000:80:02.0/0000:17:02.0", "1"); }},
      {"VF-P19 advice: nvidia_peermem is not loaded, and the closed kernel modules",
       [](PodTree& tree) {
         tree.remove("sys/module/nvidia_peermem");
         tree.add("proc/driver/nvidia/version = NVRM version: NVIDIA UNIX x86_64 Kernel Module  570.86.15\n");
       }},
      {"VF-P19 advice: nvidia_peermem is not loaded, and the driver of mlx5_6 (net2) cannot register dma-buf",
       [](PodTree& tree) { tree.remove("sys/module/nvidia_peermem"); },
       [](CheckedPod& pod) { try_dmabuf(pod, false); }},
  };
}

std::vector<Case> rail_cases() {
  return {
      {"VF-P06 fault: mlx5_2 (net1): port 1 is DOWN, Disabled",
       [](PodTree& tree) { tree.add(kPort + "state = 1: DOWN\n" + kPort + "phys_state = 3: Disabled\n"); }},
      {"VF-P07 fault: mlx5_2 has no interface in this pod",
       [](PodTree& tree) {
         tree.remove("sys/devices/pci0000:16/0000:16:01.0/0000:17:00.1/net");
         for (const char* entry : {"0", "1", "2", "3"}) tree.remove(kPort + "gid_attrs/ndevs/" + entry);
       }},
      {"VF-P21 note: mlx5_2 (net1) has counted out_of_sequence 4, with 1000000 packets since the driver was "
       "bound, earlier pods included",
       [](PodTree& tree) { tree.add(kPort + "hw_counters/out_of_sequence = 4\n"); }},
      {"VF-P21 advice: mlx5_2 (net1) has counted local_ack_timeout_err 7, out_of_sequence 400, with 1000000",
       [](PodTree& tree) {
         tree.add(kPort + "hw_counters/out_of_sequence = 400\n" + kPort +
                  "hw_counters/local_ack_timeout_err = 7\n");
       }},
      {"VF-P08 fault: mlx5_2 (net1) has no address",
       [](PodTree& tree) { tree.network.links[2].addresses.clear(); }},
      {"VF-P08 fault: mlx5_2 (net1) has no GID of RoCE v2 for 10.0.0.3",
       [](PodTree& tree) { tree.network.links[2].addresses.push_back(test::cidr("10.0.0.3/24")); }},
      {"VF-P08 advice: mlx5_2 (net1): the GID of 10.0.0.2 is entry 5, and was 3 when the pod was attached; "
       "before it is entry 2 (fd00::8, RoCE v1)",
       [](PodTree& tree) {
         tree.add_gid(kPort, 2, "IB/RoCE v1", "net1", "fd00::8");
         tree.add_gid(kPort, 3, "RoCE v2", "net1", "fd00::8");
         tree.add_gid(kPort, 4, "IB/RoCE v1", "net1", "10.0.0.2");
         tree.add_gid(kPort, 5, "RoCE v2", "net1", "10.0.0.2");
       }},
      {"VF-P15 advice: mlx5_2 (net1) has MTU 1500, and had 9000 when it was attached",
       [](PodTree& tree) {
         for (const char* rail : {"0000:17:00.1/net/net1", "0000:17:01.1/net/net2"})
           tree.add("sys/devices/pci0000:16/0000:16:01.0/" + std::string(rail) + "/mtu = 1500\n");
       }},
      {"VF-P15 advice: the rails differ in RDMA MTU: 1024: mlx5_6; 4096: mlx5_2", [](PodTree&) {},
       [](CheckedPod& pod) {
         pod.probes = Probes{{kProbedBytes, 0}, {}, {{"mlx5_2", "", 0, 4096}, {"mlx5_6", "", 0, 1024}}};
       }},
      {"VF-P16 advice: net1 (10.0.0.2/24) and net2 (10.0.0.9/24) are in one subnet, and no rule routes by "
       "source",
       [](PodTree& tree) {
         tree.network.links[3].addresses.push_back(test::cidr("10.0.0.9/24"));
         tree.add_gid("sys/devices/pci0000:16/0000:16:01.0/0000:17:01.1/infiniband/mlx5_6/ports/1/", 5,
                      "RoCE v2", "net2", "10.0.0.9");
       }},
      {"VF-P16 advice: net1 net2 answer ARP for the addresses of the other rails",
       [](PodTree& tree) {
         for (PodLink& link : tree.network.links) link.ipv4_conf.clear();
       }},
      {"VF-P16 advice: net2 answers ARP for the addresses of the other rails",
       [](PodTree& tree) { tree.network.links[3].ipv4_conf["arp_announce"] = 1; }},
      {"VF-P16 advice: net1 (10.0.0.2/24) and net2 (10.0.0.9/24) are in one subnet, and net1 answers ARP",
       [](PodTree& tree) {
         for (PodLink& link : tree.network.links) link.ipv4_conf.clear();
         tree.network.links[3].addresses.push_back(test::cidr("10.0.0.9/24"));
         tree.add_gid("sys/devices/pci0000:16/0000:16:01.0/0000:17:01.1/infiniband/mlx5_6/ports/1/", 5,
                      "RoCE v2", "net2", "10.0.0.9");
         tree.network.rules = {{test::cidr("10.0.0.2/32"), 101, 5}, {test::cidr("10.0.0.9/32"), 102, 5}};
       }},
      {"VF-P17 advice: the default route leads over mlx5_2 (net1)",
       [](PodTree& tree) { tree.network.routes[0].link = 7; }},
      {"VF-P20 advice: mlx5_2 (net1) mlx5_6 (net2) are VFs of one PF, 0000:17:00.0",
       [](PodTree& tree) {
         tree.remove("sys/devices/pci0000:16/0000:16:01.0/0000:17:01.1/physfn");
         tree.add("sys/devices/pci0000:16/0000:16:01.0/0000:17:01.1/physfn -> ../0000:17:00.0\n");
       }},
      {"VF-P22 advice: mlx5_2 (net1) is on NUMA node 1, and the CPUs of this container, 0-7, are on others",
       [](PodTree& tree) {
         tree.add(
             "sys/devices/pci0000:16/0000:16:01.0/0000:17:00.1/numa_node = 1\n"
             "sys/devices/system/node/node1/cpulist = 16-31\n");
       }},
  };
}

std::vector<Case> nccl_cases() {
  const auto set = [](const char* name, const char* value) {
    return [=](PodTree& tree) { tree.environment[name] = value; };
  };
  return {
      {"VF-P09 fault: NCCL takes mlx5_2:1, which is iWARP",
       [](PodTree& tree) { tree.add(kNodeType + "4: RNIC\n"); }},
      {"VF-P09 fault: NCCL_IB_DISABLE=1 from the environment", set("NCCL_IB_DISABLE", "1")},
      {"VF-P09 fault: NCCL_NET=Socket from the environment", set("NCCL_NET", "Socket")},
      {"VF-P09 fault: NCCL_IB_HCA==mlx5_1 from the environment names no device of this pod, which has "
       "mlx5_2:1, mlx5_6:1",
       set("NCCL_IB_HCA", "=mlx5_1")},
      {"VF-P09 advice: NCCL_IB_HCA=mlx5_2 from /etc/nccl.conf (vfrail: net1) leaves out mlx5_6:1",
       [](PodTree& tree) { tree.write("etc/nccl.conf", "# vfrail: net1\nNCCL_IB_HCA=mlx5_2\n"); }},
      {"VF-P09 fault: NCCL_SOCKET_IFNAME==eth7 from the environment names no interface with an address",
       set("NCCL_SOCKET_IFNAME", "=eth7")},
      {"VF-P09 fault: NCCL_IB_GID_INDEX=0 from the environment: that entry of mlx5_2:1 is link-local",
       set("NCCL_IB_GID_INDEX", "0")},
      {"VF-P09 fault: NCCL_IB_GID_INDEX=9 from the environment: that entry of mlx5_2:1 is empty",
       set("NCCL_IB_GID_INDEX", "9")},
      {"VF-P09 advice: NCCL_IB_GID_INDEX=2 from the environment: that entry of mlx5_2:1 is of RoCE v1",
       set("NCCL_IB_GID_INDEX", "2")},
      {"VF-P09 note: NCCL reads /root/.nccl.conf before 2.30, and /workspace/.nccl.conf ($HOME) since",
       [](PodTree& tree) {
         tree.write("etc/passwd", "root:x:0:0:root:/root:/bin/sh\n");
         tree.write("workspace/.nccl.conf", "NCCL_DEBUG=INFO\n");
         tree.environment["HOME"] = "/workspace";
         status(tree, "0", kNoLock);
       }},
      {"VF-P09 fault: mlx5_2:1: NCCL's search ends at GID 0, fe80::ff:fe00:1, which no router forwards",
       [](PodTree& tree) {
         for (const char* entry : {"2", "3"}) {
           tree.remove(kPort + "gids/" + entry);
           tree.remove(kPort + "gid_attrs/types/" + entry);
         }
         tree.add_gid(kPort, 3, "RoCE v2", "net1", "fd00::8");
         tree.network.links[2].addresses = {test::cidr("fd00::8/64")};
       }},
  };
}

std::vector<Case> memory_cases() {
  return {
      {"VF-P10 fault: this process may lock 64 KiB; root has no IPC_LOCK (mlock of 64 MiB: ENOMEM",
       [](PodTree& tree) { limit(tree, "65536", "65536"); }, refuse_lock},
      {"VF-P10 fault: this process may lock 64 KiB; IPC_LOCK is given to the container, but not to its user",
       [](PodTree& tree) {
         limit(tree, "65536", "65536");
         status(tree, "1000", "0000000000000000");
       }},
      {"VF-P10 fault: this process may lock 8 MiB; IPC_LOCK does not count in a user namespace",
       [](PodTree& tree) {
         limit(tree, "8388608", "8388608");
         status(tree, "0", kIpcLock);
         tree.add("proc/self/uid_map =          0     100000      65536\n");
       },
       refuse_lock},
      {"VF-P10 note: this process may lock 64 KiB, and PID 1 unlimited: what kubectl exec starts",
       [](PodTree& tree) { limit(tree, "65536", "unlimited"); }},
      {"VF-P10 advice: this process may lock unlimited, and PID 1 64 KiB",
       [](PodTree& tree) { limit(tree, "unlimited", "65536"); }},
      {"VF-P10 fault: this process may lock unlimited; root has no IPC_LOCK (mlx5_2: ibv_reg_mr: ENOMEM",
       [](PodTree&) {},
       [](CheckedPod& pod) {
         pod.probes = Probes{{kProbedBytes, 0}, {}, {{"mlx5_2", "ibv_reg_mr", ENOMEM, 4096}}};
       }},
      {"VF-P11 note: NoNewPrivs is set",
       [](PodTree& tree) { status(tree, "0", kNoLock, "NoNewPrivs:\t1\n"); }},
      {"VF-P12 fault: /dev/shm has 64 MiB for 1 GPU",
       [](PodTree& tree) { tree.write("proc/self/mounts", "shm /dev/shm tmpfs rw,size=65536k 0 0\n"); }},
      {"VF-P13 advice: the memory limit is 4 GiB for 1 GPU",
       [](PodTree& tree) { tree.add("sys/fs/cgroup/memory.max = 4294967296\n"); }},
  };
}

}  // namespace

TEST_CASE("a pod in which nothing is wrong has no finding, and every check reads what it needs") {
  const PodTree tree;
  const CheckedPod pod = tree.read();
  CHECK(findings(pod) == std::vector<std::string>());
  std::set<std::string> ids;
  for (const CheckReport& report : check_pod(pod)) {
    CAPTURE(report.id, report.results[0].text);
    CHECK(ids.insert(report.id).second);
    CHECK(report.results[0].finding == Finding::good);
  }
  // All but those that have to be asked for.
  CHECK(ids.size() + traffic_checks().size() + nccl_log_checks().size() == pod_checks().size());
}

TEST_CASE("each check of a pod finds its fault, alone, and names the object") {
  std::set<std::string> found;
  for (const auto& cases : {device_cases(), rail_cases(), gpu_cases(), nccl_cases(), memory_cases()}) {
    for (const Case& one : cases) {
      PodTree tree;
      one.break_tree(tree);
      CheckedPod pod = tree.read();
      if (one.break_pod) one.break_pod(pod);
      const auto now = findings(pod);
      INFO(one.finding);
      CAPTURE(now);
      const std::string id = std::string(one.finding).substr(0, 6);
      bool matches = false;
      for (const std::string& text : now) {
        matches |= text.starts_with(one.finding);
        CHECK(text.starts_with(id));
      }
      CHECK(matches);
      found.insert(id);
    }
  }
  CHECK(found.size() + traffic_checks().size() + nccl_log_checks().size() == pod_checks().size());
}

TEST_CASE("what a pod cannot know of its GPUs is unknown, and neither good nor bad") {
  const auto finding_of = [](const CheckedPod& pod, const std::string& id) {
    for (const CheckReport& report : check_pod(pod)) {
      if (report.id == id) return report.results.at(0).finding;
    }
    return Finding::fault;
  };
  PodTree tree;
  tree.remove("sys/module/nvidia_peermem");
  CheckedPod pod = tree.read();
  CHECK(finding_of(pod, "VF-P19") == Finding::unknown);  // dma-buf was not tried
  try_dmabuf(pod, true);
  CHECK(finding_of(pod, "VF-P19") == Finding::good);
  tree.remove("proc/driver/nvidia");
  pod = tree.read();
  try_dmabuf(pod, true);
  CHECK(finding_of(pod, "VF-P19") == Finding::unknown);
  CHECK(finding_of(pod, "VF-P18") == Finding::unknown);
  tree.remove("dev/nvidia0");
  CHECK(finding_of(tree.read(), "VF-P18") == Finding::not_applicable);
  CHECK(finding_of(tree.read(), "VF-P19") == Finding::not_applicable);
}

TEST_CASE("a pod with shared devices alone needs no description of a network") {
  PodTree tree;
  tree.remove("run/vfrail/pod.json");
  for (const CheckReport& report : check_pod(tree.read())) {
    if (report.id != "VF-P01") continue;
    CHECK(report.results[0].finding == Finding::not_applicable);
    CHECK(report.results[0].text.find("shared ones need no network") != std::string::npos);
  }
}

TEST_CASE("in a container without RDMA and GPU nothing about them is ok") {
  const test::TempDir empty;
  const CheckedPod pod = read_pod(SysRoot(empty.path()), {}, nullptr);
  std::map<std::string, std::string> found;
  for (const CheckReport& report : check_pod(pod))
    found[report.id] = std::string(word_of(report.results[0].finding)) + ": " + report.results[0].text;
  for (const char* id : {"VF-P04", "VF-P05", "VF-P06", "VF-P07", "VF-P09", "VF-P13", "VF-P14", "VF-P18",
                         "VF-P19", "VF-P20", "VF-P21", "VF-P22"}) {
    CAPTURE(id, found[id]);
    CHECK(found[id].starts_with("not-applicable: no"));
  }
}

namespace {

bool has_gid_finding(const PodTree& tree) {
  const auto found = findings(tree.read());
  return std::any_of(found.begin(), found.end(),
                     [](const std::string& one) { return one.starts_with("VF-P08"); });
}

}  // namespace

TEST_CASE("the recorded GID is that of the first IPv4 address, in whatever order the addresses are listed") {
  PodTree tree;
  tree.add_gid(kPort, 4, "IB/RoCE v1", "net1", "fd00::2");
  tree.add_gid(kPort, 5, "RoCE v2", "net1", "fd00::2");
  tree.network.links[2].addresses.push_back(test::cidr("fd00::2/64"));
  tree.write("run/vfrail/pod.json",
             R"({"version":1,"container":"c1","interfaces":[{"name":"net1","network":"rail0",)"
             R"("device":"0000:17:00.1","pf":"0000:17:00.0","rdma":"mlx5_2","uverbs":"uverbs2",)"
             R"("link_layer":"Ethernet","mac":"02:00:00:00:00:01","mtu":9000,)"
             R"("addresses":["fd00::2/64","10.0.0.2/24"],"gid_index":3,"numa_node":0}]})");
  CHECK_FALSE(has_gid_finding(tree));
}

namespace {

CheckResult result_of(const std::string& id, const CheckedPod& pod) {
  for (const CheckReport& report : check_pod(pod)) {
    if (report.id == id) return report.results.front();
  }
  FAIL("no check " << id);
  return {};
}

}  // namespace

TEST_CASE("what was tried of memory is said, and no more: without a device nothing was registered") {
  const PodTree tree;
  CheckedPod pod = tree.read();
  CHECK(result_of("VF-P10", pod).text.ends_with("; it was not tried"));
  pod.probes = Probes{{kProbedBytes, 0}, {}, {}};
  CHECK(result_of("VF-P10", pod).text == "64 MiB can be locked");
  pod.probes = Probes{{kProbedBytes, 0}, {}, {{"mlx5_2", "", 0, 4096}}};
  CHECK(result_of("VF-P10", pod).text == "64 MiB can be locked, and registered with mlx5_2");
}

TEST_CASE("a pod whose ports are all down has TCP, which is a fault and not unknown") {
  PodTree tree;
  for (const char* rail : {"0000:17:00.1/infiniband/mlx5_2", "0000:17:01.1/infiniband/mlx5_6"})
    tree.add("sys/devices/pci0000:16/0000:16:01.0/" + std::string(rail) + "/ports/1/state = 1: DOWN");
  const CheckResult result = result_of("VF-P09", tree.read());
  CHECK(result.finding == Finding::fault);
  CHECK(result.text == "no port is ACTIVE and usable, so NCCL uses TCP");
}

TEST_CASE("nodes of devices that were not allocated need not be open to the pod") {
  PodTree tree;
  tree.remove("run/vfrail");
  const auto found = [&] {
    CheckedPod pod = tree.read();
    pod.probes = Probes{{kProbedBytes, 0}, {{"uverbs2", "231:2", 0}, {"uverbs6", "231:6", EPERM}}, {}};
    return pod;
  };
  CHECK(result_of("VF-P03", found()).finding == Finding::unknown);
  const CheckResult alone = result_of("VF-P04", found());
  CHECK(alone.finding == Finding::fault);
  CHECK(alone.remedy.starts_with("request the resource"));
  tree.environment["PCIDEVICE_NVIDIA_COM_HOSTDEV"] = "0000:17:00.1";
  CHECK(result_of("VF-P03", found()).finding == Finding::advice);
  CHECK(result_of("VF-P04", found()).finding == Finding::good);
  tree.environment["PCIDEVICE_NVIDIA_COM_HOSTDEV"] = "0000:17:01.1";
  CHECK(result_of("VF-P04", found()).remedy.find("--use-cdi") != std::string::npos);
}

// In exclusive mode: sysfs has the nodes of all devices of the machine, and the RDMA devices of the pod
// alone.
TEST_CASE(
    "a device that was allocated and that no network has attached is the annotation's fault, not CDI's") {
  PodTree tree;
  tree.environment["PCIDEVICE_NVIDIA_COM_HOSTDEV"] = "0000:17:00.1,0000:17:01.1";
  const auto found = [&] {
    CheckedPod pod = tree.read();
    pod.probes = Probes{{kProbedBytes, 0}, {{"uverbs2", "231:2", EPERM}}, {}};
    return result_of("VF-P04", pod);
  };
  CHECK(found().remedy.find("--use-cdi") != std::string::npos);  // attached, and its number was taken away
  tree.remove("sys/class/infiniband/mlx5_2");
  CHECK(found().remedy.find("--use-cdi") != std::string::npos);
  tree.remove("run/vfrail");
  CHECK(found().finding == Finding::fault);
  CHECK(found().text ==
        "/dev/infiniband/uverbs2 cannot be opened: mlx5_2 (0000:17:00.1) was allocated to this container, "
        "and no "
        "network has attached it to the pod");
  CHECK(found().remedy.find("k8s.v1.cni.cncf.io/networks") != std::string::npos);
  // With the network of the other one.
  tree.write(
      "run/vfrail/pod.json",
      R"({"version":1,"interfaces":[{"name":"net1","network":"r","device":"0000:17:01.1","rdma":"mlx5_6"}]})");
  CHECK(found().remedy.find("k8s.v1.cni.cncf.io/networks") != std::string::npos);
}

TEST_CASE("a pod without sysfs is no pod without devices") {
  PodTree tree;
  tree.remove("sys");
  CHECK(result_of("VF-P02", tree.read()).finding == Finding::unknown);
}

TEST_CASE("without an attachment a port that is down is a fault where no other one works") {
  const auto found = [](bool second) {
    PodTree tree;
    tree.remove("run/vfrail");
    tree.add(kPort + "state = 1: DOWN\n");
    if (second)
      tree.add(
          "sys/devices/pci0000:16/0000:16:01.0/0000:17:01.1/infiniband/mlx5_6/ports/1/state = 1: DOWN\n");
    return result_of("VF-P06", tree.read()).finding;
  };
  CHECK(found(false) == Finding::advice);
  CHECK(found(true) == Finding::fault);
}

TEST_CASE("the address of a bond or VLAN on the rail's interface is one of the rail") {
  PodTree tree;
  tree.add_gid(kPort, 2, "IB/RoCE v1", "bond0", "10.0.0.2");
  tree.add_gid(kPort, 3, "RoCE v2", "bond0", "10.0.0.2");
  tree.network.links[2].name = "bond0";
  CHECK_FALSE(has_gid_finding(tree));
  // Without it the interface alone has none.
  tree.network.links[2].addresses.clear();
  CHECK(has_gid_finding(tree));
}

TEST_CASE("an iWARP device has no GID of its address, which is no fault") {
  PodTree tree;
  for (const char* entry : {"0", "1", "2", "3"}) tree.remove(kPort + "gids/" + entry);
  CHECK(has_gid_finding(tree));
  tree.add_gid(kPort, 0, "IB/RoCE v1", "net1", "200:0:1::");
  CHECK_FALSE(has_gid_finding(tree));
}

TEST_CASE("an iWARP device without an interface is said to lack one for TCP, and nothing of RoCE") {
  PodTree tree;
  tree.add(kNodeType + "4: RNIC\n");
  tree.remove("sys/devices/pci0000:16/0000:16:01.0/0000:17:00.1/net");
  for (const char* entry : {"0", "1", "2", "3"}) tree.remove(kPort + "gid_attrs/ndevs/" + entry);
  const std::vector<std::string> now = findings(tree.read());
  CAPTURE(now);
  const auto has = [&](const char* begin) {
    return std::any_of(now.begin(), now.end(), [&](const auto& one) { return one.starts_with(begin); });
  };
  CHECK(has("VF-P07 fault: mlx5_2 has no interface in this pod: iWARP is TCP"));
  CHECK_FALSE(has("VF-P07 fault: mlx5_2 has no interface in this pod: without one it has no GID"));
}

TEST_CASE("what a check advises against is explained with a remedy") {
  for (const auto& cases : {device_cases(), rail_cases(), nccl_cases(), memory_cases()}) {
    for (const Case& one : cases) {
      PodTree tree;
      one.break_tree(tree);
      CheckedPod pod = tree.read();
      if (one.break_pod) one.break_pod(pod);
      for (const CheckReport& report : check_pod(pod)) {
        for (const CheckResult& result : report.results) {
          INFO(report.id << " " << result.text);
          CHECK((result.finding <= Finding::unknown || !result.remedy.empty()));
        }
      }
    }
  }
}

TEST_CASE("what cannot be read is unknown, and is no finding") {
  PodTree tree;
  CheckedPod pod = read_pod(tree.sys(), {}, nullptr);
  size_t unknown = 0;
  for (const CheckReport& report : check_pod(pod)) {
    CHECK(report.results[0].finding <= Finding::unknown);
    unknown += report.results[0].finding == Finding::unknown ? 1 : 0;
  }
  CHECK(unknown == 3);  // P08, P16, P17 need the interfaces
}

TEST_CASE("the answer ends with the measurement of each rail and the line that NCCL prints") {
  const PodTree tree;
  const CheckedPod pod = tree.read();
  CHECK(perftest_lines(pod) ==
        std::vector<std::string>{"ib_write_bw -d mlx5_2 -i 1 -x 3 --report_gbits",
                                 "ib_write_bw -d mlx5_2 -i 1 -x 3 --report_gbits 10.0.0.2",
                                 "ib_write_bw -d mlx5_6 -i 1 -x 3 --report_gbits",
                                 "ib_write_bw -d mlx5_6 -i 1 -x 3 --report_gbits 10.0.1.2"});
  CHECK(nccl_line(pod) == "NET/IB : Using [0]mlx5_2:1/RoCE [1]mlx5_6:1/RoCE");
  const std::string text = render_pod(pod, check_pod(pod), {.all = true});
  CHECK(text.find("NCCL takes mlx5_2:1 GID 3, mlx5_6:1 GID 3; sockets: eth0") != std::string::npos);
  CHECK(text.find("  ib_write_bw -d mlx5_6") != std::string::npos);
  CHECK(text.find("[1]mlx5_6:1/RoCE") != std::string::npos);
}

TEST_CASE("no more memory is locked than the limit leaves") {
  CHECK(bytes_to_lock(std::nullopt) == kProbedBytes);
  CHECK(bytes_to_lock(MemoryLimit{uint64_t{1} << 30, 0}) == kProbedBytes);
  CHECK(bytes_to_lock(MemoryLimit{32 << 20, 16 << 20}) == 8 << 20);
  CHECK(bytes_to_lock(MemoryLimit{16 << 20, 32 << 20}) == 0);
}
