// Scene: a node with one device and its pod, over and over: what every trial of a sweep finds when it begins
// and must leave when it ends. Reads the whole state as text through netlink, because a trial has no time for
// `ip`.
#pragma once

#include "common/ids.h"
#include "tests/netns/node.h"
#include "tests/netns/snapshot.h"

#include <cstdint>
#include <string>
#include <vector>

namespace vfrail::test {

struct Setting {
  std::string device;  // PCI address of a real VF; empty: a made-up node with a veth
  bool ipam = false;   // host-local, with an IPv4 and an IPv6 address; else none
};

class Scene {
 public:
  explicit Scene(const Setting& setting);

  // A call for the pod, and one for the pod that gets the device next.
  Call call(const std::string& verb) const;
  Call next_call(const std::string& verb) const;
  Call sweep_call() const;  // vfrail-cni sweep
  // What a call answered must have been success.
  Outcome must(const Call& call) const;
  Outcome run(const Call& call) const { return node_.run(call); }

  // As Allocate does before each pod: its container gets its nodes by CDI. The numbers are no device's, so
  // that each ADD has something to correct.
  void allocate_by_cdi() const;
  void require_corrected_spec() const;

  // The pod's namespace ends and the kernel returns its device; begin_pod() creates a new one at the same
  // path.
  void end_pod();
  void begin_pod();

  // The node outside pods: links, addresses, routes, RDMA devices, the files of vfrail and of IPAM.
  std::string host() const;
  std::string pod() const;
  std::string next_pod() const;
  std::string everything() const { return host() + pod(); }

  // As it is without an attachment, and with one.
  const std::string& before() const { return before_; }
  const std::string& attached() const { return attached_; }
  const std::string& result() const { return result_; }
  // After a fault the files of a pod may not be what they were; what is left of them a sweep removes.
  enum class PodFiles : uint8_t { whole, may_lack };
  void require_before(PodFiles files = PodFiles::whole) const;
  void require_attached(PodFiles files = PodFiles::whole) const;
  // The same by `ip`, which knows nothing of our reading of netlink: for the beginning and the end.
  std::string by_ip() const { return node_.world(); }
  std::string path(const std::string& below) const { return node_.path(below); }

 private:
  Call call(const std::string& verb, const std::string& container, const std::string& netns) const;
  Json config(const std::string& verb) const;
  std::string make_pod(const std::string& name);
  void add_speaker_of_newer_cni() const;
  DeviceId device() const;
  std::string spec_path() const { return node_.path("vfrail-spec.json"); }
  std::vector<std::string> nodes_in_spec() const;

  Setting setting_;
  Node node_;
  std::string pod_;
  std::string next_pod_;
  std::string before_;
  std::string attached_;
  std::string result_;
};

}  // namespace vfrail::test
