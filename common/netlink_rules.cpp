// The routing rules of NetlinkKernel.
#include "common/netlink_kernel.h"
#include "common/netlink_parse.h"

#include <sys/socket.h>

#include <linux/fib_rules.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>

namespace vfrail {

namespace {

NlMessage rule_message(uint16_t type, uint16_t flags, const IpAddress& source, uint32_t table) {
  NlMessage message(type, flags);
  fib_rule_hdr header{};
  header.family = source.v6() ? AF_INET6 : AF_INET;
  header.src_len = source.prefix;
  header.action = FR_ACT_TO_TBL;
  message.put_header(header);
  if (source.prefix > 0) message.put_bytes(FRA_SRC, source.bytes);
  message.put_u32(FRA_TABLE, table);
  return message;
}

}  // namespace

Result<> NetlinkKernel::add_rule(const IpAddress& source, uint32_t table) {
  return route_.request(rule_message(RTM_NEWRULE, NLM_F_CREATE, source, table));
}

Result<std::vector<RoutingRule>> NetlinkKernel::rules() {
  std::vector<RoutingRule> out;
  NlMessage message(RTM_GETRULE, NLM_F_DUMP);
  message.put_header(fib_rule_hdr{});  // AF_UNSPEC: every family that the kernel has
  TRY(route_.query(message, [&](NlBytes reply) { return parse_rule(reply, out); }), "list routing rules");
  return out;
}

Result<> NetlinkKernel::remove_rule(const RoutingRule& rule) {
  NlMessage message = rule_message(RTM_DELRULE, 0, rule.source, rule.table);
  message.put_u32(FRA_PRIORITY, rule.priority);
  return route_.request(message);
}

}  // namespace vfrail
