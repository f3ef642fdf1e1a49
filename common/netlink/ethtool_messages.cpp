#include "common/netlink/ethtool_messages.h"

#include "common/netlink/attributes.h"

#include <linux/ethtool_netlink.h>
#include <linux/genetlink.h>

namespace vfrail {

namespace {

enum class NumberWidth : uint8_t { byte, word };

struct NumberRow {
  uint16_t attribute;
  const char* name;
  NumberWidth width = NumberWidth::word;
};

// One group: how it is queried, how it is set, and what of its answer can be set. `bits` is the attribute of
// a bit set; 0 for groups of numbers. Of the features it is the wanted ones: the active ones follow.
struct GroupRow {
  uint8_t get;
  uint8_t set;
  uint16_t bits;
  std::span<const NumberRow> numbers;
};

constexpr NumberRow kChannels[] = {{ETHTOOL_A_CHANNELS_RX_COUNT, "rx"},
                                   {ETHTOOL_A_CHANNELS_TX_COUNT, "tx"},
                                   {ETHTOOL_A_CHANNELS_OTHER_COUNT, "other"},
                                   {ETHTOOL_A_CHANNELS_COMBINED_COUNT, "combined"}};

// The last three are of Linux 6.3, 6.4 and 6.14.
constexpr NumberRow kRings[] = {{ETHTOOL_A_RINGS_RX, "rx"},
                                {ETHTOOL_A_RINGS_RX_MINI, "rxMini"},
                                {ETHTOOL_A_RINGS_RX_JUMBO, "rxJumbo"},
                                {ETHTOOL_A_RINGS_TX, "tx"},
                                {ETHTOOL_A_RINGS_RX_BUF_LEN, "rxBufLen"},
                                {ETHTOOL_A_RINGS_TCP_DATA_SPLIT, "tcpDataSplit", NumberWidth::byte},
                                {ETHTOOL_A_RINGS_CQE_SIZE, "cqeSize"},
                                {ETHTOOL_A_RINGS_TX_PUSH, "txPush", NumberWidth::byte},
                                {14, "rxPush", NumberWidth::byte},
                                {15, "txPushBufLen"},
                                {17, "hdsThresh"}};

// The last three are of Linux 6.6.
constexpr NumberRow kCoalesce[] = {{ETHTOOL_A_COALESCE_RX_USECS, "rxUsecs"},
                                   {ETHTOOL_A_COALESCE_RX_MAX_FRAMES, "rxFrames"},
                                   {ETHTOOL_A_COALESCE_RX_USECS_IRQ, "rxUsecsIrq"},
                                   {ETHTOOL_A_COALESCE_RX_MAX_FRAMES_IRQ, "rxFramesIrq"},
                                   {ETHTOOL_A_COALESCE_TX_USECS, "txUsecs"},
                                   {ETHTOOL_A_COALESCE_TX_MAX_FRAMES, "txFrames"},
                                   {ETHTOOL_A_COALESCE_TX_USECS_IRQ, "txUsecsIrq"},
                                   {ETHTOOL_A_COALESCE_TX_MAX_FRAMES_IRQ, "txFramesIrq"},
                                   {ETHTOOL_A_COALESCE_STATS_BLOCK_USECS, "statsBlockUsecs"},
                                   {ETHTOOL_A_COALESCE_USE_ADAPTIVE_RX, "adaptiveRx", NumberWidth::byte},
                                   {ETHTOOL_A_COALESCE_USE_ADAPTIVE_TX, "adaptiveTx", NumberWidth::byte},
                                   {ETHTOOL_A_COALESCE_PKT_RATE_LOW, "pktRateLow"},
                                   {ETHTOOL_A_COALESCE_RX_USECS_LOW, "rxUsecsLow"},
                                   {ETHTOOL_A_COALESCE_RX_MAX_FRAMES_LOW, "rxFramesLow"},
                                   {ETHTOOL_A_COALESCE_TX_USECS_LOW, "txUsecsLow"},
                                   {ETHTOOL_A_COALESCE_TX_MAX_FRAMES_LOW, "txFramesLow"},
                                   {ETHTOOL_A_COALESCE_PKT_RATE_HIGH, "pktRateHigh"},
                                   {ETHTOOL_A_COALESCE_RX_USECS_HIGH, "rxUsecsHigh"},
                                   {ETHTOOL_A_COALESCE_RX_MAX_FRAMES_HIGH, "rxFramesHigh"},
                                   {ETHTOOL_A_COALESCE_TX_USECS_HIGH, "txUsecsHigh"},
                                   {ETHTOOL_A_COALESCE_TX_MAX_FRAMES_HIGH, "txFramesHigh"},
                                   {ETHTOOL_A_COALESCE_RATE_SAMPLE_INTERVAL, "sampleInterval"},
                                   {ETHTOOL_A_COALESCE_USE_CQE_MODE_TX, "cqeModeTx", NumberWidth::byte},
                                   {ETHTOOL_A_COALESCE_USE_CQE_MODE_RX, "cqeModeRx", NumberWidth::byte},
                                   {26, "txAggrMaxBytes"},
                                   {27, "txAggrMaxFrames"},
                                   {28, "txAggrTimeUsecs"}};

constexpr NumberRow kPause[] = {{ETHTOOL_A_PAUSE_AUTONEG, "autoneg", NumberWidth::byte},
                                {ETHTOOL_A_PAUSE_RX, "rx", NumberWidth::byte},
                                {ETHTOOL_A_PAUSE_TX, "tx", NumberWidth::byte}};

GroupRow row_of(EthtoolGroup group) {
  switch (group) {
    case EthtoolGroup::channels:
      return {ETHTOOL_MSG_CHANNELS_GET, ETHTOOL_MSG_CHANNELS_SET, 0, kChannels};
    case EthtoolGroup::rings:
      return {ETHTOOL_MSG_RINGS_GET, ETHTOOL_MSG_RINGS_SET, 0, kRings};
    case EthtoolGroup::private_flags:
      return {ETHTOOL_MSG_PRIVFLAGS_GET, ETHTOOL_MSG_PRIVFLAGS_SET, ETHTOOL_A_PRIVFLAGS_FLAGS, {}};
    case EthtoolGroup::features:
      return {ETHTOOL_MSG_FEATURES_GET, ETHTOOL_MSG_FEATURES_SET, ETHTOOL_A_FEATURES_WANTED, {}};
    case EthtoolGroup::coalesce:
      return {ETHTOOL_MSG_COALESCE_GET, ETHTOOL_MSG_COALESCE_SET, 0, kCoalesce};
    case EthtoolGroup::pause:
      return {ETHTOOL_MSG_PAUSE_GET, ETHTOOL_MSG_PAUSE_SET, 0, kPause};
    case EthtoolGroup::wake_on_lan:
      return {ETHTOOL_MSG_WOL_GET, ETHTOOL_MSG_WOL_SET, ETHTOOL_A_WOL_MODES, {}};
    case EthtoolGroup::debug:
      break;
  }
  return {ETHTOOL_MSG_DEBUG_GET, ETHTOOL_MSG_DEBUG_SET, ETHTOOL_A_DEBUG_MSGMASK, {}};
}

// The header of a request is the first attribute in every group.
constexpr uint16_t kHeader = 1;
// Some kernels report more bits than there are features; those are not features of Linux yet.
constexpr uint32_t kMostBits = 1024;

NlMessage request(uint16_t family, uint8_t command, int link, uint32_t flags) {
  NlMessage message(family, 0);
  message.put_header(genlmsghdr{command, ETHTOOL_GENL_VERSION, 0});
  message.nest(kHeader | NLA_F_NESTED, [&] {
    message.put_u32(ETHTOOL_A_HEADER_DEV_INDEX, static_cast<uint32_t>(link));
    message.put_u32(ETHTOOL_A_HEADER_FLAGS, flags);
  });
  return message;
}

void put_words(NlMessage& message, uint16_t attribute, const std::vector<uint32_t>& words) {
  message.put_bytes(attribute, std::span(reinterpret_cast<const uint8_t*>(words.data()), words.size() * 4));
}

void put_named_bits(NlMessage& message, const EthtoolSettings& change) {
  message.nest(ETHTOOL_A_BITSET_BITS | NLA_F_NESTED, [&] {
    for (const auto& [name, on] : change.named_bits) {
      message.nest(ETHTOOL_A_BITSET_BITS_BIT | NLA_F_NESTED, [&, &name = name, on = on] {
        message.put_text(ETHTOOL_A_BITSET_BIT_NAME, name);
        if (on) message.put_bytes(ETHTOOL_A_BITSET_BIT_VALUE, {});  // a flag
      });
    }
  });
}

std::vector<uint32_t> words_of(const nlattr* attribute) {
  std::vector<uint32_t> out(static_cast<size_t>(nla_len(attribute)) / 4);
  if (!out.empty()) std::memcpy(out.data(), nla_data(attribute), out.size() * 4);
  return out;
}

// A compact bit set (ETHTOOL_FLAG_COMPACT_BITSETS). False if it does not fit.
bool read_bits(const nlattr* set, EthtoolSettings& out) {
  const bool whole = for_each_attribute(nla_data(set), static_cast<size_t>(nla_len(set)),
                                        [&](int type, const nlattr* value) {
                                          if (type == ETHTOOL_A_BITSET_SIZE)
                                            out.bit_count = number_of<uint32_t>(value);
                                          if (type == ETHTOOL_A_BITSET_VALUE) out.bits = words_of(value);
                                        });
  return whole && out.bit_count <= kMostBits && out.bits.size() == (out.bit_count + 31) / 32;
}

Result<Parts<genlmsghdr>> split_generic(NlBytes message) { return split<genlmsghdr>(message); }

}  // namespace

std::vector<std::string> number_names(EthtoolGroup group) {
  std::vector<std::string> out;
  for (const NumberRow& number : row_of(group).numbers) out.emplace_back(number.name);
  return out;
}

NlMessage ethtool_family_message() {
  NlMessage message(GENL_ID_CTRL, 0);
  message.put_header(genlmsghdr{CTRL_CMD_GETFAMILY, 1, 0});
  message.put_text(CTRL_ATTR_FAMILY_NAME, ETHTOOL_GENL_NAME);
  return message;
}

Result<uint16_t> parse_ethtool_family(NlBytes message) {
  const auto parts = TRY(split_generic(message));
  std::optional<uint16_t> out;
  const bool fits = for_each_attribute(parts.attributes, parts.size, [&](int type, const nlattr* value) {
    if (type == CTRL_ATTR_FAMILY_ID) out = number_of<uint16_t>(value);
  });
  if (!fits || !out || *out < NLMSG_MIN_TYPE) return malformed("number of the ethtool interface");
  return *out;
}

NlMessage ethtool_get_message(uint16_t family, int link, EthtoolGroup group) {
  return request(family, row_of(group).get, link, ETHTOOL_FLAG_COMPACT_BITSETS);
}

NlMessage ethtool_set_message(uint16_t family, int link, EthtoolGroup group, const EthtoolSettings& change) {
  const GroupRow row = row_of(group);
  NlMessage message = request(family, row.set, link, ETHTOOL_FLAG_COMPACT_BITSETS | ETHTOOL_FLAG_OMIT_REPLY);
  for (const NumberRow& number : row.numbers) {
    const auto at = change.numbers.find(number.name);
    if (at == change.numbers.end()) continue;
    if (number.width == NumberWidth::byte) {
      message.put_u8(number.attribute, static_cast<uint8_t>(at->second));
    } else {
      message.put_u32(number.attribute, at->second);
    }
  }
  if (row.bits != 0 && !change.named_bits.empty()) {
    message.nest(static_cast<uint16_t>(row.bits | NLA_F_NESTED), [&] { put_named_bits(message, change); });
  }
  if (row.bits != 0 && !change.mask.empty()) {
    message.nest(static_cast<uint16_t>(row.bits | NLA_F_NESTED), [&] {
      message.put_u32(ETHTOOL_A_BITSET_SIZE, change.bit_count);
      put_words(message, ETHTOOL_A_BITSET_VALUE, change.bits);
      put_words(message, ETHTOOL_A_BITSET_MASK, change.mask);
    });
  }
  return message;
}

Result<EthtoolSettings> parse_ethtool(NlBytes message, EthtoolGroup group) {
  const auto parts = TRY(split_generic(message));
  const GroupRow row = row_of(group);
  EthtoolSettings out;
  bool bits_fit = true;
  const bool fits = for_each_attribute(parts.attributes, parts.size, [&](int type, const nlattr* value) {
    if (row.bits != 0 && type == row.bits) bits_fit = read_bits(value, out);
    for (const NumberRow& number : row.numbers) {
      if (type == number.attribute)
        out.numbers[number.name] =
            number.width == NumberWidth::byte ? number_of<uint8_t>(value) : number_of<uint32_t>(value);
    }
  });
  if (!fits || !bits_fit) return malformed("settings of ethtool");
  return out;
}

}  // namespace vfrail
