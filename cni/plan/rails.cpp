#include "cni/plan/rails.h"

#include "cni/conf/config_keys.h"
#include "cni/plan/plan.h"
#include "common/errors/error_id.h"

#include <algorithm>
#include <strings.h>

namespace vfrail::cni {

namespace {

constexpr std::string_view kValidAttachments = "cni.dev/valid-attachments";

Error refused(const std::string& what) { return Error{Errc::invalid, 0, what, ErrorId::network_config}; }

// What several interfaces cannot have in common.
Result<> check_shared(const Request& request, const NetConf& conf, size_t rails) {
  if (conf.entry.prev_result && request.command == Command::add)
    return refused(
        "prevResult: the entry that attaches a unit of several devices must be the first of its chain");
  if (TRY(wanted_mac(request, conf.link.mac)))
    return refused("mac: the unit has " + std::to_string(rails) +
                   " interfaces, which cannot have one address; take it out of the network and of the pod's "
                   "annotation");
  if (conf.vf.guid)
    return refused("guid: the unit has " + std::to_string(rails) + " ports, which cannot have one GUID");
  if (!conf.rdma.name.empty() && with_rail(conf.rdma.name, 0) == conf.rdma.name)
    return refused("rdmaName: the unit has " + std::to_string(rails) +
                   " RDMA devices; put RAIL for the number of the rail into the name (rdmaRAIL)");
  if (conf.entry.ipam_type == "static" && conf.rails.ipam.empty())
    return refused("rails.ipam: static would assign the same addresses to each of " + std::to_string(rails) +
                   " rails; give each its own, [{\"addresses\": [...]}, ...]");
  if (!conf.rails.ipam.empty() && conf.rails.ipam.size() < rails)
    return refused("rails.ipam: it has " + std::to_string(conf.rails.ipam.size()) +
                   " entries, the unit has " + std::to_string(rails) + " rails; add the others");
  return {};
}

Json config_of(const Json& config, const RailSettings& settings, const std::string& rdma_name,
               const DeviceId& device, size_t rail) {
  Json out = config;
  for (const char* key : {"rails", "pciBusID"}) remove_key(out, key);
  replace_key(out, "deviceID", device.text());
  Json runtime = value_of(out, "runtimeConfig");
  remove_key(runtime, "deviceID");
  // Multus has one file for the network: it describes the first.
  if (rail > 0) remove_key(runtime, "CNIDeviceInfoFile");
  if (!runtime.is_null()) replace_key(out, "runtimeConfig", std::move(runtime));
  if (!settings.ipam.empty()) replace_key(out, "ipam", ipam_of(value_of(out, "ipam"), settings.ipam[rail]));
  if (!rdma_name.empty()) replace_key(out, "rdmaName", with_rail(rdma_name, rail));
  return out;
}

}  // namespace

Json ipam_of(Json ipam, const Json& of_rail) {
  for (const auto& [key, value] : *of_rail.as_object()) replace_key(ipam, key, value);
  return ipam;
}

Result<std::vector<RailRequest>> plan_rails(const Request& request, const NetConf& conf,
                                            const AllocatedUnit& unit, const std::vector<uint32_t>& tables) {
  if (unit.devices.size() > kMaxRails)
    return refused(unit.unit + " has " + std::to_string(unit.devices.size()) + " devices, at most " +
                   std::to_string(kMaxRails) + " can be attached by one network");
  TRY(check_shared(request, conf, unit.devices.size()), unit.unit);
  const Json config = TRY(Json::parse_object(request.config.text()), "network configuration");
  std::vector<uint32_t> in_use = tables;
  std::vector<RailRequest> out;
  for (size_t i = 0; i < unit.devices.size(); ++i) {
    RailRequest rail{.device = unit.devices[i], .request = request, .text = {}};
    const std::string name = conf.rails.ifname_of(request.ifname, i);
    auto ifname = IfName::parse(name);
    if (!ifname)
      return refused("rails.ifname: \"" + name + "\" of rail " + std::to_string(i) +
                     " is not an interface name (at most 15 bytes)");
    rail.request.ifname = std::move(*ifname);
    rail.request.rail_of = request.ifname;
    Json own = config_of(config, conf.rails, conf.rdma.name, rail.device, i);
    if (conf.pod.source_routing) {
      // Chosen here: rails that are attached at once would choose the same.
      SourceRouting wanted = *conf.pod.source_routing;
      if (wanted.table) *wanted.table += static_cast<uint32_t>(i);
      in_use.push_back(TRY(choose_table(wanted, in_use)));
      replace_key(own, "sourceRouting", Json::object().set("table", in_use.back()));
    }
    rail.text = "rail " + std::to_string(i) + " (" + name + ", " + rail.device.text() + ")";
    rail.request.config = Configuration(own.text());
    TRY(rail.request.config.conf(), "rail " + std::to_string(i) + " of " + unit.unit);
    out.push_back(std::move(rail));
  }
  return out;
}

Request request_of(const Record& record, const Request& request) {
  Request out = request;
  out.ifname = record.attachment.ifname;
  out.rail_of = record.rail_of;
  auto config = Json::parse_object(record.config);
  if (!config) return out;  // DEL can do with another one
  const auto& conf = request.config.conf();
  if (conf && conf->entry.prev_result) replace_key(*config, "prevResult", *conf->entry.prev_result);
  out.config = Configuration(config->text());
  return out;
}

Request request_without_device(const Request& request, const RailSettings& settings, size_t rail) {
  Request out = request;
  out.ifname = IfName::parse(settings.ifname_of(request.ifname, rail)).value_or(IfName());
  out.rail_of = request.ifname;
  auto config = Json::parse_object(request.config.text());
  if (!config || rail >= settings.ipam.size()) return out;
  replace_key(*config, "ipam", ipam_of(value_of(*config, "ipam"), settings.ipam[rail]));
  out.config = Configuration(config->text());
  return out;
}

Request with_valid(const Request& request, const std::string& network,
                   const std::vector<AttachmentName>& rails) {
  Request out = request;
  auto config = Json::parse_object(request.config.text());
  if (!config) return out;
  const bool of_claims = value_of(*config, "name") != Json(network);
  if (rails.empty() && !of_claims) return out;
  replace_key(*config, "name", network);
  Json valid = value_of(*config, kValidAttachments);
  for (const AttachmentName& rail : rails)
    valid.push(Json::object().set("containerID", rail.container_id).set("ifname", rail.ifname));
  replace_key(*config, kValidAttachments, std::move(valid));
  out.config = Configuration(config->text());
  return out;
}

AddResult merged_results(std::vector<AddResult> results) {
  AddResult out = std::move(results.front());
  const std::string version = out.cni_version;
  for (size_t i = 1; i < results.size(); ++i) {
    out.cni_version = kNewestVersion;
    results[i].prev_result = format_result(out);
    out = std::move(results[i]);
  }
  out.cni_version = version;
  return out;
}

}  // namespace vfrail::cni
