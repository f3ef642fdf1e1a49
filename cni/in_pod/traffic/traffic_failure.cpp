#include "cni/in_pod/traffic/traffic_failure.h"

#include "common/result.h"

#include <array>
#include <cerrno>

namespace vfrail::pod {

namespace {

constexpr std::array<const char*, 10> kStages = {
    "port",          "open",          "register memory", "create queue pair", "modify to INIT",
    "modify to RTR", "modify to RTS", "post write",      "complete write",    "finish"};

FailureText not_ready_to_receive(int error) {
  switch (error) {
    case ENODATA:
    case EINVAL:
      return {"there is no GID at that index of the port's table",
              "leave out --gid-index and NCCL_IB_GID_INDEX; VF-P08 of vfrail-check has the GIDs"};
    case ETIMEDOUT:
    case ENETUNREACH:
    case EHOSTUNREACH:
      return {"the kernel found no route to the peer's rail, or nobody answered its ARP",
              "one subnet for both rails, or routes between their subnets; ping the peer's rail by -I "
              "INTERFACE; VF-P16 of vfrail-check has the routes"};
    default:
      return {"the device refused the peer's address", "vfrail-check in both pods, VF-P06 to VF-P08"};
  }
}

FailureText not_completed(int status) {
  switch (status) {
    case kRetryExceeded:
      return {"transport retry counter exceeded: the peer's rail did not answer",
              "the fabric drops what the rails send, or a firewall does: let UDP port 4791 pass, and check "
              "VLAN, MTU and the switch ports of both rails"};
    case kRemoteAccess:
      return {"remote access error: the peer's device refused to write to the registered memory",
              "the same version of vfrail-check in both pods; the kernel log of the peer's node"};
    case kFlushed:
      return {"Work Request Flushed Error: the queue pair failed while writes were under way",
              "the kernel log of both nodes; Soft-RoCE before Linux 7.0 does not work in pods at all"};
    default:
      return {"completion status " + std::to_string(status), "the kernel log of both nodes"};
  }
}

FailureText reason(const TrafficFailure& failure) {
  switch (failure.stage) {
    case TrafficStage::port:
      return {"the port is not ACTIVE", "VF-P06 of vfrail-check in that pod says why"};
    case TrafficStage::open:
      return {"the device cannot be opened", "VF-P02 and VF-P04 of vfrail-check in that pod say why"};
    case TrafficStage::memory:
      return {failure.error == ENOMEM ? "the limit of locked memory is too low" : "memory was refused",
              "VF-P10 of vfrail-check in that pod says which limit, and how to raise it"};
    case TrafficStage::rtr:
      return not_ready_to_receive(failure.error);
    case TrafficStage::complete:
      return not_completed(failure.error);
    case TrafficStage::unfinished:
      return {"the device neither completed the writes nor gave them up",
              "the kernel log of both nodes, and the counters of the port: vfrail-check --top"};
    case TrafficStage::create:
    case TrafficStage::init:
    case TrafficStage::rts:
    case TrafficStage::write:
      break;
  }
  return {"the device refused", "the kernel log of that node"};
}

}  // namespace

const char* name_of(TrafficStage stage) { return kStages[static_cast<size_t>(stage)]; }

std::optional<TrafficStage> parse_traffic_stage(std::string_view name) {
  for (size_t i = 0; i < kStages.size(); ++i) {
    if (name == kStages[i]) return static_cast<TrafficStage>(i);
  }
  return std::nullopt;
}

FailureText failure_text(const TrafficFailure& failure) {
  FailureText out = reason(failure);
  const bool is_errno = failure.stage != TrafficStage::complete && failure.error != 0;
  out.text = std::string(name_of(failure.stage)) + ": " + (is_errno ? errno_text(failure.error) + ": " : "") +
             out.text;
  return out;
}

}  // namespace vfrail::pod
