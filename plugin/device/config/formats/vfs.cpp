#include "plugin/device/config/formats/vfs.h"

#include "common/errors/error_id.h"
#include "common/one_of.h"
#include "common/text.h"
#include "plugin/device/config/device_range.h"
#include "plugin/documents/config_parts.h"

#include <algorithm>
#include <limits>
#include <set>
#include <utility>

namespace vfrail::plugin {

namespace {

// A list is short: a node has at most some sixteen cards.
constexpr size_t kMaxEntries = 256;
// TotalVFs of the PCI specification has 16 bits.
constexpr int64_t kMaxCount = 65'535;
// 68 is the least that IPv4 allows (RFC 791); no link of Linux has more than the other (IP_MAX_MTU).
constexpr int64_t kLeastMtu = 68;
constexpr int64_t kMostMtu = 65'535;
constexpr int64_t kMostRate = std::numeric_limits<uint32_t>::max();  // Mbit/s, a number of 32 bits

constexpr VfDriver kVfDrivers[] = {VfDriver::kernel, VfDriver::none, VfDriver::vfio_pci};

constexpr const char* kOperatorGuids = "/etc/sriov-operator/infiniband/guids";

template <class Value>
using Choices = std::vector<std::pair<std::string, Value>>;

template <class Value>
Result<std::optional<Value>> read_choice(ObjectReader& reader, const char* key, const Choices<Value>& words) {
  const auto text = TRY(reader.text(key));
  if (!text) return std::optional<Value>();
  std::vector<std::string> allowed;
  for (const auto& [word, value] : words) {
    if (*text == word) return std::optional(value);
    allowed.push_back(word);
  }
  return reader.error(key, must_be_one_of(allowed, *text));
}

Result<> check_keys(ObjectReader& reader, const std::vector<std::string>& known) {
  for (const std::string& key : reader.unread()) {
    if (reader.value(key) == nullptr) continue;  // null
    const std::string meant = nearest_name(key, known);
    return reader.error(key, "unknown key" + (meant.empty() ? "" : "; did you mean \"" + meant + "\"?"))
        .with_id(ErrorId::config_unknown_key);
  }
  return {};
}

// A text, or a list of texts.
Result<std::vector<std::string>> read_some(ObjectReader& reader, const char* key) {
  const Json* value = reader.value(key);
  if (value == nullptr) return std::vector<std::string>();
  if (value->as_text() != nullptr) return std::vector<std::string>{*value->as_text()};
  return TRY(reader.texts(key)).value_or(std::vector<std::string>());
}

Result<> read_pf(ObjectReader& reader, VfsEntry& out) {
  for (const std::string& text : TRY(read_some(reader, "pf"))) {
    const auto address = PciAddress::parse(text);
    if (address)
      out.devices.push_back(*address);
    else if (!text.empty() && text.size() < 64 && text.find('/') == std::string::npos)
      out.names.push_back(text);
    else
      return reader.error("pf", "\"" + text.substr(0, 64) +
                                    "\" is neither a PCI address like 0000:3b:00.0 nor the name of an "
                                    "interface, nor a pattern of names like ens1f*");
  }
  out.serials = TRY(read_some(reader, "serial"));
  if (std::find(out.serials.begin(), out.serials.end(), "") != out.serials.end())
    return reader.error("serial", "must not be empty");
  if (out.devices.empty() && out.names.empty() && out.serials.empty())
    return reader.error("pf", "missing, and so is serial: name the PF by PCI address, interface or serial");
  return {};
}

Result<uint64_t> read_guid(const ObjectReader& reader, const char* key, const std::string& text) {
  const auto guid = parse_guid(text);
  if (guid && *guid != 0) return *guid;
  return reader.error(key, "\"" + text.substr(0, 64) + "\" is not a GUID like 02:00:00:00:00:00:00:01");
}

// {"first": GUID, "last": GUID}, or {"file": PATH}.
Result<> read_guid_object(ObjectReader& entry, VfsEntry& out) {
  const Json::Object* object = TRY(entry.object("guids"));
  ObjectReader reader(*object, entry.path("guids"), entry.value("guids")->line());
  const auto file = TRY(reader.text("file"));
  const auto first = TRY(reader.text("first"));
  const auto last = TRY(reader.text("last"));
  TRY(check_keys(reader, {"file", "first", "last"}));
  if (file && (first || last)) return reader.error("file", "it cannot be combined with first and last");
  if (file) {
    if (*file != kOperatorGuids)
      return reader.error(
          "file", std::string("must be ") + kOperatorGuids + ", which sriov-network-operator's nodes have");
    out.guid_file = *file;
    return {};
  }
  if (!first || !last)
    return entry.error(
        "guids",
        "must be \"derived\", a list of GUIDs, {\"first\": GUID, \"last\": GUID} or {\"file\": PATH}");
  const uint64_t begin = TRY(read_guid(reader, "first", *first));
  const uint64_t end = TRY(read_guid(reader, "last", *last));
  if (end < begin) return reader.error("last", "it is smaller than first");
  if (out.count > 0 && end - begin < out.count - 1)
    return reader.error("last", "the range has " + std::to_string(end - begin + 1) + " GUIDs for " +
                                    counted(out.count, "VF"));
  for (uint64_t i = 0; i < out.count; ++i) out.guid_list.push_back(begin + i);
  return {};
}

Error too_short(const ObjectReader& reader, const char* key, size_t has, uint32_t count) {
  return reader.error(
      key, "the list has " + std::to_string(has) + " for " + counted(count, "VF") + ": each VF needs one");
}

// The same for two VFs is an address conflict.
template <class Value>
bool has_double(const std::vector<Value>& values) {
  return std::set<Value>(values.begin(), values.end()).size() != values.size();
}

Result<> read_guids(ObjectReader& reader, VfsEntry& out) {
  const Json* value = reader.value("guids");
  if (value == nullptr) return {};
  if (*value == Json("derived")) {
    out.guids = AddressSource::derived;
    return {};
  }
  out.guids = AddressSource::list;
  if (value->as_object() != nullptr) return read_guid_object(reader, out);
  for (const std::string& text : TRY(reader.texts("guids")).value_or(std::vector<std::string>()))
    out.guid_list.push_back(TRY(read_guid(reader, "guids", text)));
  if (out.guid_list.size() < out.count) return too_short(reader, "guids", out.guid_list.size(), out.count);
  if (has_double(out.guid_list)) return reader.error("guids", "a GUID is in the list twice");
  return {};
}

Result<> read_macs(ObjectReader& reader, VfsEntry& out) {
  const Json* value = reader.value("mac");
  if (value == nullptr) return {};
  if (*value == Json("derived") || *value == Json("none")) {
    out.macs = *value == Json("none") ? AddressSource::none : AddressSource::derived;
    return {};
  }
  if (value->as_array() == nullptr)
    return reader.error("mac", "must be \"derived\", \"none\" or a list of MAC addresses");
  out.macs = AddressSource::list;
  for (const std::string& text : TRY(reader.texts("mac")).value_or(std::vector<std::string>())) {
    const auto mac = MacAddress::parse(text);
    if (!mac || mac->ipoib() || mac->all_zero() || (mac->bytes[0] & 1U) != 0)
      return reader.error("mac", "\"" + text.substr(0, 64) + "\" is not the MAC address of one interface");
    out.mac_list.push_back(*mac);
  }
  if (out.mac_list.size() < out.count) return too_short(reader, "mac", out.mac_list.size(), out.count);
  if (has_double(out.mac_list)) return reader.error("mac", "an address is in the list twice");
  return {};
}

Result<> read_rates(ObjectReader& entry, VfsEntry& out) {
  const Json::Object* object = TRY(entry.object("rates"));
  if (object == nullptr) return {};
  ObjectReader reader(*object, entry.path("rates"), entry.value("rates")->line());
  VfRate rate;
  rate.min = static_cast<uint32_t>(TRY(reader.integer("min", 0, kMostRate)).value_or(0));
  rate.max = static_cast<uint32_t>(TRY(reader.integer("max", 0, kMostRate)).value_or(0));
  TRY(check_keys(reader, {"min", "max"}));
  if (rate.max != 0 && rate.min > rate.max) return reader.error("min", "it is larger than max");
  out.policy.rate = rate;
  return {};
}

// "vfio-pci", or one for some VFs: ["vfio-pci#4-7", "default#0-3"].
Result<> read_drivers(ObjectReader& reader, VfsEntry& out) {
  std::vector<std::string> allowed;
  for (const VfDriver one : kVfDrivers) allowed.emplace_back(vf_driver_name(one));
  for (const std::string& text : TRY(read_some(reader, "driver"))) {
    const std::string name = text.substr(0, text.find('#'));
    const auto at = std::find(allowed.begin(), allowed.end(), name);
    if (at == allowed.end()) return reader.error("driver", must_be_one_of(allowed, name));
    if (const std::string fault = device_range_fault(text); !fault.empty())
      return reader.error("driver", "\"" + text.substr(0, 64) + "\" " + fault);
    out.drivers.push_back({kVfDrivers[static_cast<size_t>(at - allowed.begin())], text});
  }
  return {};
}

Result<> read_settings(ObjectReader& reader, VfsEntry& out) {
  const Choices<std::string> types = {{"ether", "ether"},
                                      {"infiniband", "infiniband"},
                                      {"ethernet", "ether"},
                                      {"eth", "ether"},
                                      {"ib", "infiniband"}};
  out.link_type = TRY(read_choice(reader, "linkType", types)).value_or("");
  if (const auto mtu = TRY(reader.integer("mtu", kLeastMtu, kMostMtu))) out.mtu = static_cast<uint32_t>(*mtu);
  out.eswitch = TRY(read_choice<EswitchMode>(
      reader, "eswitch", {{"legacy", EswitchMode::legacy}, {"switchdev", EswitchMode::switchdev}}));
  TRY(read_guids(reader, out));
  TRY(read_macs(reader, out));
  out.policy.trust = TRY(reader.boolean("trust"));
  out.policy.spoof_check = TRY(reader.boolean("spoofChk"));
  out.policy.link_state = TRY(read_choice<VfLinkState>(reader, "linkState",
                                                       {{"auto", VfLinkState::automatic},
                                                        {"enable", VfLinkState::enable},
                                                        {"disable", VfLinkState::disable}}));
  TRY(read_rates(reader, out));
  return read_drivers(reader, out);
}

// What cannot be meant for one PF.
Result<> check_entry(const ObjectReader& reader, const VfsEntry& entry) {
  if (entry.link_type == "infiniband") {
    if (entry.macs == AddressSource::list || entry.macs == AddressSource::derived)
      return reader.error("mac", "VFs of InfiniBand have no MAC address; guids is what they have");
    if (entry.policy.trust || entry.policy.spoof_check || entry.policy.rate)
      return reader.error(entry.policy.rate    ? "rates"
                          : entry.policy.trust ? "trust"
                                               : "spoofChk",
                          "VFs of InfiniBand do not have it");
    if (entry.eswitch == EswitchMode::switchdev) return reader.error("eswitch", "switchdev is for Ethernet");
  }
  if (entry.link_type == "ether" && entry.guids != AddressSource::repair)
    return reader.error("guids", "VFs of Ethernet have none; mac is what they have");
  return {};
}

Result<VfsEntry> read_entry(const Json& json, const std::string& place) {
  const Json::Object* object = json.as_object();
  if (object == nullptr)
    return Error{Errc::invalid, 0,
                 place + in_line(json.line()) + ": must be an object, got " + json.type_name()};
  ObjectReader reader(*object, place, json.line());
  VfsEntry out;
  out.place = place;
  TRY(read_pf(reader, out));
  const auto count = TRY(reader.integer("count", 0, kMaxCount));
  if (!count) return reader.error("count", "missing; it is the number of VFs");
  out.count = static_cast<uint32_t>(*count);
  TRY(read_settings(reader, out));
  TRY(check_keys(reader, {"pf", "serial", "count", "linkType", "mtu", "eswitch", "guids", "mac", "trust",
                          "spoofChk", "linkState", "rates", "driver"}));
  TRY(check_entry(reader, out));
  return out;
}

Result<> read_rdma_mode(ObjectReader& top, VfsConfig& out) {
  const Json::Object* object = TRY(top.object("rdma"));
  if (object == nullptr) return {};
  ObjectReader reader(*object, "rdma", top.value("rdma")->line());
  out.rdma_netns = TRY(read_choice<RdmaNetnsMode>(
      reader, "netns", {{"shared", RdmaNetnsMode::shared}, {"exclusive", RdmaNetnsMode::exclusive}}));
  return check_keys(reader, {"netns"});
}

Result<VfsConfig> parse_parts(std::string_view text, const ConfigOptions& options) {
  const auto documents = TRY(read_documents(text, options.file));
  VfsConfig out;
  for (const ConfigPart& part :
       TRY(find_config(documents, prefix_of_operator(options.default_prefix))).parts) {
    const Json::Object* object = part.value.as_object();
    if (object == nullptr) continue;
    ObjectReader top(*object, "", part.value.line());
    TRY(read_vfs(top, out), part.where);
  }
  return out;
}

}  // namespace

const char* vf_driver_name(VfDriver driver) {
  switch (driver) {
    case VfDriver::kernel:
      return "default";
    case VfDriver::none:
      return "none";
    case VfDriver::vfio_pci:
      return "vfio-pci";
  }
  return "?";
}

std::optional<VfDriver> VfsEntry::driver_of(uint32_t vf) const {
  for (const VfDriverChoice& one : drivers) {
    if (device_range_selects(one.text, vf_driver_name(one.driver), vf)) return one.driver;
  }
  return std::nullopt;
}

Result<> read_vfs(ObjectReader& top, VfsConfig& out) {
  TRY(read_rdma_mode(top, out));
  const Json::Array* list = TRY(top.array("vfs"));
  if (list == nullptr) return {};
  if (list->size() > kMaxEntries)
    return top.error("vfs", "more than " + std::to_string(kMaxEntries) + " entries");
  for (size_t i = 0; i < list->size(); ++i)
    out.entries.push_back(TRY(read_entry((*list)[i], "vfs[" + std::to_string(i) + "]")));
  return {};
}

Result<VfsConfig> parse_vfs(std::string_view text, const ConfigOptions& options) {
  return with_id(ErrorId::config_invalid, parse_parts(text, options));
}

}  // namespace vfrail::plugin
