// Node: a node of its own for one test. The test's process moves into a fresh network namespace, the host's;
// pods are further namespaces, bound to files; devices are veth pairs, which a made-up sysfs gives PCI
// addresses. Or the node that the test runs on, which must be a throw-away one (the lab's VM), with its
// devices.
#pragma once

#include "common/json.h"
#include "tests/netns/program.h"
#include "tests/support/temp_dir.h"

#include <map>
#include <string>
#include <vector>

namespace vfrail::test {

// One call of vfrail-cni, with what most tests use.
struct Call {
  std::string verb = "ADD";
  std::string container = "pod1";
  std::string netns;
  std::string ifname = "net1";
  std::string args = "IgnoreUnknown=1";
  Json config;
  std::map<std::string, std::string> more_environment = {};
  std::vector<std::string> prefix = {};  // a program that starts it: strace, setpriv
  std::string program = {};              // where vfrail-cni is installed; empty: where it was built
};

class Node {
 public:
  enum class Kind : unsigned char { made_up, real };
  explicit Node(Kind kind = Kind::made_up);
  Node(const Node&) = delete;
  Node& operator=(const Node&) = delete;
  ~Node();

  // A made-up node's: a veth in the host, up, at that PCI address. Its peer is called as it is with 'p'
  // behind it.
  void add_device(const std::string& address, const std::string& name);
  std::string add_pod(const std::string& name);  // the path of its namespace
  void end_pod(const std::string& path);
  std::string in_pod(const std::string& path, const std::string& command) const;
  Json link_in_pod(const std::string& path,
                   const std::string& name) const;  // `ip -j addr`; null if not there
  void add_ipam(const std::string& name, const std::string& script) const;

  // A made-up node knows where the kernel lists what stands on an interface (cni/node/upper_links.h), as
  // after the first DEL of a boot. Forgotten, the next DEL finds it out again; or the kernel does not
  // describe its types (CONFIG_DEBUG_INFO_BTF), and DEL searches the node.
  enum class KernelTypes : unsigned char { described, not_described };
  void forget_kernel(KernelTypes types) const;

  Program start(const Call& call) const;
  Outcome run(const Call& call) const { return start(call).wait(); }
  // vfrail-cni by hand: `vfrail-cni sweep --dry-run`.
  Program command_line(std::vector<std::string> arguments) const;

  // Network rail0 of type vfrail with device 0000:03:02.1.
  Json config(const std::string& version = "1.0.0") const;
  Json host_local() const;  // an ipam section: 10.7.0.0/24 with a default route
  std::vector<std::string> leases() const;

  // Everything that an attachment must not leave changed: links, addresses, routes, leases, state and run
  // folders.
  std::string world() const;
  std::string path(const std::string& below) const { return dir_.path(below); }
  std::string root() const { return kind_ == Kind::real ? "/" : path("root"); }

 private:
  std::string program() const;
  void show_mounts() const;

  Kind kind_;
  TempDir dir_{TempDir::On::disk};
  std::vector<std::string> pods_;
  int home_ = -1;
};

// The parsed stdout; null if it is not JSON.
Json json_of(const Outcome& outcome);
// The code of the error on stdout, or -1.
int code_of(const Outcome& outcome);
std::string message_of(const Outcome& outcome);

}  // namespace vfrail::test
