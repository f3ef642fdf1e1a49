// The part of the network configuration for an entry behind the node's primary network, which attaches the
// devices of the pod's ResourceClaims.
#include "cni/conf/config_keys.h"
#include "cni/conf/net_conf.h"
#include "common/one_of.h"

#include <algorithm>
#include <array>

namespace vfrail::cni {

namespace {

constexpr std::string_view kNumberWord = "NUMBER";
constexpr std::string_view kClaimsSuffix = "-claims";

// What the entry has once: who it is, and what stands before it.
constexpr std::array kOfEntry = {"cniVersion", "name", "type", "claims", "prevResult", "deviceID", "device"};

Result<> read_resources(ObjectReader& reader, ClaimsConf& out) {
  const Json::Object* resources = TRY(reader.object("resources"));
  if (resources == nullptr) return {};
  ObjectReader of_each(*resources, reader.path("resources"));
  for (const auto& [resource, keys] : *resources) {
    if (keys.as_object() == nullptr)
      return of_each.error(resource,
                           "must be an object with the keys that differ for devices of this resource");
    ObjectReader own(*keys.as_object(), of_each.path(resource));
    for (const char* key : kOfEntry) {
      if (own.value(key) != nullptr) return own.error(key, "it belongs to the whole entry; move it there");
    }
    out.resources.insert_or_assign(resource, keys);
  }
  return {};
}

}  // namespace

std::string ClaimsConf::ifname_of(size_t number) const {
  std::string out = ifname;
  out.replace(out.find(kNumberWord), kNumberWord.size(), std::to_string(number));
  return out;
}

Json ClaimsConf::for_resource(Json network, const std::string& resource) const {
  remove_key(network, "claims");
  const auto own = resources.find(resource);
  if (own == resources.end()) return network;
  for (const auto& [key, value] : *own->second.as_object()) replace_key(network, key, value);
  return network;
}

std::string network_of_claims(const std::string& network) { return network + std::string(kClaimsSuffix); }

bool is_network_of_claims(std::string_view network) { return network.ends_with(kClaimsSuffix); }

bool has_claims_key(ObjectReader& conf) {
  const Json* value = conf.value("claims");
  return value != nullptr && *value != Json(false);
}

Result<std::optional<ClaimsConf>> read_claims(ObjectReader& conf) {
  if (!has_claims_key(conf)) return std::optional<ClaimsConf>();
  ClaimsConf out;
  if (*conf.value("claims") == Json(true)) return std::optional(std::move(out));
  const Json::Object* object = TRY(conf.object("claims"));
  ObjectReader reader(*object, conf.path("claims"));
  out.ifname = TRY(reader.text("ifname")).value_or(out.ifname);
  if (out.ifname.find(kNumberWord) == std::string::npos || !IfName::parse(out.ifname_of(1)))
    return reader.error("ifname",
                        "must be an interface name with NUMBER for the number of the device (netNUMBER)");
  TRY(read_resources(reader, out));
  if (const auto unread = reader.unread(); !unread.empty())
    return reader.error(unread.front(),
                        "unknown key; " + must_be_one_of({"ifname", "resources"}, unread.front()));
  return std::optional(std::move(out));
}

Result<> check_resources(const Json& config, NetConf& read) {
  if (!read.claims) return {};
  for (const auto& [resource, keys] : read.claims->resources) {
    const std::string where = "claims.resources." + resource;
    const NetConf own = TRY(parse_net_conf(read.claims->for_resource(config, resource).text()), where);
    for (const std::string& warning : own.warnings) {
      if (std::find(read.warnings.begin(), read.warnings.end(), warning) == read.warnings.end())
        read.warnings.push_back(where + ": " + warning);
    }
  }
  return {};
}

Result<> refuse_claims_keys(ObjectReader& conf, const NetConf& read) {
  if (!read.claims) return {};
  const auto refuse = [&](const std::string& what) { return conf.error("claims", what); };
  if (is_peer(read.entry.type))
    return refuse("only an entry of type vfrail attaches devices of claims, this one is of type " +
                  read.entry.type);
  if (!read.device.empty())
    return refuse(
        "the devices are those of the pod's claims, so no key may name one (deviceID, device, ...)");
  if (read.child) return refuse("the devices move into the pod, so mode has no place in this entry");
  if (read.link.mac.network || read.vf.guid)
    return refuse("each pod of the node has this entry, so mac and guid have no place in it");
  if (!read.rdma.name.empty())
    return refuse("a pod can have several devices, so rdmaName has no place in this entry");
  return {};
}

}  // namespace vfrail::cni
