// What vfrail relies on in a Kernel, as one suite that runs on FakeKernel, on the real kernel with a veth,
// and in the lab with a VF and its RDMA device: so the fake cannot drift away from the kernel.
#pragma once

#include "common/kernel/kernel.h"

#include <functional>
#include <optional>
#include <string>

namespace vfrail::test {

struct ContractBench {
  Kernel& host;
  Kernel& pod;
  std::string link;  // in the host, for the suite to play with; down, without alternative names
  std::string rdma;  // an RDMA device in the host, or empty
  // Makes another link with that name in the pod.
  std::function<void(const std::string& name)> add_to_pod;
  // Attaches an XDP program in generic mode to the link of that name in the host.
  std::function<void(const std::string& name)> attach_xdp;
  // Where this kernel lists what stands on a link. No value: it does not (no /sys/kernel/btf/vmlinux).
  std::optional<UpperOffsets> uppers = std::nullopt;
  // A PF in the host and the number of one of its VFs, whose settings the suite changes and sets back; empty:
  // none.
  std::string pf = {};
  uint32_t vf = 0;
};

// Each section is a behaviour. The link and the RDMA device are back in the host afterwards.
void check_kernel_contract(ContractBench bench);

}  // namespace vfrail::test
