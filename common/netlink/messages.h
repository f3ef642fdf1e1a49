// The beginnings of messages that more than one file of NetlinkKernel sends.
#pragma once

#include "common/kernel/kernel.h"
#include "common/netlink/netlink.h"

#include <string>
#include <sys/socket.h>

#include <linux/rtnetlink.h>

namespace vfrail {

// Of RTM_GETLINK and its sisters; `index` 0 with NLM_F_DUMP is all links.
inline NlMessage link_message(uint16_t type, uint16_t flags, int index) {
  NlMessage message(type, flags);
  ifinfomsg header{};
  header.ifi_family = AF_UNSPEC;
  header.ifi_index = index;
  message.put_header(header);
  return message;
}

// What a message calls an interface whose name the request does not have.
inline std::string link_text(int index) { return "link " + std::to_string(index); }

// The attributes of RTM_SETLINK; the flags are in its header.
void put_link_options(NlMessage& message, const LinkOptions& options);

}  // namespace vfrail
