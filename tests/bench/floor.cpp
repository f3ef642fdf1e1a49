// The floor of an attachment: a program that is called as a CNI plugin and sends the netlink messages that
// the kernel cannot do without, and nothing else. It reads no configuration, checks nothing, keeps no record,
// prints no result; what vfrail-cni has to find out is in its environment. For measurements only.
//
//   CNI_COMMAND, CNI_NETNS, CNI_IFNAME   as a CNI plugin's
//   FLOOR_LINK   name of the netdev in the host
//   FLOOR_RDMA   index of its RDMA device; unset: it has none, or it stays
//   FLOOR_IPAM   path of an IPAM plugin, which gets our environment and stdin; unset: no address
//   FLOOR_PF, FLOOR_VF, FLOOR_VLAN   name of the PF, number of the VF: sets this VLAN, after one query of the
//   VFs
//
// Prints "VERB NANOSECONDS": what the messages took, from the first byte sent to the last answer read.
#include <arpa/inet.h>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <fcntl.h>
#include <net/if.h>
#include <sched.h>
#include <spawn.h>
#include <string>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <linux/if_link.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <rdma/rdma_netlink.h>

namespace {

int64_t in_messages_ns = 0;

void must(bool holds, const char* what) {
  if (holds) return;
  std::perror(what);
  std::exit(1);
}

const char* variable(const char* name) {
  const char* value = std::getenv(name);
  must(value != nullptr, name);
  return value;
}

int64_t now_ns() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * int64_t{1'000'000'000} + now.tv_nsec;
}

// One request: a header of the family, then attributes.
struct Message {
  alignas(NLMSG_ALIGNTO) char bytes[512] = {};
  nlmsghdr* header() { return reinterpret_cast<nlmsghdr*>(bytes); }

  Message(int type, int flags) {
    header()->nlmsg_len = NLMSG_HDRLEN;
    header()->nlmsg_type = static_cast<uint16_t>(type);
    header()->nlmsg_flags = static_cast<uint16_t>(NLM_F_REQUEST | NLM_F_ACK | flags);
  }
  void* append(size_t size) {
    char* at = bytes + header()->nlmsg_len;
    header()->nlmsg_len += static_cast<uint32_t>(NLMSG_ALIGN(size));
    return at;
  }
  template <class Body>
  void body(const Body& body) {
    std::memcpy(append(sizeof body), &body, sizeof body);
  }
  nlattr* attribute(int type, const void* data, size_t size) {
    auto* out = static_cast<nlattr*>(append(NLA_HDRLEN + size));
    out->nla_type = static_cast<uint16_t>(type);
    out->nla_len = static_cast<uint16_t>(NLA_HDRLEN + size);
    if (size > 0) std::memcpy(out + 1, data, size);
    return out;
  }
  void number(int type, uint32_t value) { attribute(type, &value, sizeof value); }
  void text(int type, const char* value) { attribute(type, value, std::strlen(value) + 1); }
  void end_nest(nlattr* nest) {
    nest->nla_len = static_cast<uint16_t>(bytes + header()->nlmsg_len - reinterpret_cast<char*>(nest));
  }
};

class Socket {
 public:
  explicit Socket(int protocol) : fd_(::socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, protocol)) {
    must(fd_ >= 0, "netlink socket");
  }
  int index_of(const char* name) const {
    ifreq request{};
    std::strncpy(request.ifr_name, name, IFNAMSIZ - 1);
    must(::ioctl(fd_, SIOCGIFINDEX, &request) == 0, name);
    return request.ifr_ifindex;
  }
  // Sends, and reads up to the acknowledgement.
  void request(Message& message, const char* what) const {
    const int64_t begin = now_ns();
    must(::send(fd_, message.bytes, message.header()->nlmsg_len, 0) >= 0, what);
    for (bool done = false; !done;) {
      alignas(NLMSG_ALIGNTO) static char answer[65536];
      const ssize_t size = ::recv(fd_, answer, sizeof answer, 0);
      must(size >= static_cast<ssize_t>(NLMSG_HDRLEN), what);
      const auto* header = reinterpret_cast<const nlmsghdr*>(answer);
      if (header->nlmsg_type != NLMSG_ERROR) continue;
      errno = -static_cast<const nlmsgerr*>(NLMSG_DATA(header))->error;
      must(errno == 0, what);
      done = true;
    }
    in_messages_ns += now_ns() - begin;
  }

 private:
  int fd_;
};

void enter(int netns) { must(::setns(netns, CLONE_NEWNET) == 0, "setns"); }

int open_netns(const char* path) {
  const int fd = ::open(path, O_RDONLY | O_CLOEXEC);
  must(fd >= 0, path);
  return fd;
}

// One request that moves, renames and sets the flag.
void move_link(const Socket& route, const char* name, int netns, const char* new_name, unsigned flags) {
  Message message(RTM_SETLINK, 0);
  ifinfomsg body{};
  body.ifi_index = route.index_of(name);
  body.ifi_flags = flags;
  body.ifi_change = IFF_UP;
  message.body(body);
  message.number(IFLA_NET_NS_FD, static_cast<uint32_t>(netns));
  message.text(IFLA_IFNAME, new_name);
  route.request(message, "move link");
}

// The caller is in the device's namespace (rdma_dev_change_netns()).
void move_rdma(int netns) {
  const char* index = std::getenv("FLOOR_RDMA");
  if (index == nullptr) return;
  const Socket rdma(NETLINK_RDMA);
  Message message(RDMA_NL_GET_TYPE(RDMA_NL_NLDEV, RDMA_NLDEV_CMD_SET), 0);
  message.number(RDMA_NLDEV_ATTR_DEV_INDEX, static_cast<uint32_t>(std::atoi(index)));
  message.number(RDMA_NLDEV_NET_NS_FD, static_cast<uint32_t>(netns));
  rdma.request(message, "move RDMA device");
}

// What a plugin does that sets VF properties and can restore them: one query of all VFs, one message that
// sets.
void set_vf(const Socket& route, const char* vlan, bool query_first) {
  const char* pf = std::getenv("FLOOR_PF");
  if (pf == nullptr) return;
  ifinfomsg body{};
  body.ifi_index = route.index_of(pf);
  if (query_first) {
    Message query(RTM_GETLINK, 0);
    query.body(body);
    query.number(IFLA_EXT_MASK, RTEXT_FILTER_VF | RTEXT_FILTER_SKIP_STATS);
    route.request(query, "query the VFs");
  }
  Message message(RTM_SETLINK, 0);
  message.body(body);
  nlattr* list = message.attribute(IFLA_VFINFO_LIST | NLA_F_NESTED, nullptr, 0);
  nlattr* info = message.attribute(IFLA_VF_INFO | NLA_F_NESTED, nullptr, 0);
  const ifla_vf_vlan value{static_cast<uint32_t>(std::atoi(variable("FLOOR_VF"))),
                           static_cast<uint32_t>(std::atoi(vlan)), 0};
  message.attribute(IFLA_VF_VLAN, &value, sizeof value);
  message.end_nest(info);
  message.end_nest(list);
  route.request(message, "set VF");
}

// Runs the IPAM plugin with our environment and stdin; its stdout.
std::string run_ipam(const char* program) {
  int out[2];
  must(::pipe2(out, O_CLOEXEC) == 0, "pipe");
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, out[1], STDOUT_FILENO);
  char* arguments[] = {const_cast<char*>(program), nullptr};
  pid_t pid = -1;
  must(::posix_spawn(&pid, program, &actions, nullptr, arguments, environ) == 0, program);
  ::close(out[1]);
  std::string answer;
  char buffer[4096];
  for (ssize_t got; (got = ::read(out[0], buffer, sizeof buffer)) > 0;) {
    answer.append(buffer, static_cast<size_t>(got));
  }
  int status = 0;
  must(::waitpid(pid, &status, 0) == pid && status == 0, answer.c_str());
  return answer;
}

// The first "address" of the IPAM plugin's answer, an IPv4 one.
void add_address(const Socket& route, const char* ifname, const std::string& answer) {
  const size_t at = answer.find("\"address\": \"");
  must(at != std::string::npos, "address in the answer");
  char text[32];
  unsigned prefix = 0;
  must(std::sscanf(answer.c_str() + at, "\"address\": \"%31[0-9.]/%u", text, &prefix) == 2, "address");
  uint32_t address = 0;
  must(::inet_pton(AF_INET, text, &address) == 1, "address");
  Message message(RTM_NEWADDR, NLM_F_CREATE | NLM_F_EXCL);
  ifaddrmsg body{};
  body.ifa_family = AF_INET;
  body.ifa_prefixlen = static_cast<uint8_t>(prefix);
  body.ifa_index = static_cast<uint32_t>(route.index_of(ifname));
  message.body(body);
  message.number(IFA_LOCAL, address);
  message.number(IFA_ADDRESS, address);
  route.request(message, "add address");
}

void add() {
  const int pod = open_netns(variable("CNI_NETNS"));
  const Socket route(NETLINK_ROUTE);
  if (const char* vlan = std::getenv("FLOOR_VLAN")) set_vf(route, vlan, true);
  move_link(route, variable("FLOOR_LINK"), pod, variable("CNI_IFNAME"), IFF_UP);
  move_rdma(pod);
  const char* ipam = std::getenv("FLOOR_IPAM");
  if (ipam == nullptr) return;
  const std::string answer = run_ipam(ipam);
  enter(pod);
  add_address(Socket(NETLINK_ROUTE), variable("CNI_IFNAME"), answer);
}

void del() {
  const int host = open_netns("/proc/self/ns/net");
  enter(open_netns(variable("CNI_NETNS")));
  move_rdma(host);
  move_link(Socket(NETLINK_ROUTE), variable("CNI_IFNAME"), host, variable("FLOOR_LINK"), 0);
  enter(host);
  if (std::getenv("FLOOR_VLAN") != nullptr) set_vf(Socket(NETLINK_ROUTE), "0", false);
  if (const char* ipam = std::getenv("FLOOR_IPAM")) run_ipam(ipam);
}

}  // namespace

int main() {
  const char* verb = variable("CNI_COMMAND");
  std::strcmp(verb, "ADD") == 0 ? add() : del();
  char line[64];
  const int size =
      std::snprintf(line, sizeof line, "%s %lld\n", verb, static_cast<long long>(in_messages_ns));
  return ::write(STDOUT_FILENO, line, static_cast<size_t>(size)) == size ? 0 : 1;
}
