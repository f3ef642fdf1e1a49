// Attaches a BPF program that lets everything pass, as a pod could, to an interface of the namespace it runs
// in:
//   attach_program generic|native|link|tcx INTERFACE
// "link" holds XDP by a bpf_link, "tcx" is at ingress. Those two wait for the end of their input, because a
// bpf_link ends with its last descriptor. Prints "attached" when it is.
#include <array>
#include <cstdio>
#include <cstring>
#include <net/if.h>
#include <string>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <linux/bpf.h>
#include <linux/if_link.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>

namespace {

constexpr uint32_t kTcxIngress = 46;  // BPF_TCX_INGRESS, Linux 6.6

int bpf(int command, bpf_attr& attributes) {
  return static_cast<int>(::syscall(SYS_bpf, command, &attributes, sizeof attributes));
}

int load(uint32_t type, int result) {
  std::array<bpf_insn, 2> instructions{};
  instructions[0].code = BPF_ALU64 | BPF_MOV | BPF_K;
  instructions[0].dst_reg = BPF_REG_0;
  instructions[0].imm = result;
  instructions[1].code = BPF_JMP | BPF_EXIT;
  bpf_attr attributes{};
  attributes.prog_type = type;
  attributes.insns = reinterpret_cast<uintptr_t>(instructions.data());
  attributes.insn_cnt = instructions.size();
  attributes.license = reinterpret_cast<uintptr_t>("GPL");
  return bpf(BPF_PROG_LOAD, attributes);
}

int attach_by_link(int program, uint32_t index, uint32_t type) {
  bpf_attr attributes{};
  attributes.link_create.prog_fd = static_cast<uint32_t>(program);
  attributes.link_create.target_ifindex = index;
  attributes.link_create.attach_type = type;
  return bpf(BPF_LINK_CREATE, attributes);
}

struct Attribute {
  nlattr header;
  uint32_t value;
};
// RTM_SETLINK with IFLA_XDP.
int attach_by_netlink(int program, uint32_t index, uint32_t flags) {
  struct {
    nlmsghdr header{};
    ifinfomsg link{};
    nlattr xdp{sizeof(nlattr) + 2 * sizeof(Attribute), IFLA_XDP | NLA_F_NESTED};
    Attribute fd{{sizeof(Attribute), IFLA_XDP_FD}, 0};
    Attribute flags{{sizeof(Attribute), IFLA_XDP_FLAGS}, 0};
  } request;
  request.header.nlmsg_len = sizeof request;
  request.header.nlmsg_type = RTM_SETLINK;
  request.header.nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK;
  request.link.ifi_index = static_cast<int>(index);
  request.fd.value = static_cast<uint32_t>(program);
  request.flags.value = flags;
  struct {
    nlmsghdr header;
    nlmsgerr error;
    char rest[512];
  } answer{};
  const int netlink = ::socket(AF_NETLINK, SOCK_RAW, NETLINK_ROUTE);
  if (::send(netlink, &request, sizeof request, 0) < 0 || ::recv(netlink, &answer, sizeof answer, 0) < 0)
    return -1;
  errno = -answer.error.error;
  return answer.error.error;
}

int attach(const std::string& how, uint32_t index) {
  const bool tcx = how == "tcx";
  const int program = tcx ? load(BPF_PROG_TYPE_SCHED_CLS, -1) : load(BPF_PROG_TYPE_XDP, XDP_PASS);
  if (program < 0) return program;
  if (tcx) return attach_by_link(program, index, kTcxIngress);
  if (how == "link") return attach_by_link(program, index, BPF_XDP);
  return attach_by_netlink(program, index, how == "native" ? XDP_FLAGS_DRV_MODE : XDP_FLAGS_SKB_MODE);
}

}  // namespace

int main(int count, char** arguments) {
  const uint32_t index = count == 3 ? ::if_nametoindex(arguments[2]) : 0;
  if (index == 0) {
    std::fprintf(stderr, "attach_program generic|native|link|tcx INTERFACE\n");
    return 2;
  }
  const std::string how = arguments[1];
  if (attach(how, index) < 0) {
    std::perror("attach_program");
    return 1;
  }
  std::puts("attached");
  std::fflush(stdout);
  char byte = 0;
  while ((how == "tcx" || how == "link") && ::read(STDIN_FILENO, &byte, 1) > 0) continue;
  return 0;
}
