// Which namespaces have a link that stands on one of this namespace's. A DEL asks it about every namespace of
// the node: ten system calls for each, where opening a Kernel there and listing its links takes twenty-two.
#pragma once

#include "common/netlink/parse.h"

#include <map>
#include <string>

namespace vfrail::cni {

// Erases from `namespaces`, name -> path, those that certainly have no link upon the link with index `lower`
// of another namespace: what cannot be listed stays, and so does one with a link upon the same index of a
// third namespace. The thread is in them for the duration of the call. CAP_SYS_ADMIN.
void erase_without_uppers(std::map<std::string, std::string>& namespaces, int lower);

// Whether the message (RTM_NEWLINK) can be about a link that stands upon the one with index `lower` of
// another namespace. True if it is too short to say.
bool can_stand_on(NlBytes message, int lower);

}  // namespace vfrail::cni
