// What the kernel lets a process with NET_ADMIN in a pod do in the host's network namespace, of which it has
// only the number: everything, or with a user namespace of its own (`hostUsers: false`) nothing. SECURITY.md
// advises by it.
#include "common/netlink/messages.h"
#include "tests/netns/node.h"

#include <cerrno>
#include <csignal>
#include <fcntl.h>
#include <net/if.h>
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <linux/if_link.h>

namespace vfrail::test {
namespace {

constexpr uint16_t kVlan = 7;

// A process with namespaces of its own, as a pod with NET_ADMIN has them.
class PodProcess {
 public:
  explicit PodProcess(bool own_users) : own_users_(own_users) {
    int ready[2];
    REQUIRE(::pipe2(ready, O_CLOEXEC) == 0);
    pid_ = ::fork();
    if (pid_ == 0) {
      const bool apart = ::unshare(CLONE_NEWNET | (own_users ? CLONE_NEWUSER : 0)) == 0;
      if (!apart || ::write(ready[1], "x", 1) != 1) ::_exit(1);
      for (;;) ::pause();
    }
    ::close(ready[1]);
    char byte = 0;
    const bool apart = ::read(ready[0], &byte, 1) == 1;
    ::close(ready[0]);
    REQUIRE(apart);
  }
  PodProcess(const PodProcess&) = delete;
  PodProcess& operator=(const PodProcess&) = delete;
  ~PodProcess() {
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }
  std::string netns() const { return "/proc/" + std::to_string(pid_) + "/ns/net"; }
  std::string pid() const { return std::to_string(pid_); }

  // The errno of the request from within; 0 if the kernel has done it.
  int request(const NlMessage& message) const {
    const pid_t child = ::fork();
    if (child == 0) {
      if (own_users_) enter("user");
      enter("net");
      auto socket = NlSocket::open(NETLINK_ROUTE);
      if (!socket) ::_exit(255);
      const auto done = socket->request(message);
      ::_exit(done ? 0 : done.error().sys);
    }
    int status = 0;
    REQUIRE(::waitpid(child, &status, 0) == child);
    REQUIRE(WIFEXITED(status));
    REQUIRE(WEXITSTATUS(status) != 255);
    return WEXITSTATUS(status);
  }

 private:
  void enter(const char* kind) const {
    const int fd = ::open(("/proc/" + pid() + "/ns/" + kind).c_str(), O_RDONLY | O_CLOEXEC);
    if (fd < 0 || ::setns(fd, 0) != 0) ::_exit(255);
    ::close(fd);
  }
  bool own_users_;
  pid_t pid_ = -1;
};

// An interface of the kind; `upon`: of the host, whose namespace has that number in the pod.
NlMessage create(const std::string& name, const std::string& kind, uint32_t host, int upon = 0) {
  NlMessage message(RTM_NEWLINK, NLM_F_CREATE | NLM_F_EXCL);
  message.put_header(ifinfomsg{});
  message.put_text(IFLA_IFNAME, name);
  if (upon != 0) {
    message.put_u32(IFLA_LINK, static_cast<uint32_t>(upon));
    message.put_u32(IFLA_LINK_NETNSID, host);
  } else {
    message.put_u32(IFLA_TARGET_NETNSID, host);
  }
  message.nest(IFLA_LINKINFO, [&] {
    message.put_text(IFLA_INFO_KIND, kind);
    message.nest(IFLA_INFO_DATA, [&] {
      const uint8_t id[] = {kVlan, 0};
      if (kind == "macvlan") message.put_u32(IFLA_MACVLAN_MODE, MACVLAN_MODE_BRIDGE);
      if (kind == "vlan") message.put_bytes(IFLA_VLAN_ID, id);
    });
  });
  return message;
}

NlMessage about(uint16_t type, int index, uint32_t host) {
  NlMessage message = link_message(type, 0, index);
  message.put_u32(IFLA_TARGET_NETNSID, host);
  return message;
}

int index_of(const Json& link) { return static_cast<int>(*link.find("ifindex")->as_int()); }

}  // namespace

TEST_CASE(
    "The kernel keeps NET_ADMIN of a pod out of the host only if the pod has a user namespace of its own") {
  const Node node;
  const bool own_users = GENERATE(false, true);
  CAPTURE(own_users);
  const PodProcess pod(own_users);
  shell("ip link add name vf1 type veth peer name vf1p && ip link add name old type veth peer name oldp");
  // As eth0 of each pod has its peer in the host, by which the pod has a number for that namespace.
  shell("ip link add name cali0 type veth peer name eth0 netns " + pod.pid());
  node.in_pod(pod.netns(), "ip link add name own type veth peer name ownp");
  const auto host =
      static_cast<uint32_t>(*node.link_in_pod(pod.netns(), "eth0").find("link_netnsid")->as_int());
  const int vf1 = static_cast<int>(::if_nametoindex("vf1"));
  const int old = static_cast<int>(::if_nametoindex("old"));
  const int own = index_of(node.link_in_pod(pod.netns(), "own"));
  const auto let_or_refused = [&](const char* what, const NlMessage& message) {
    const int failed = pod.request(message);
    INFO(what << ": errno " << failed);
    if (failed == EOPNOTSUPP) {
      WARN("this kernel cannot make " << what);
      return;
    }
    CHECK((own_users ? failed == EPERM || failed == EACCES : failed == 0));
  };
  let_or_refused("an interface in the host", create("evil", "veth", host));
  let_or_refused("one of the host's removed", about(RTM_DELLINK, old, host));
  let_or_refused("its own one of the host", about(RTM_SETLINK, own, host));
  let_or_refused("a macvlan on one of the host", create("spy", "macvlan", host, vf1));
  let_or_refused("a VLAN on one of the host", create("spy7", "vlan", host, vf1));
  const std::string links = shell("ip -br link");
  CHECK((links.find("evil@") != std::string::npos) == !own_users);
  CHECK((links.find("own@") != std::string::npos) == !own_users);
  CHECK((links.find("old@") != std::string::npos) == own_users);
}

}  // namespace vfrail::test
