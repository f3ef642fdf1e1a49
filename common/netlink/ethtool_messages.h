// The messages of the kernel's ethtool interface (ethtool_netlink.h) from and to our values. Pure. Answers
// are parsed with every length checked; the unit tests and the fuzz target call the same functions.
#pragma once

#include "common/kernel/ethtool.h"
#include "common/netlink/netlink.h"
#include "common/netlink/parse.h"

namespace vfrail {

NlMessage ethtool_family_message();
Result<uint16_t> parse_ethtool_family(NlBytes message);  // CTRL_CMD_NEWFAMILY

NlMessage ethtool_get_message(uint16_t family, int link, EthtoolGroup group);
NlMessage ethtool_set_message(uint16_t family, int link, EthtoolGroup group, const EthtoolSettings& change);
// The answer to the first.
Result<EthtoolSettings> parse_ethtool(NlBytes message, EthtoolGroup group);

}  // namespace vfrail
