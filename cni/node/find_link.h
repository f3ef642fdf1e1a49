// Which interface is the record's, in the pod and in the host: by what it is, because a pod can rename it.
// Changes nothing.
#pragma once

#include "cni/node/world.h"
#include "cni/record/record.h"
#include "common/kernel/kernel.h"
#include "common/result.h"

#include <optional>

namespace vfrail::cni {

// The record's netdev in the pod, by its properties and not by its name.
Result<std::optional<Link>> find_link_in_pod(const Record& record, Kernel& pod);

// The record's netdev in the host; no value while it is in another namespace, or if it has none.
Result<std::optional<Link>> find_link_in_host(const Record& record, const World& world);

// The IPoIB interface that the move of its RDMA device has created again, and whether it is in the pod: since
// Linux 6.17 it is made in the namespace of that device, before in the host. `before` is the one that it
// replaces. No value if neither has it yet.
struct NewIpoib {
  Link link;
  bool in_pod = false;
};
Result<std::optional<NewIpoib>> find_new_ipoib(const Record& record, const LinkBefore& before, Kernel& pod,
                                               const World& world);

// Whether an IPoIB interface stands on another one, of the namespace in which `parent` is that one's index.
// The kernel leaves IFLA_LINK out where it would be the interface's own index (nla_put_iflink()): in another
// namespace the two can be equal, and `link` can be an IPoIB interface that stands on none, too.
bool is_ipoib_child(const Link& link, int parent);

// The interfaces of other partitions (P_Keys) that stand on an IPoIB interface of the host, among those of
// the namespace `there`. The kernel has them in no list of what stands on it (net_device.adj_list), and
// reports of them the index of the interface below, not its namespace; so the port's GUID in the address is
// compared as well.
Result<std::vector<Link>> find_ipoib_children(const Link& lower, Kernel& there);

// What neither a move nor a pod changes is equal: the device below, the kind and the lower interface.
// Interfaces of one kind on one parent share these, so more is needed to identify one of them.
bool is_such(const LinkBefore& before, const Link& link);

// A virtual interface that is in the host as it was there. Hardware is known by its device.
bool is_still_in_host(const LinkBefore& before, const Link& link);

}  // namespace vfrail::cni
