#include "cni/plan/claim_rails.h"

#include "cni/conf/config_keys.h"
#include "cni/plan/plan.h"
#include "common/errors/error_id.h"

#include <utility>

namespace vfrail::cni {

namespace {

Error refuse_claims(const std::string& what) {
  return Error{Errc::invalid, 0, what, ErrorId::network_config};
}

// MAC and IP of CNI_ARGS are of the pod's first interface.
void keep_args_of_pod(Request& request) {
  std::erase_if(request.args, [](const auto& one) {
    return !one.first.starts_with("K8S_") && one.first != "IgnoreUnknown";
  });
  request.raw_args.clear();
  for (const auto& [key, value] : request.args) {
    request.raw_args += request.raw_args.empty() ? "" : ";";
    request.raw_args += key;
    request.raw_args += '=';
    request.raw_args += value;
  }
}

// What the entry has in common for all devices, as a network of its own.
Json network_of_devices(Json config, Command command) {
  const Json name = value_of(config, "name");
  if (name.as_text() != nullptr) replace_key(config, "name", network_of_claims(*name.as_text()));
  // runtimeConfig is what the runtime wants of the pod's first interface (its ports, its MAC).
  remove_key(config, "runtimeConfig");
  if (command == Command::add) remove_key(config, "prevResult");
  return config;
}

Result<Json> config_for(const Json& network, const ClaimsConf& claims, const ClaimedDevice& device) {
  Json out = claims.for_resource(network, device.resource);
  const Json ipam = value_of(value_of(out, "rails"), "ipam");
  remove_key(out, "rails");
  replace_key(out, "deviceID", device.device.text());
  const Json::Array* of_rails = ipam.as_array();
  if (!device.rail || of_rails == nullptr || of_rails->empty()) return out;
  if (*device.rail >= of_rails->size())
    return refuse_claims("rails.ipam: it has " + std::to_string(of_rails->size()) +
                         " entries, and the unit of " + device.resource + " has more rails; add the others");
  const Json& keys = (*of_rails)[*device.rail];
  if (keys.as_object() == nullptr) return refuse_claims("rails.ipam: each entry must be an object");
  replace_key(out, "ipam", ipam_of(value_of(out, "ipam"), keys));
  return out;
}

}  // namespace

Result<std::vector<RailRequest>> plan_claimed(const Request& request, const NetConf& conf,
                                              const std::vector<ClaimedDevice>& devices,
                                              const std::vector<uint32_t>& tables) {
  if (devices.size() > kMaxRails)
    return refuse_claims("the pod's claims have " + std::to_string(devices.size()) + " devices, at most " +
                         std::to_string(kMaxRails) + " are attached to a pod");
  const Json whole = TRY(Json::parse_object(request.config.text()), "network configuration");
  const Json network = network_of_devices(whole, request.command);
  std::vector<uint32_t> in_use = tables;
  std::vector<RailRequest> out;
  for (size_t i = 0; i < devices.size(); ++i) {
    const ClaimedDevice& device = devices[i];
    RailRequest one{.device = device.device, .request = request, .text = {}};
    const std::string name = conf.claims->ifname_of(i + 1);
    auto ifname = IfName::parse(name);
    if (!ifname)
      return refuse_claims("claims.ifname: \"" + name + "\" is not an interface name (at most 15 bytes)");
    one.text = name + " (" + device.device.text() + " of claim " + device.claim + ")";
    one.request.ifname = std::move(*ifname);
    one.request.rail_of = request.ifname;
    keep_args_of_pod(one.request);
    Json own = TRY(config_for(network, *conf.claims, device), device.claim);
    const NetConf read = TRY(Configuration(own.text()).conf(), one.text);
    if (read.pod.source_routing) {
      // Chosen here: devices that are attached at once would choose the same.
      SourceRouting wanted = *read.pod.source_routing;
      if (wanted.table) *wanted.table += static_cast<uint32_t>(i);
      in_use.push_back(TRY(choose_table(wanted, in_use)));
      replace_key(own, "sourceRouting", Json::object().set("table", in_use.back()));
    }
    one.request.config = Configuration(own.text());
    out.push_back(std::move(one));
  }
  return out;
}

Request request_of_number(const Request& request, const ClaimsConf& claims, size_t number) {
  Request out = request;
  out.ifname = IfName::parse(claims.ifname_of(number)).value_or(IfName());
  out.rail_of = request.ifname;
  keep_args_of_pod(out);
  auto config = Json::parse_object(request.config.text());
  if (!config) return out;
  Json network = network_of_devices(std::move(*config), request.command);
  remove_key(network, "claims");
  out.config = Configuration(network.text());
  return out;
}

}  // namespace vfrail::cni
