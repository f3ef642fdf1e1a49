// The part of NetlinkKernel that detaches BPF programs from a link: XDP by netlink, tcx and what a bpf_link
// holds by bpf(2).
#include "common/netlink/messages.h"
#include "common/netlink/netlink_kernel.h"
#include "common/unique_fd.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <functional>
#include <string>
#include <sys/syscall.h>
#include <unistd.h>

#include <linux/bpf.h>
#include <linux/if_link.h>

namespace vfrail {

namespace {

// Newer than the headers of Debian 12 (enum bpf_attach_type of Linux 6.6).
constexpr uint32_t kTcxIngress = 46;
constexpr uint32_t kTcxEgress = 47;
constexpr uint32_t kMaxPrograms = 64;  // BPF_MPROG_MAX

// Of union bpf_attr, what Linux 6.6 reads for BPF_PROG_QUERY and BPF_PROG_DETACH on a link.
struct ProgramQuery {
  uint32_t link;
  uint32_t attach_type;
  uint32_t query_flags;
  uint32_t attach_flags;
  uint64_t program_ids;
  uint32_t count;
  uint32_t unused;
  uint64_t program_attach_flags;
  uint64_t link_ids;
  uint64_t link_attach_flags;
  uint64_t revision;
};
struct ProgramDetach {
  uint32_t link;
  uint32_t program_fd;
  uint32_t attach_type;
  uint32_t attach_flags;
  uint32_t replace_fd;
  uint32_t relative;
  uint64_t expected_revision;
};

template <class Attributes>
int bpf(int command, Attributes& attributes) {
  return static_cast<int>(::syscall(SYS_bpf, command, &attributes, sizeof attributes));
}

UniqueFd open_by_id(int command, uint32_t id) {
  bpf_attr attributes{};
  attributes.prog_id = id;  // link_id is in the same place
  return UniqueFd(bpf(command, attributes));
}

Result<> detach_bpf_link(uint32_t id) {
  const UniqueFd fd = open_by_id(BPF_LINK_GET_FD_BY_ID, id);
  if (!fd.valid() && errno == ENOENT) return {};  // it has ended
  bpf_attr attributes{};
  attributes.link_detach.link_fd = static_cast<uint32_t>(fd.get());
  if (fd.valid() && bpf(BPF_LINK_DETACH, attributes) == 0) return {};
  return Error::from_errno(errno, "detach BPF link " + std::to_string(id));
}

// The bpf_link that holds an XDP program on the link can be found only by iterating over all of the node. The
// kernel reports its program and the index of its interface, which another namespace can have, too: nothing
// else is detached once ours is. (Of one program in two namespaces it may be the other's that goes first.)
Result<> detach_xdp_links(const Link& link, const std::function<Result<bool>()>& is_attached) {
  bpf_attr at{};
  while (bpf(BPF_LINK_GET_NEXT_ID, at) == 0) {
    at.start_id = at.next_id;
    const UniqueFd fd = open_by_id(BPF_LINK_GET_FD_BY_ID, at.next_id);
    bpf_link_info info{};
    bpf_attr query{};
    query.info.bpf_fd = static_cast<uint32_t>(fd.get());
    query.info.info_len = sizeof info;
    query.info.info = reinterpret_cast<uintptr_t>(&info);
    if (!fd.valid() || bpf(BPF_OBJ_GET_INFO_BY_FD, query) != 0) continue;
    const auto& ours = link.xdp_programs;
    const bool its = info.type == BPF_LINK_TYPE_XDP &&
                     info.xdp.ifindex == static_cast<uint32_t>(link.index) &&
                     std::find(ours.begin(), ours.end(), info.prog_id) != ours.end();
    if (!its) continue;
    TRY(detach_bpf_link(at.next_id));
    if (!TRY(is_attached())) return {};
  }
  return errno == ENOENT ? Result<>() : Result<>(Error::from_errno(errno, "list BPF links"));
}

Result<> detach_tcx(int index, uint32_t type, std::vector<std::string>& out) {
  std::array<uint32_t, kMaxPrograms> programs{};
  std::array<uint32_t, kMaxPrograms> links{};
  ProgramQuery query{};
  query.link = static_cast<uint32_t>(index);
  query.attach_type = type;
  query.program_ids = reinterpret_cast<uintptr_t>(programs.data());
  query.link_ids = reinterpret_cast<uintptr_t>(links.data());
  query.count = kMaxPrograms;
  if (bpf(BPF_PROG_QUERY, query) != 0) {
    // A kernel without tcx does not know the type, or has no bpf(2) at all.
    if (errno == EINVAL || errno == ENOSYS || errno == ENOENT || errno == ENODEV) return {};
    return Error::from_errno(errno, "find tcx programs");
  }
  for (uint32_t i = 0; i < query.count && i < kMaxPrograms; ++i) {
    const std::string what = "tcx program " + std::to_string(programs[i]);
    if (links[i] != 0) {
      TRY(detach_bpf_link(links[i]), what);
    } else {
      const UniqueFd program = open_by_id(BPF_PROG_GET_FD_BY_ID, programs[i]);
      ProgramDetach detach{};
      detach.link = query.link;
      detach.program_fd = static_cast<uint32_t>(program.get());
      detach.attach_type = type;
      if (!program.valid() || bpf(BPF_PROG_DETACH, detach) != 0)
        return Error::from_errno(errno, "detach " + what);
    }
    out.push_back(what + (type == kTcxIngress ? " (ingress)" : " (egress)"));
  }
  return {};
}

const char* mode_name(uint32_t mode) {
  if (mode == XDP_FLAGS_SKB_MODE) return "generic";
  return mode == XDP_FLAGS_DRV_MODE ? "native" : "offloaded";
}

}  // namespace

Result<> NetlinkKernel::remove_xdp(const Link& link, uint32_t mode) {
  NlMessage message = link_message(RTM_SETLINK, 0, link.index);
  message.nest(IFLA_XDP | NLA_F_NESTED, [&] {
    message.put_u32(IFLA_XDP_FD, static_cast<uint32_t>(-1));
    message.put_u32(IFLA_XDP_FLAGS, mode);
  });
  auto removed = route_.request(message);
  // A bpf_link holds it (dev_xdp_attach()).
  if (removed || removed.error().sys != EBUSY) return removed;
  return detach_xdp_links(link, [&]() -> Result<bool> {
    const auto now = TRY(find_link(link.index));
    return now && (now->xdp_modes & mode) != 0;
  });
}

Result<std::vector<std::string>> NetlinkKernel::detach_programs(const Link& link) {
  // The kernel finds programs in the namespace of the calling thread.
  const auto scope = TRY(NetnsScope::enter(netns_, origin_));
  std::vector<std::string> out;
  for (const uint32_t mode : {XDP_FLAGS_SKB_MODE, XDP_FLAGS_DRV_MODE, XDP_FLAGS_HW_MODE}) {
    if ((link.xdp_modes & mode) == 0) continue;
    TRY(remove_xdp(link, mode), std::string("take the XDP program off ") + link.name);
    out.push_back(std::string("XDP program (") + mode_name(mode) + ")");
  }
  for (const uint32_t type : {kTcxIngress, kTcxEgress}) TRY(detach_tcx(link.index, type, out));
  return out;
}

Result<UpperLinks> NetlinkKernel::upper_links(int index, const UpperOffsets& offsets) {
  const auto scope = TRY(NetnsScope::enter(netns_, origin_));
  return read_upper_links(index, offsets);
}

}  // namespace vfrail
