#include "tests/netns/node.h"

#include "cni/node/upper_links.h"
#include "common/netlink/netlink_kernel.h"
#include "tests/support/places.h"

#include <algorithm>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <sched.h>
#include <stdexcept>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

namespace vfrail::test {

namespace fs = std::filesystem;

namespace {

void must(bool holds, const char* what) {
  if (!holds) throw std::runtime_error(std::string(what) + ": errno " + std::to_string(errno));
}

// Once a process: the namespaces' mounts are seen by nobody else and end with it.
void make_mounts_private() {
  static const bool done = [] {
    must(::unshare(CLONE_NEWNS) == 0, "unshare mounts");
    must(::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0, "make mounts private");
    return true;
  }();
  static_cast<void>(done);
}

Json parsed(const std::string& text) { return Json::parse(text, 8 << 20).value_or(Json()); }

// Of `ip -j`, what does not change by itself (carrier, counters and indices do).
Json stable(const Json& list, const std::vector<const char*>& keys) {
  Json out = Json::array();
  for (const Json& item : *list.as_array()) {
    Json kept = Json::object();
    for (const char* key : keys) {
      if (const Json* value = item.find(key)) kept.set(key, *value);
    }
    if (const Json* flags = item.find("flags")) {
      const auto& words = *flags->as_array();
      kept.set("up", std::find(words.begin(), words.end(), Json("UP")) != words.end());
    }
    out.push(std::move(kept));
  }
  return out;
}

// What a device was before its first attachment is kept until the next boot.
bool is_kept(const std::string& name) { return name.find("/baselines/") != std::string::npos; }

void list_files(const std::string& folder, std::string& out) {
  std::vector<std::string> names;
  std::error_code ignored;
  for (const auto& entry : fs::recursive_directory_iterator(folder, ignored)) {
    const std::string name = entry.path().string();
    if (is_kept(name)) continue;
    if (!entry.is_directory() || entry.is_symlink()) names.push_back(name);
  }
  std::sort(names.begin(), names.end());
  for (const std::string& name : names) out += name + "\n";
}

constexpr const char* kBoot = "proc/sys/kernel/random/boot_id = 5f1d0a5c-0000-4000-8000-000000000001";
constexpr const char* kKnown = "state/baselines/uppers.kernel";

void show_kernel_types(const TempDir& node) {
  fs::create_directories(node.path("root/sys/kernel/btf"));
  std::ofstream(node.path("root/sys/kernel/btf/vmlinux"), std::ios::binary)
      << std::ifstream("/sys/kernel/btf/vmlinux", std::ios::binary).rdbuf();
}

// What the first DEL of a boot finds out about the kernel, which is the running one. Once a process, because
// it takes as long as some DELs.
const std::string& known_of_kernel() {
  static const std::string out = [] {
    const TempDir node;
    write_tree(node.path("root"), kBoot);
    show_kernel_types(node);
    Log log;
    log.set_level(LogLevel::error);
    const auto here = NetlinkKernel::open_current();
    must(here.ok(), "open own namespace");
    static_cast<void>(
        cni::upper_links_of(SysRoot(node.path("root")), node.path("state"), log)(**here, 1).ok());
    return read_text(node.path(kKnown));
  }();
  return out;
}

}  // namespace

Node::Node(Kind kind) : kind_(kind) {
  make_mounts_private();
  home_ = ::open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
  must(home_ >= 0, "open own namespace");
  if (kind == Kind::made_up) must(::unshare(CLONE_NEWNET) == 0, "unshare network");
  // Addresses that the kernel makes by itself, seconds later, would make every comparison a race.
  write_text("/proc/sys/net/ipv6/conf/all/disable_ipv6", "1");
  write_text("/proc/sys/net/ipv6/conf/default/disable_ipv6", "1");
  shell("ip link set lo up");
  for (const char* folder : {"bin", "pods", "ipam"}) fs::create_directories(path(folder));
  write_tree(path("root"), kBoot);
  if (kind == Kind::real || known_of_kernel().empty()) return;
  fs::create_directories(fs::path(path(kKnown)).parent_path());
  write_text(path(kKnown), known_of_kernel());
}

Node::~Node() {
  for (const std::string& pod : pods_) ::umount2(pod.c_str(), MNT_DETACH);
  if (::setns(home_, CLONE_NEWNET) != 0) std::abort();
  ::close(home_);
}

void Node::add_device(const std::string& address, const std::string& name) {
  shell("ip link add name " + name + " type veth peer name " + name + "p && ip link set " + name +
        " up && ip link set " + name + "p up");
  const std::string folder = "sys/bus/pci/devices/" + address;
  write_tree(path("root"), folder + "/net/" + name + "/\n" + folder + "/driver -> ../../drivers/igbvf\n");
}

std::string Node::add_pod(const std::string& name) {
  const std::string file = path("pods/" + name);
  write_text(file, "");
  const pid_t pid = ::fork();
  if (pid == 0) {
    const bool made = ::unshare(CLONE_NEWNET) == 0 &&
                      ::mount("/proc/self/ns/net", file.c_str(), nullptr, MS_BIND, nullptr) == 0;
    ::_exit(made ? 0 : 1);
  }
  int status = 0;
  must(::waitpid(pid, &status, 0) == pid && status == 0, "make a pod");
  pods_.push_back(file);
  show_mounts();
  in_pod(file, "ip link set lo up");
  return file;
}

void Node::forget_kernel(KernelTypes types) const {
  fs::remove(path(kKnown));
  if (types == KernelTypes::described) show_kernel_types(dir_);
}

// As the node's /proc would, through which vfrail-cni finds the namespaces of the node.
void Node::show_mounts() const {
  std::filesystem::create_directories(path("root/proc/self"));
  write_text(path("root/proc/self/mountinfo"), read_text("/proc/self/mountinfo"));
}

void Node::end_pod(const std::string& path) {
  must(::umount2(path.c_str(), MNT_DETACH) == 0, "unmount a pod");
  fs::remove(path);
  std::erase(pods_, path);
}

std::string Node::in_pod(const std::string& path, const std::string& command) const {
  return shell("exec nsenter --net=" + path + " /bin/sh -ec '" + command + "'");
}

Json Node::link_in_pod(const std::string& path, const std::string& name) const {
  const Json all = parsed(in_pod(path, "ip -j addr"));
  for (const Json& link : *all.as_array()) {
    if (*link.find("ifname") == Json(name)) return link;
  }
  return {};
}

void Node::add_ipam(const std::string& name, const std::string& script) const {
  write_text(path("bin/" + name), "#!/bin/sh\n" + script + "\n");
  must(::chmod(path("bin/" + name).c_str(), 0755) == 0, "chmod");
}

Program Node::start(const Call& call) const {
  std::map<std::string, std::string> environment{
      {"CNI_COMMAND", call.verb},      {"CNI_CONTAINERID", call.container},
      {"CNI_NETNS", call.netns},       {"CNI_IFNAME", call.ifname},
      {"CNI_ARGS", call.args},         {"CNI_PATH", path("bin") + ":/usr/lib/cni:/usr/local/bin"},
      {"VFRAIL_ROOT", root()},         {"VFRAIL_STATE_DIR", path("state")},
      {"VFRAIL_RUN_DIR", path("run")}, {"VFRAIL_CDI_DIR", dir_.path()},
  };
  for (const auto& [name, value] : call.more_environment) environment[name] = value;
  std::vector<std::string> arguments = call.prefix;
  arguments.emplace_back(call.program.empty() ? program() : call.program);
  // A text stands for itself, so that a test can send what is not JSON.
  return {arguments, environment, call.config.as_text() ? *call.config.as_text() : call.config.text()};
}

// As installed, or as built.
std::string Node::program() const {
  return kind_ == Kind::real ? "vfrail-cni" : test::program_path("vfrail-cni");
}

Program Node::command_line(std::vector<std::string> arguments) const {
  arguments.insert(arguments.begin(), program());
  return {arguments,
          {{"CNI_PATH", path("bin") + ":/usr/lib/cni:/usr/local/bin"},
           {"VFRAIL_ROOT", root()},
           {"VFRAIL_STATE_DIR", path("state")},
           {"VFRAIL_RUN_DIR", path("run")},
           {"VFRAIL_CDI_DIR", dir_.path()}},
          ""};
}

Json Node::config(const std::string& version) const {
  Json out;
  out.set("cniVersion", version).set("name", "rail0").set("type", "vfrail").set("deviceID", "0000:03:02.1");
  return out;
}

Json Node::host_local() const {
  return parsed(
      R"({"type":"host-local","dataDir":")" + path("ipam") +
      R"(","ranges":[[{"subnet":"10.7.0.0/24","rangeStart":"10.7.0.5"}]],"routes":[{"dst":"0.0.0.0/0"}]})");
}

std::vector<std::string> Node::leases() const {
  std::vector<std::string> out;
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(path("ipam/rail0"), ignored)) {
    const std::string name = entry.path().filename().string();
    if (name.find('.') != std::string::npos && name.find("last") == std::string::npos) out.push_back(name);
  }
  std::sort(out.begin(), out.end());
  return out;
}

std::string Node::world() const {
  const std::vector<const char*> link_keys{"ifname",    "address",     "broadcast", "permaddr",
                                           "mtu",       "txqlen",      "altnames",  "ifalias",
                                           "link_type", "promiscuity", "allmulti",  "master"};
  std::string out = "links " + stable(parsed(shell("ip -j -d link")), link_keys).pretty();
  out += "\naddresses " + stable(parsed(shell("ip -j addr")), {"ifname", "addr_info"}).pretty();
  const std::vector<const char*> route_keys{"dst", "gateway", "dev", "table", "prefsrc", "metric", "type"};
  out += "\nroutes " + stable(parsed(shell("ip -j route show table all")), route_keys).pretty() + "\n";
  for (const std::string& lease : leases()) out += "lease " + lease + "\n";
  list_files(path("state"), out);
  list_files(path("run"), out);
  return out;
}

Json json_of(const Outcome& outcome) { return parsed(outcome.out); }

int code_of(const Outcome& outcome) {
  const Json json = json_of(outcome);
  const Json* code = json.find("code");
  return code != nullptr && code->as_int() != nullptr ? static_cast<int>(*code->as_int()) : -1;
}

std::string message_of(const Outcome& outcome) {
  const Json json = json_of(outcome);
  const Json* message = json.find("msg");
  return message != nullptr && message->as_text() != nullptr ? *message->as_text() : "";
}

}  // namespace vfrail::test
