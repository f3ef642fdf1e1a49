// The network namespaces that cni/node/namespaces.h does not see: no process is in them, and they are not
// mounted in this mount namespace. What keeps one alive and is inspected here: a thread that is in it, a
// descriptor of a process or of a thread with descriptors of its own (ns(7)), a socket or /dev/net/tun that
// was opened in it, a mount in another mount namespace. Not inspected: a descriptor on its way through a
// socket (SCM_RIGHTS) or registered with io_uring, files of its /proc/net, mount namespaces without a
// process. Reads only.
//
// It reads a link for each descriptor of the node (some 6 us), an fdinfo for that of a file (9 us more),
// three links for each thread: for what is known to be somewhere, and not for each DEL.
#pragma once

#include "cni/node/namespaces.h"

#include <chrono>
#include <cstddef>

namespace vfrail::cni {

struct HiddenLimits {
  // A node of 200 pods has some 100,000; one process can have 1,048,576 descriptors (fs.nr_open).
  size_t most_entries = 4'000'000;
  std::chrono::milliseconds longest{10'000};
};

// Calls `visit` with each hidden namespace. Processes and threads that end meanwhile are not there.
// Errc::denied with EACCES if some may not be inspected (without CAP_SYS_PTRACE, before Linux 5.6),
// Errc::timeout beyond a limit, Errc::busy if there is one that cannot be opened. As everywhere, an error
// hides no other namespace.
Result<> for_each_hidden_namespace(const World& world, const NamespaceVisit& visit,
                                   const HiddenLimits& limits = {});

}  // namespace vfrail::cni
