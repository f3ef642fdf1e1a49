#include "common/ids.h"
#include "common/one_of.h"
#include "plugin/device/config/foreign.h"
#include "plugin/device/config/formats/formats.h"
#include "plugin/device/config/formats/policy.h"
#include "plugin/device/config/selector.h"

#include <algorithm>

namespace vfrail::plugin {

namespace {

Result<DeviceType> parse_device_type(ObjectReader& reader) {
  const std::string type = TRY(reader.text("deviceType")).value_or("");
  if (type.empty() || type == "netDevice") return DeviceType::net_device;
  if (type == "auxNetDevice") return DeviceType::aux_net_device;
  if (type == "accelerator") return DeviceType::accelerator;
  return reader.error("deviceType", must_be_one_of({"netDevice", "auxNetDevice", "accelerator"}, type));
}

Error no_string(const ObjectReader& reader, const std::string& path, const std::string& key,
                const Json& value) {
  constexpr size_t kShown = 60;  // enough to recognise the value in the file
  return reader.error(path + "." + key, std::string("must be a string, got ") + value.type_name() + " (" +
                                            value.text().substr(0, kShown) + ")");
}

using AdditionalInfo = std::map<std::string, std::map<std::string, std::string>>;

Result<std::optional<AdditionalInfo>> parse_additional_info(ObjectReader& reader, ConfigWarnings& warnings) {
  const Json::Object* devices = TRY(reader.object("additionalInfo"));
  if (devices == nullptr) return std::optional<AdditionalInfo>();
  AdditionalInfo out;
  for (const auto& [device, values] : *devices) {
    const std::string path = "additionalInfo[\"" + device + "\"]";
    const auto address = PciAddress::parse(device);
    if (device != "*" && (!address || address->text() != device)) {
      warnings.remark(reader, path,
                      "matches no device: \"*\" or a PCI address like 0000:3b:02.6 is compared");
    }
    if (values.is_null()) continue;
    const Json::Object* object = values.as_object();
    if (object == nullptr) {
      return reader.error(path, std::string("must be an object of strings, got ") + values.type_name());
    }
    for (const auto& [key, value] : *object) {
      const std::string* text = value.as_text();
      if (text == nullptr && !value.is_null()) return no_string(reader, path, key, value);
      out[device][key] = text == nullptr ? "" : *text;  // Go leaves a string empty for null
    }
  }
  return std::optional(std::move(out));
}

// auxNetDevice selects sub-functions; other auxiliary devices of a card (eth, rdma, vnet) belong to their
// drivers.
Result<> check_aux_types(ObjectReader& reader, const ResourceConfig& resource) {
  if (resource.device_type != DeviceType::aux_net_device) return {};
  for (const Selector& selector : resource.selectors) {
    const auto& types = selector.list("auxTypes");
    const bool only_sf =
        std::all_of(types.begin(), types.end(), [](const std::string& type) { return type == "sf"; });
    if (types.empty() || !only_sf)
      return reader.error("selectors", "deviceType auxNetDevice needs auxTypes: [\"sf\"]");
  }
  return {};
}

Result<> check_vdpa(ObjectReader& reader, const ResourceConfig& resource) {
  for (const Selector& selector : resource.selectors) {
    if (!selector.is_rdma || selector.vdpa_type.empty()) continue;
    return reader.error("selectors",
                        "vdpaType: \"" + selector.vdpa_type +
                            "\" cannot be combined with isRdma: a vDPA device has no RDMA device");
  }
  return {};
}

// Version 2 of the peer had selectors one level higher. Beside selectors that select everything it was meant
// to select less.
Result<> check_level(ObjectReader& reader, const ResourceConfig& resource) {
  const auto selects_all = [](const Selector& selector) { return selector == Selector(); };
  if (std::none_of(resource.selectors.begin(), resource.selectors.end(), selects_all)) return {};
  for (const std::string& key : reader.unread()) {
    if (is_selector_name(key) && reader.value(key) != nullptr)
      return reader.error(key, "it belongs into \"selectors\", which select every device without it");
  }
  return {};
}

Result<> parse_resource(ObjectReader& reader, ResourceConfig& out, ConfigWarnings& warnings) {
  out.device_type = TRY(parse_device_type(reader));
  out.exclude_topology = TRY(reader.boolean("excludeTopology")).value_or(false);
  out.iommufd = TRY(reader.boolean("iommufd")).value_or(false);
  if (TRY(reader.boolean("bundle")).value_or(false)) out.unit = UnitKind::bundle;
  const Json* selectors = reader.value("selectors");
  if (selectors == nullptr) {
    return reader.error(
        "selectors", "missing; must be an object or a list of objects ({} selects every network function)" +
                         selectors_beside(reader));
  }
  out.selectors = TRY(parse_selectors(*selectors, "selectors", warnings));
  TRY(check_aux_types(reader, out));
  ignore_foreign_fields(out, reader, warnings);
  TRY(check_vdpa(reader, out));
  out.additional_info = TRY(parse_additional_info(reader, warnings));
  TRY(read_policy(reader, out, warnings));
  if (out.unit == UnitKind::bundle && out.preference != Preference::none) {
    warnings.remark(reader, "preferredAllocation",
                    "it has no effect with bundle: a unit has one device of every PF, whichever is chosen");
    out.preference = Preference::none;
  }
  return check_level(reader, out);
}

}  // namespace

Result<> read_resource_list(ObjectReader& top, const ConfigOptions& options, Config& out) {
  const Json::Array* list = TRY(read_list(top, "resourceList"));
  for (size_t i = 0; list != nullptr && i < list->size(); ++i) {
    TRY(ListEntry("resourceList", i, (*list)[i], options, out).read(options.default_prefix, parse_resource));
  }
  return {};
}

}  // namespace vfrail::plugin
