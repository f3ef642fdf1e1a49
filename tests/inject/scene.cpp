#include "tests/inject/scene.h"

#include "cni/node/device.h"
#include "common/container/allocated_nodes.h"
#include "common/container/cdi_spec.h"
#include "common/netlink/netlink_kernel.h"

#include <algorithm>
#include <sstream>

namespace vfrail::test {
using namespace cni;

namespace {

constexpr const char* kMadeUpDevice = "0000:03:02.1";
constexpr const char* kHostName = "eth7";
constexpr const char* kPodName = "net1";
const std::vector<std::string> kAllocated{"/dev/infiniband/umad91", "/dev/infiniband/uverbs91"};

// The kernel does this with hardware when a namespace ends (default_device_exit_net()), and not with a veth;
// udev then gives it its name. (The made-up sysfs has no other; the lab has no udev, there it returns under
// the pod's.)
void return_all(const std::string& pod) {
  const auto from = kernel_at(pod);
  const auto host = must_read(NetlinkKernel::open_current(), "open own namespace");
  for (const Link& link : must_read(from->links(), "list links")) {
    if (link.name == "lo") continue;
    const auto moved = from->change_link(link.index, {.netns_fd = host->netns_fd(), .name = kHostName});
    if (!moved) throw std::runtime_error("send " + link.name + " to the host: " + moved.error().text);
  }
}

}  // namespace

Scene::Scene(const Setting& setting)
    : setting_(setting), node_(setting.device.empty() ? Node::Kind::made_up : Node::Kind::real) {
  std::string name = kHostName;
  if (setting_.device.empty()) {
    node_.add_device(kMadeUpDevice, kHostName);
    // Nodes alone: an RDMA device takes a kernel that has it.
    write_tree(node_.path("root"), "sys/bus/pci/devices/0000:03:02.1/infiniband_verbs/uverbs7/");
  } else {
    name = must_read(read_device(SysRoot("/"), *DeviceId::parse(setting_.device), kAttachFacts),
                     "read the device")
               .value()
               .netdevs.at(0)
               .name;
  }
  // Nothing that the kernel makes by default, so that a restore which does nothing shows.
  shell("ip link set " + name + " mtu 1400 txqueuelen 777 alias 'a port' up; ip link property add dev " +
        name +
        " altname a-name-of-more-than-fifteen-bytes || ip link show a-name-of-more-than-fifteen-bytes");
  // What the host has on a device comes back as well; not in every setting, because it takes calls of each
  // trial.
  if (setting_.device.empty() && !setting_.ipam)
    shell("ip addr add 10.9.0.2/24 dev " + name +
          " && ip route add 10.20.0.0/16 via 10.9.0.1 metric 7 table 77");
  add_speaker_of_newer_cni();
  begin_pod();
  next_pod_ = make_pod("b");  // it stays: the end of a namespace takes the kernel longer than all the rest
  // The first attachment makes folders, and soft RDMA devices lose a port file by their first moves.
  for (int round = 0; round < 2; ++round) {
    allocate_by_cdi();
    result_ = must(call("ADD")).out;
    attached_ = everything();
    must(call("DEL"));
  }
  before_ = everything();
}

std::string Scene::make_pod(const std::string& name) {
  const std::string path = node_.add_pod(name);
  // Addresses that need no second to become usable: a trial has no time for it.
  node_.in_pod(path, "echo 0 > /proc/sys/net/ipv6/conf/default/accept_dad");
  return path;
}

Call Scene::sweep_call() const {
  Call out = call("ADD");
  out.prefix = {"/bin/sh", "-c", "exec \"$0\" sweep"};
  return out;
}

void Scene::begin_pod() { pod_ = make_pod("a"); }

void Scene::end_pod() {
  if (setting_.device.empty()) return_all(pod_);
  node_.end_pod(pod_);
}

// host-local of Debian speaks CNI 1.0.0 and knows neither GC nor STATUS, which begin with 1.1.0.
void Scene::add_speaker_of_newer_cni() const {
  node_.add_ipam("newer", R"(case $CNI_COMMAND in GC | STATUS) exec cat > /dev/null ;; esac
    for at in $(echo "$CNI_PATH" | tr : " "); do
      [ ! -x $at/host-local ] || exec sh -c "sed s/1.1.0/1.0.0/ | $at/host-local"
    done)");
}

Json Scene::config(const std::string& verb) const {
  const bool newer = verb == "GC" || verb == "STATUS" || verb == "GC of all";
  Json out = node_.config(newer ? "1.1.0" : "1.0.0");
  out.set("mac", "02:00:00:00:0a:01").set("mtu", 1300);
  if (!setting_.device.empty()) out.set("deviceID", setting_.device);
  if (setting_.device.empty()) out.set("rdma", "off");
  if (setting_.ipam) {
    // One address of each family: if it is not released, the next ADD gets none. The next pod has a second
    // one.
    out.set(
        "ipam",
        *Json::parse(R"({"type":")" + std::string(newer ? "newer" : "host-local") + R"(","dataDir":")" +
                     node_.path("ipam") +
                     R"(","ranges":[[{"subnet":"10.7.0.0/24","rangeStart":"10.7.0.5","rangeEnd":"10.7.0.5"}],
                         [{"subnet":"fd07::/64","rangeStart":"fd07::5","rangeEnd":"fd07::5"}]],
                         "routes":[{"dst":"0.0.0.0/0"},{"dst":"fd08::/64","gw":"fd07::1"}]})"));
  }
  return out;
}

Call Scene::call(const std::string& verb, const std::string& container, const std::string& netns) const {
  Call out;
  out.verb = verb == "GC of all" ? "GC" : verb;
  out.container = container;
  out.netns = netns;
  out.ifname = kPodName;
  out.config = config(verb);
  if (verb == "CHECK") out.config.set("prevResult", *Json::parse(result_));
  if (verb == "GC") {
    Json ours;
    ours.set("containerID", container).set("ifname", kPodName);
    out.config.set("cni.dev/valid-attachments", Json::array().push(std::move(ours)));
  }
  if (verb == "GC of all") out.config.set("cni.dev/valid-attachments", Json::array());
  return out;
}

Call Scene::call(const std::string& verb) const { return call(verb, "pod1", pod_); }

Call Scene::next_call(const std::string& verb) const {
  Call out = call(verb, "pod2", next_pod_);
  if (setting_.ipam) {
    std::string text = out.config.text();
    for (const std::string address : {"10.7.0.5", "fd07::5"}) {
      for (size_t at = 0; (at = text.find(address, at)) != std::string::npos;)
        text.replace(at + address.size() - 1, 1, "6");
    }
    out.config = *Json::parse(text);
  }
  return out;
}

Outcome Scene::must(const Call& call) const {
  Outcome outcome = node_.run(call);
  if (outcome.status != 0) {
    throw Lost(call.verb + " of " + call.container + " failed with status " + std::to_string(outcome.status) +
               ": " + outcome.out + outcome.err);
  }
  return outcome;
}

DeviceId Scene::device() const {
  return *DeviceId::parse(setting_.device.empty() ? kMadeUpDevice : setting_.device);
}

void Scene::allocate_by_cdi() const {
  CdiSpec spec{"nvidia.com/net-pci", device().text(), {}};
  for (const std::string& path : kAllocated) spec.edits.nodes.push_back({path, path, "rw"});
  const auto written = write_cdi_spec(spec_path(), spec_path() + ".plugin", spec);
  const auto noted =
      write_allocated_nodes(node_.path("run"), device(), {{"umad91", "uverbs91"}, spec_path()});
  if (!written || !noted) throw std::runtime_error("cannot write the allocated nodes and the CDI spec");
}

std::vector<std::string> Scene::nodes_in_spec() const {
  const auto spec = read_cdi_spec(spec_path());
  if (!spec || !*spec) throw Lost("the CDI spec is lost" + (spec ? "" : ": " + spec.error().text));
  std::vector<std::string> out;
  for (const DeviceNode& node : (*spec)->edits.nodes) out.push_back(node.host_path);
  std::sort(out.begin(), out.end());
  return out;
}

void Scene::require_corrected_spec() const {
  std::vector<std::string> own;
  for (const std::string& name :
       must_read(read_rdma_nodes(SysRoot(node_.root()), device()), "read the device nodes"))
    own.push_back("/dev/infiniband/" + name);
  std::sort(own.begin(), own.end());
  if (nodes_in_spec() != own) throw Lost("ADD said success, but the CDI spec has not the device's nodes");
}

std::string Scene::host() const {
  const auto kernel = must_read(NetlinkKernel::open_current(), "open own namespace");
  std::string out = snapshot(*kernel);
  if (!setting_.device.empty()) {
    const Device device =
        must_read(read_device(SysRoot("/"), *DeviceId::parse(setting_.device), kAttachFacts),
                  "read the device")
            .value();
    for (const auto& names : {device.netdev_names(), device.rdma_names(), device.rdma_nodes()}) {
      for (const std::string& name : names) out += "of the device: " + name + "\n";
    }
  }
  nodes_in_spec();  // whole at every moment, whatever it says
  for (const char* folder : {"ipam", "state", "run"}) out += files_below(node_.path(folder));
  return out;
}

std::string Scene::pod() const { return "in the pod:\n" + snapshot(*kernel_at(pod_)); }
std::string Scene::next_pod() const { return snapshot(*kernel_at(next_pod_)); }

namespace {

// No pod waits for its files (cni/steps/pod_files_step.cpp): a fault there is a warning.
std::string without_pod_files(const std::string& text) {
  std::istringstream in(text);
  std::string out;
  for (std::string line; std::getline(in, line);) {
    if (line.find("/run/pods/") == std::string::npos) out += line + "\n";
  }
  return out;
}

}  // namespace

void Scene::require_before(PodFiles files) const {
  std::string now = everything();
  const bool only_files = now != before_ && without_pod_files(now) == without_pod_files(before_);
  if (files == PodFiles::may_lack && only_files) {
    const Outcome swept = node_.command_line({"sweep"}).wait();
    if (swept.status != 0) throw Lost("the sweep failed: " + swept.out + swept.err);
    now = everything();
  }
  if (now != before_) throw Lost("the node is not as it was:\n" + difference(before_, now));
}

void Scene::require_attached(PodFiles files) const {
  const std::string now = everything();
  const bool whole =
      files == PodFiles::may_lack ? without_pod_files(now) == without_pod_files(attached_) : now == attached_;
  if (!whole) throw Lost("ADD said success, but the attachment is not whole:\n" + difference(attached_, now));
}

}  // namespace vfrail::test
