#include "common/netlink/link_option_messages.h"

#include "common/netlink/attributes.h"
#include "common/netlink/messages.h"

#include <linux/if_link.h>

namespace vfrail {

namespace {

// Of Linux 6.3.
constexpr uint16_t kGsoIpv4MaxSize = 63;
constexpr uint16_t kGroIpv4MaxSize = 64;

enum class Width : uint8_t { byte, word };

struct OptionRow {
  uint16_t attribute;
  std::optional<uint32_t> LinkOptions::*value;
  Width width = Width::word;
};

constexpr OptionRow kOptions[] = {{IFLA_LINKMODE, &LinkOptions::mode, Width::byte},
                                  {IFLA_GROUP, &LinkOptions::group},
                                  {IFLA_PROTO_DOWN, &LinkOptions::proto_down, Width::byte},
                                  {IFLA_GSO_MAX_SIZE, &LinkOptions::gso_max_size},
                                  {IFLA_GSO_MAX_SEGS, &LinkOptions::gso_max_segs},
                                  {IFLA_GRO_MAX_SIZE, &LinkOptions::gro_max_size},
                                  {kGsoIpv4MaxSize, &LinkOptions::gso_ipv4_max_size},
                                  {kGroIpv4MaxSize, &LinkOptions::gro_ipv4_max_size}};

}  // namespace

void put_link_options(NlMessage& message, const LinkOptions& options) {
  if (options.proto_down_reason) {
    message.nest(IFLA_PROTO_DOWN_REASON | NLA_F_NESTED, [&] {
      message.put_u32(IFLA_PROTO_DOWN_REASON_MASK, UINT32_MAX);
      message.put_u32(IFLA_PROTO_DOWN_REASON_VALUE, *options.proto_down_reason);
    });
  }
  for (const OptionRow& row : kOptions) {
    const auto& value = options.*row.value;
    if (!value) continue;
    if (row.width == Width::byte) {
      message.put_u8(row.attribute, static_cast<uint8_t>(*value));
    } else {
      message.put_u32(row.attribute, *value);
    }
  }
}

void read_link_option(int type, const nlattr* value, LinkOptions& options) {
  // Reported where there are any (rtnl_fill_proto_down()).
  if (type == IFLA_PROTO_DOWN && !options.proto_down_reason) options.proto_down_reason = 0;
  if (type == IFLA_PROTO_DOWN_REASON) {
    for_each_attribute(nla_data(value), static_cast<size_t>(nla_len(value)),
                       [&](int inner, const nlattr* reasons) {
                         if (inner == IFLA_PROTO_DOWN_REASON_VALUE)
                           options.proto_down_reason = number_of<uint32_t>(reasons);
                       });
  }
  for (const OptionRow& row : kOptions) {
    if (type == row.attribute)
      options.*row.value = row.width == Width::byte ? number_of<uint8_t>(value) : number_of<uint32_t>(value);
  }
}

}  // namespace vfrail
