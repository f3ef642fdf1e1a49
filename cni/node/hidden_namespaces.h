// The network namespaces that cni/node/namespaces.h does not see: no process is in them, and they are not
// mounted in this mount namespace. What keeps one alive and is inspected here: a thread that is in it, a
// descriptor of a process or of a thread with descriptors of its own (ns(7)), a socket or /dev/net/tun that
// was opened in it, a mount in another mount namespace. Not inspected: a descriptor on its way through a
// socket (SCM_RIGHTS) or registered with io_uring, files of its /proc/net, mount namespaces without a
// process. Reads only.
//
// It reads a link for each descriptor of the node (some 6 us), an fdinfo for that of a file (9 us more),
// three links for each thread: for what is known to be somewhere, and not for each DEL. A pod can have a
// million descriptors and as many mounts, so the clock is read before each of them (World::search).
#pragma once

#include "cni/node/namespaces.h"

#include <set>
#include <string>

namespace vfrail::cni {

// Calls `visit` with each hidden namespace. Processes and threads that end meanwhile are not there.
// Errc::denied with EACCES if some may not be inspected (without CAP_SYS_PTRACE, before Linux 5.6),
// Errc::timeout if there was no time for all, Errc::busy if there is one that cannot be opened. As
// everywhere, an error hides no other namespace.
Result<> for_each_hidden_namespace(World& world, const NamespaceVisit& visit);

// The same with those of these names (namespace_name()) alone. No other is opened, and what is wrong with
// others is not an error, and neither is it if one of these is not found.
Result<> visit_hidden_namespaces(World& world, const std::set<std::string>& names,
                                 const NamespaceVisit& visit);

}  // namespace vfrail::cni
