#include "tests/stress/site.h"

#include "cni/node/device.h"
#include "common/netlink/netlink_kernel.h"
#include "tests/netns/snapshot.h"

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <set>
#include <sstream>

namespace vfrail::test {
using namespace cni;

namespace fs = std::filesystem;

namespace {

constexpr uint32_t kMtuAtHome = 1400;  // nothing that a driver makes by default

std::string made_up_address(size_t i) {
  char text[32];
  std::snprintf(text, sizeof text, "0000:03:%02zx.%zu", i / 8, i % 8);
  return text;
}

std::unique_ptr<Kernel> host_kernel() {
  return must_read(NetlinkKernel::open_current(), "open own namespace");
}

// The kernel does this with hardware when a namespace ends (default_device_exit_net()), and not with a veth.
// Its alias is its name in the host. One that a DEL or an ADD returns meanwhile is not there any more.
void return_all(const std::string& pod) {
  const auto from = kernel_at(pod);
  const auto host = host_kernel();
  for (const Link& link : must_read(from->links(), "list links")) {
    if (link.name == "lo") continue;
    const auto moved = from->change_link(link.index, {.netns_fd = host->netns_fd(), .name = link.alias});
    if (!moved && must_read(from->find_link(link.index), "look for a link"))
      throw std::runtime_error("send " + link.name + " to the host: " + moved.error().text);
  }
}

// Which of the numbers a device has may have changed, by its moves; they are the lowest, as before.
std::string rdma_nodes() {
  std::set<std::string> names;
  std::error_code none;
  for (const auto& entry : fs::directory_iterator("/sys/class/infiniband_verbs", none))
    names.insert(entry.path().filename().string());
  std::string out;
  for (const std::string& name : names) out += "node " + name + "\n";
  return out;
}

}  // namespace

Site::Site(const std::vector<std::string>& real, size_t made_up)
    : real_(!real.empty()), node_(real_ ? Node::Kind::real : Node::Kind::made_up) {
  for (const std::string& address : real) {
    const vfrail::Device device =
        must_read(read_device(SysRoot("/"), *DeviceId::parse(address), kAttachFacts), "read the device")
            .value();
    add(address, device.netdevs.at(0).name, device.rdma_names());
  }
  for (size_t i = 0; !real_ && i < made_up; ++i) {
    const std::string name = "eth" + std::to_string(i);
    node_.add_device(made_up_address(i), name);
    add(made_up_address(i), name, {});
  }
  // host-local of Debian does not know GC. (Its input is a file, which nobody needs to read.)
  node_.add_ipam("knows-gc", ":");
}

void Site::add(const std::string& address, const std::string& name, std::vector<std::string> rdma) {
  shell("ip link set " + name + " mtu " + std::to_string(kMtuAtHome) + " txqueuelen 777 alias " + name +
        " up; ip link property add dev " + name + " altname a-long-altname-of-" + name);
  devices_.push_back({address, name, std::move(rdma)});
}

std::string Site::begin_pod(const std::string& name) {
  const std::lock_guard guard(pods_);
  return node_.add_pod(name);
}

void Site::end_pod(const std::string& path) {
  if (!real_) return_all(path);
  const std::lock_guard guard(pods_);
  node_.end_pod(path);
}

Json Site::config(const std::string& verb) const {
  Json ipam = *Json::parse(R"({"type":"host-local","dataDir":")" + node_.path("ipam") +
                           R"(","ranges":[[{"subnet":"10.7.0.0/16"}]]})");
  if (verb == "GC") ipam.set("type", "knows-gc");
  Json out = node_.config(verb == "GC" ? "1.1.0" : "1.0.0");
  out.set("ipam", std::move(ipam));
  return out;
}

bool Site::is_in_host(size_t device) const {
  const Device& it = devices_[device];
  const auto host = host_kernel();
  const auto link = must_read(host->find_link(it.name), "look for a device in the host");
  if (!link || link->alias != it.name || link->mtu != kMtuAtHome || !link->up()) return false;
  return std::all_of(it.rdma.begin(), it.rdma.end(), [&](const std::string& name) {
    return must_read(host->find_rdma_device(name), "look for an RDMA device in the host").has_value();
  });
}

std::string Site::flaws(size_t device, const std::string& pod, const std::string& ifname,
                        const Json& result) const {
  const Device& it = devices_[device];
  const auto kernel = kernel_at(pod);
  const auto link = must_read(kernel->find_link(ifname), "look for a device in a pod");
  if (!link) return "the pod has no " + ifname;
  if (link->alias != it.name) return ifname + " is not " + it.name + " but " + link->alias;
  if (!link->up()) return ifname + " is down";
  const Json* ips = result.find("ips");
  if (ips == nullptr || ips->as_array() == nullptr || ips->as_array()->empty())
    return "no address in the result";
  const std::string reported = *ips->as_array()->front().find("address")->as_text();
  const auto has = must_read(kernel->addresses(link->index), "list addresses");
  const auto is_reported = [&](const LinkAddress& one) { return one.address.cidr() == reported; };
  if (std::none_of(has.begin(), has.end(), is_reported)) return ifname + " does not have " + reported;
  for (const std::string& name : it.rdma) {
    if (!must_read(kernel->find_rdma_device(name), "look for an RDMA device"))
      return "the pod has no RDMA device " + name;
  }
  return "";
}

std::vector<std::string> Site::records() const {
  std::vector<std::string> out;
  for (const auto& entry : fs::directory_iterator(node_.path("state/attachments")))
    out.push_back(entry.path().stem().string());
  std::sort(out.begin(), out.end());
  return out;
}

std::vector<std::string> Site::leases() const {
  std::vector<std::string> out;
  for (const std::string& lease : node_.leases()) {
    std::string text = read_text(node_.path("ipam/rail0/" + lease));  // CONTAINER, line end, IFNAME
    std::erase(text, '\r');
    std::replace(text.begin(), text.end(), '\n', ':');
    out.push_back(text);
  }
  std::sort(out.begin(), out.end());
  return out;
}

std::string Site::state() const {
  std::string out = snapshot(*host_kernel()) + rdma_nodes();
  std::istringstream files(files_below(node_.path("ipam")) + this->files());
  for (std::string line; std::getline(files, line);) {
    const bool of_killed = line.find("/run/locks/") != std::string::npos ||
                           (line.find("/state/devices/") != std::string::npos && line.ends_with(".new"));
    if (!of_killed) out += line + "\n";
  }
  return out;
}

std::string Site::files() const { return files_below(node_.path("state")) + files_below(node_.path("run")); }

}  // namespace vfrail::test
