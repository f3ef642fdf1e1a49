// Site: the node that the crowd works on, its devices in the host and its pods, and the kernel's view of
// them. Pods may be begun, ended and read from many threads.
#pragma once

#include "tests/netns/node.h"

#include <cstddef>
#include <mutex>
#include <string>
#include <vector>

namespace vfrail::test {

class Site {
 public:
  static constexpr size_t kMostMadeUp = 256;  // functions of a bus

  // Real VFs with these addresses, or, if there are none, `made_up` veths.
  Site(const std::vector<std::string>& real, size_t made_up);

  size_t devices() const { return devices_.size(); }
  const std::string& address(size_t device) const { return devices_[device].address; }

  std::string begin_pod(const std::string& name);
  void end_pod(const std::string& path);

  Program start(const Call& call) const { return node_.start(call); }
  // A configuration with host-local for IPAM, or for GC a plugin that knows GC.
  Json config(const std::string& verb) const;

  // In the host, under its own name, with its own settings.
  bool is_in_host(size_t device) const;
  // What is wrong with an attachment that ADD said this about; empty: nothing.
  std::string flaws(size_t device, const std::string& pod, const std::string& ifname,
                    const Json& result) const;
  // The attachments (CONTAINER:IFNAME) that have a record, and the one that each lease is for. Sorted.
  std::vector<std::string> records() const;
  std::vector<std::string> leases() const;
  // The node outside pods: links, settings, RDMA devices and their nodes; all files of vfrail and of IPAM,
  // but for what a kill may leave to a sweep: files of locks, and owners that were not yet complete.
  std::string state() const;
  // All files of vfrail.
  std::string files() const;
  // `vfrail-cni sweep`, as the daemon runs it.
  Outcome sweep() const { return node_.command_line({"sweep"}).wait(); }

 private:
  struct Device {
    std::string address;
    std::string name;
    std::vector<std::string> rdma;
  };
  void add(const std::string& address, const std::string& name, std::vector<std::string> rdma);

  bool real_;
  Node node_;
  std::mutex pods_;  // the node's list of them
  std::vector<Device> devices_;
};

}  // namespace vfrail::test
