#include "cni/conf/vf_conf.h"

#include "common/one_of.h"
#include "common/pkey.h"

#include <algorithm>
#include <cctype>

namespace vfrail::cni {

namespace {

// An absent key and "" are the same: operators write empty strings explicitly.
Result<std::optional<std::string>> read_word(ObjectReader& conf, std::string_view key) {
  auto text = TRY(conf.text(key));
  if (text && text->empty()) text.reset();
  if (text) {
    std::transform(text->begin(), text->end(), text->begin(),
                   [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  }
  return text;
}

Result<std::optional<bool>> read_switch(ObjectReader& conf, std::string_view key) {
  const auto word = TRY(read_word(conf, key));
  if (!word) return std::optional<bool>();
  if (*word == "on") return std::optional<bool>(true);
  if (*word == "off") return std::optional<bool>(false);
  return conf.error(key, must_be_one_of({"on", "off"}, *word));
}

Result<> read_vlan(ObjectReader& conf, VfSettings& out) {
  const auto id = TRY(conf.integer("vlan", 0, 4094));
  const auto priority = TRY(conf.integer("vlanQoS", 0, 7));
  const auto protocol = TRY(read_word(conf, "vlanProto"));
  const bool known = !protocol || *protocol == "802.1q" || *protocol == "802.1ad";
  if (!known) return conf.error("vlanProto", must_be_one_of({"802.1q", "802.1ad"}, *protocol));
  if (!id) {
    if (priority) return conf.error("vlanQoS", "it needs vlan");
    if (protocol) return conf.error("vlanProto", "it needs vlan");
    return {};
  }
  const bool outer = protocol == "802.1ad";
  if (*id == 0 && priority.value_or(0) != 0) return conf.error("vlanQoS", "it needs a vlan other than 0");
  if (*id == 0 && outer) return conf.error("vlanProto", "802.1ad needs a vlan other than 0");
  out.vlan = VfVlan{static_cast<uint16_t>(*id), static_cast<uint8_t>(priority.value_or(0)),
                    outer ? kVlan8021ad : kVlan8021q};
  return {};
}

Result<> read_rate(ObjectReader& conf, VfSettings& out) {
  const auto min = TRY(conf.integer("min_tx_rate", 0, UINT32_MAX));
  const auto max = TRY(conf.integer("max_tx_rate", 0, UINT32_MAX));
  if (!min && !max) return {};
  const VfRate rate{static_cast<uint32_t>(min.value_or(0)), static_cast<uint32_t>(max.value_or(0))};
  if (rate.max != 0 && rate.min > rate.max) {
    return conf.error("min_tx_rate", std::to_string(rate.min) + " Mbit/s is more than max_tx_rate, " +
                                         std::to_string(rate.max));
  }
  out.rate = rate;
  return {};
}

Result<> read_link_state(ObjectReader& conf, VfSettings& out) {
  const auto word = TRY(read_word(conf, "link_state"));
  if (!word) return {};
  for (const auto state : {VfLinkState::automatic, VfLinkState::enable, VfLinkState::disable}) {
    if (*word == link_state_name(state)) out.link_state = state;
  }
  if (out.link_state) return {};
  return conf.error("link_state", must_be_one_of({"auto", "enable", "disable"}, *word));
}

Result<std::optional<uint64_t>> read_guid(ObjectReader& reader, std::string_view key) {
  const auto text = TRY(read_word(reader, key));
  if (!text) return std::optional<uint64_t>();
  const auto guid = parse_guid(*text);
  if (!guid)
    return reader.error(key,
                        "must be a GUID like 00:11:22:33:44:55:66:77, got \"" + text->substr(0, 40) + "\"");
  if (*guid == 0 || *guid == UINT64_MAX)
    return reader.error(key, "must not be all zeros or all ones, which no port has, got " + *text);
  return guid;
}

// args.cni: what a pod's annotation (cni-args) and ib-kubernetes add.
Result<> read_annotation(ObjectReader& conf, VfConf& out) {
  const Json::Object* cni = TRY(read_args_cni(conf));
  if (cni == nullptr) return {};
  ObjectReader reader(*cni, "args.cni");
  if (const auto guid = TRY(read_guid(reader, "guid"))) out.guid = guid;
  out.ib_kubernetes_done = TRY(reader.text("mellanox.infiniband.app")) == "configured";
  return {};
}

// ib-kubernetes configures the partition key at the subnet manager; here it is only checked. Partition 0 does
// not exist (IBTA 10.9.2).
Result<> check_pkey(ObjectReader& conf) {
  const auto word = TRY(read_word(conf, "pkey"));
  if (!word) return {};
  if (parse_pkey(*word).value_or(0) != 0) return {};
  return conf.error("pkey",
                    "must be a partition key, 0x0001 to 0x7fff with or without the membership bit 0x8000, "
                    "got \"" +
                        word->substr(0, 40) + "\"");
}

}  // namespace

Result<VfSettings> read_vf_settings(ObjectReader& conf) {
  VfSettings out;
  TRY(read_vlan(conf, out));
  TRY(read_rate(conf, out));
  out.spoof_check = TRY(read_switch(conf, "spoofchk"));
  out.trust = TRY(read_switch(conf, "trust"));
  TRY(read_link_state(conf, out));
  return out;
}

Result<> read_infiniband(ObjectReader& conf, ObjectReader* runtime, VfConf& out) {
  out.guid = TRY(read_guid(conf, "guid"));
  TRY(read_annotation(conf, out));
  if (runtime != nullptr) {
    if (const auto guid = TRY(read_guid(*runtime, "infinibandGUID"))) out.guid = guid;
  }
  TRY(check_pkey(conf));
  out.ib_kubernetes = TRY(conf.boolean("ibKubernetesEnabled")).value_or(false);
  out.vfio_wanted = TRY(conf.boolean("vfioPciMode")).value_or(false);
  return {};
}

Result<> read_isolation(ObjectReader& conf, RdmaConf& out) {
  const auto isolation = TRY(conf.boolean("rdmaIsolation"));
  if (!isolation) return {};
  const bool contradicts = conf.value("rdma") != nullptr && (out.policy == RdmaPolicy::off) == *isolation;
  if (contradicts) return conf.error("rdmaIsolation", "it says the opposite of rdma; take one of them out");
  out.isolation = *isolation;
  const bool is_default = conf.value("rdma") == nullptr;
  if (is_default || out.policy == RdmaPolicy::automatic)
    out.policy = *isolation ? RdmaPolicy::require : RdmaPolicy::off;
  return {};
}

}  // namespace vfrail::cni
