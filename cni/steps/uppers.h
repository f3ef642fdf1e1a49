// The interfaces that stand upon a device, and their removal: by the kernel's list of them, or where that is
// not known by a search of the namespaces of the node.
#pragma once

#include "cni/node/world.h"
#include "cni/record/record.h"
#include "common/kernel/kernel.h"
#include "common/result.h"

#include <string>
#include <vector>

namespace vfrail::cni {

// The device's interface, and the namespace that has it.
struct Lower {
  const Link& link;
  Kernel& netns;
};

// What stands upon the device's interface and is not the host's own, by the kernel's list. An error: it is
// not known.
Result<std::vector<UpperLink>> list_uppers(const Record& record, const Lower& lower, const World& world);

// Removes `uppers`, which list_uppers() has returned, and what it returns then, within the world's search
// time. Empty: nothing stands upon `lower` any more. Else why not. No namespace is opened but those that the
// list has, the host's and `pod`, which may be null: the one that the device was in.
Result<std::string> remove_listed_uppers(std::vector<UpperLink> uppers, const Record& record,
                                         const Lower& lower, Kernel* pod, World& world);

// Removes the interfaces of other partitions upon an IPoIB interface `lower`, in the host those that were not
// there before the attachment, and in the pod, which may be null. Those in further namespaces are not found.
Result<> remove_ipoib_children(const Record& record, const Link& lower, Kernel* pod, World& world);

// Removes what stands upon `lower` in the host, in the pod and in each namespace that a process is in or that
// is mounted. `found` becomes true if there is any.
Result<> remove_visible_uppers(const Record& record, const Link& lower, Kernel* pod, World& world,
                               bool& found);

// In each hidden namespace (cni/node/hidden_namespaces.h).
Result<> remove_hidden_uppers(const Link& lower, World& world);

}  // namespace vfrail::cni
