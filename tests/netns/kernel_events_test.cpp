// KernelEvents with the kernel's own messages, in a pod's network namespace: which of the host's events
// arrive there, and what that requires.
#include "plugin/observe/events/kernel_events.h"

#include "common/kernel/netns.h"

#include <cstdlib>
#include <functional>
#include <poll.h>
#include <sched.h>
#include <string>
#include <sys/syscall.h>
#include <thread>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <linux/capability.h>

namespace vfrail::test {
using namespace plugin;
namespace {

void shell(const std::string& command) {
  INFO(command);
  REQUIRE(std::system(command.c_str()) == 0);  // NOLINT(cert-env33-c): of the thread's namespace
}

// A host's namespace and a pod's, and the thread's way between them.
class TwoNamespaces {
 public:
  TwoNamespaces() : host_(fresh()), pod_(fresh()) { shell("ip link set lo up"); }

  // As a CNI plugin connects a pod: after it each of the two has a number for the other. The messages of the
  // carrier come later, from linkwatch, which holds RTNL: they have been sent when a request after them is
  // done. There are no link-local addresses, whose messages come later still.
  void connect() const {
    shell("ip link add eth0 type veth peer name to-pod netns " + path(host_));
    shell("ip link set eth0 addrgenmode none && ip link set eth0 up");
    in_host("ip link set to-pod addrgenmode none && ip link set to-pod up");
    const auto settled = [](const std::string& name) {
      return "until ip link show " + name + " | grep -q 'state UP'; do sleep 0.01; done; ip link set " +
             name + " up";
    };
    shell(settled("eth0"));
    in_host(settled("to-pod"));
  }
  void in_host(const std::string& command) const {
    const auto scope = NetnsScope::enter(host_, pod_);
    REQUIRE(scope);
    shell(command);
  }

 private:
  static Netns fresh() {
    if (::unshare(CLONE_NEWNET) != 0) throw std::runtime_error("cannot make a network namespace");
    auto out = Netns::current();
    if (!out) throw std::runtime_error(out.error().text);
    return *std::move(out);
  }
  static std::string path(const Netns& netns) {
    return "/proc/" + std::to_string(::getpid()) + "/fd/" + std::to_string(netns.fd());
  }

  const Netns host_;
  const Netns pod_;
};

// On a thread of its own, so that its namespace and its rights end with it.
void apart(const std::function<void()>& test) {
  std::exception_ptr failed;
  std::thread([&] {
    try {
      test();
    } catch (...) {
      failed = std::current_exception();
    }
  }).join();
  if (failed) std::rethrow_exception(failed);
}

void drop(unsigned capability) {
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct data[2]{};
  REQUIRE(::syscall(SYS_capget, &header, data) == 0);
  data[CAP_TO_INDEX(capability)].effective &= ~CAP_TO_MASK(capability);
  REQUIRE(::syscall(SYS_capset, &header, data) == 0);
}

// Everything that has been said so far; messages are there when the call that causes them returns.
std::string all_of(KernelEvents& events) {
  std::string out;
  while (const auto what = events.read()) out += what->words + "\n";
  return out;
}

bool readable(const KernelEvents& events) {
  for (const int fd : events.fds()) {
    pollfd one{fd, POLLIN, 0};
    if (::poll(&one, 1, 0) == 1) return true;
  }
  return false;
}

constexpr const char* kDefaultRoute =
    "ip addr add 10.9.0.1/24 dev to-pod && ip route add default via 10.9.0.2";

}  // namespace

TEST_CASE("in a pod, events of the host's default route arrive through the veth between them") {
  apart([] {
    const TwoNamespaces both;
    both.connect();
    Log log;
    KernelEvents events(log);
    CHECK(events.covers_other_namespaces());
    CHECK_FALSE(readable(events));
    both.in_host(kDefaultRoute);
    CHECK(all_of(events) == "default route\n");
  });
}

TEST_CASE("events of other pods' veths arrive and do not matter") {
  apart([] {
    const TwoNamespaces both;
    both.connect();
    Log log;
    KernelEvents events(log);
    both.in_host("ip link add v1 type veth peer name v2 && ip link set v1 up && ip link del v1");
    CHECK(readable(events));
    CHECK(all_of(events).empty());
  });
}

TEST_CASE("events of an unconnected namespace do not arrive, nor the host's without CAP_NET_BROADCAST") {
  apart([] {
    const TwoNamespaces both;
    Log log;
    KernelEvents unconnected(log);
    both.in_host("ip link set lo up && ip route add default dev lo");
    CHECK_FALSE(readable(unconnected));

    both.connect();
    drop(CAP_NET_BROADCAST);
    KernelEvents deaf(log);
    CHECK_FALSE(deaf.covers_other_namespaces());
    both.in_host("ip addr add 10.9.0.1/24 dev to-pod && ip route add default via 10.9.0.2 metric 7");
    CHECK_FALSE(readable(deaf));
    // Events of its own namespace need no privileges.
    shell("ip route add default dev eth0");
    CHECK(all_of(deaf) == "default route\n");
  });
}

TEST_CASE("lost messages cause a rescan") {
  apart([] {
    const TwoNamespaces both;
    both.connect();
    Log log;
    KernelEvents events(log);
    // More than the socket holds, and none of them about a function.
    both.in_host(
        "for i in $(seq 400); do echo \"route add 10.8.$((i / 250)).$((i % 250))/32 dev to-pod\"; done > "
        "/tmp/r.$$;"
        "ip link set to-pod up && for i in 1 2 3 4; do ip -batch /tmp/r.$$ && ip route flush scope link; "
        "done;"
        "rm /tmp/r.$$");
    const auto lost = events.read();
    REQUIRE(lost);
    CHECK(lost->words == "messages lost: links and routes");
    CHECK(lost->changed == Changed::all());
  });
}

}  // namespace vfrail::test
