#include "common/one_of.h"
#include "plugin/device/config/formats/formats.h"
#include "plugin/device/config/formats/policy.h"
#include "plugin/device/config/selector.h"

#include <algorithm>
#include <strings.h>

namespace vfrail::plugin {

namespace {

constexpr const char* kDefaultPrefix = "rdma";  // the peer's
// The peer's users configure 63 to 1,000. Each unit takes some 20 bytes of a list that gRPC refuses to
// kubelet from 4 MiB on.
constexpr int64_t kMaxUnits = 150'000;

// The peer calls it deviceIDs, and ignores `devices` in its selectors as any unknown key.
Json without_devices(Json selectors, const std::string& path, ConfigWarnings& warnings) {
  if (Json::Array* list = selectors.as_array()) {
    for (size_t i = 0; i < list->size(); ++i)
      (*list)[i] = without_devices((*list)[i], path + "[" + std::to_string(i) + "]", warnings);
  }
  Json::Object* object = selectors.as_object();
  if (object == nullptr) return selectors;
  ObjectReader reader(*object, path, selectors.line());
  const Json* devices = reader.value("devices");
  if (devices == nullptr || *devices == Json::array()) return selectors;
  warnings.mistake(
      reader, "devices",
      "ignored, as in k8s-rdma-shared-dev-plugin, so that more may be selected: write deviceIDs");
  std::erase_if(*object, [](const auto& one) { return ::strcasecmp(one.first.c_str(), "devices") == 0; });
  return selectors;
}

// `devices` of the peer's first version are names of interfaces.
Result<std::vector<Selector>> parse_shared_selectors(ObjectReader& reader, ConfigWarnings& warnings) {
  auto names = TRY(warnings.read_texts(reader, "devices"));
  const Json* written = reader.value("selectors");
  const Json selectors = written == nullptr ? Json() : without_devices(*written, "selectors", warnings);
  auto out = written == nullptr ? std::vector<Selector>{Selector()}
                                : TRY(parse_selectors(selectors, "selectors", warnings));
  const auto is_empty = [](const Selector& selector) { return selector == Selector(); };
  const bool empty = std::any_of(out.begin(), out.end(), is_empty);  // would share every RDMA device
  if (names.empty() && empty && written != nullptr && selectors != *written)
    return reader.error("selectors",
                        "devices does not count there, and nothing else selects: write deviceIDs");
  if (names.empty() && empty)
    return reader.error("selectors",
                        "missing or empty; it says which RDMA devices are shared" + selectors_beside(reader));
  if (!names.empty() && !empty)
    return reader.error("devices", "it cannot be combined with selectors, which has ifNames for it");
  if (!names.empty()) out.front().lists["ifNames"] = std::move(names);
  return out;
}

Result<UnitKind> parse_unit(ObjectReader& reader) {
  const std::string word = TRY(reader.text("hcaPerUnit")).value_or("all");
  if (word == "all") return UnitKind::shared;
  if (word == "one") return UnitKind::shared_one;
  return reader.error("hcaPerUnit", must_be_one_of({"all", "one"}, word));
}

Result<> parse_shared(ObjectReader& reader, ResourceConfig& out, ConfigWarnings& warnings) {
  const auto units = TRY(reader.integer("rdmaHcaMax", 0, kMaxUnits));
  if (!units || *units == 0)
    warnings.mistake(reader, "rdmaHcaMax", "0 or missing: pods can ask for no unit of this resource");
  out.units = static_cast<uint32_t>(units.value_or(0));
  out.unit = TRY(parse_unit(reader));
  out.socket = out.name + ".sock";  // these two as the peer's
  out.permissions = "rwm";
  out.register_empty = true;
  out.host_use = HostUse::allow;                                        // a shared device stays where it is
  out.set_links_up = TRY(reader.boolean("setLinksUp")).value_or(true);  // as in the peer
  // The peer gives kubelet no topology, nor does that of mode.cpp, and a pod with a GPU on the other socket
  // may rely on it.
  out.exclude_topology = TRY(reader.boolean("excludeTopology")).value_or(true);
  out.selectors = TRY(parse_shared_selectors(reader, warnings));
  for (Selector& selector : out.selectors) selector.is_rdma = true;
  return read_policy(reader, out, warnings);
}

}  // namespace

Result<> read_config_list(ObjectReader& top, const ConfigOptions& options, Config& out) {
  const Json::Array* list = TRY(read_list(top, "configList"));
  for (size_t i = 0; list != nullptr && i < list->size(); ++i) {
    TRY(ListEntry("configList", i, (*list)[i], options, out).read(kDefaultPrefix, parse_shared));
  }
  return {};
}

}  // namespace vfrail::plugin
