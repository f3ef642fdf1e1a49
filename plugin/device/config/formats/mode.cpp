#include "common/one_of.h"
#include "plugin/device/config/formats/formats.h"

#include <strings.h>

namespace vfrail::plugin {

namespace {

constexpr uint32_t kUnits = 1000;         // the peer's number
constexpr const char* kAlibaba = "1ded";  // PCI vendor of the eRDMA adapter

bool same_word(const std::string& a, const char* b) { return ::strcasecmp(a.c_str(), b) == 0; }

Result<> restrict_to_type(ObjectReader& top, Selector& selector) {
  const std::string type = TRY(top.text("deviceType")).value_or("");
  if (type.empty() || same_word(type, "RDMA")) return {};
  if (!same_word(type, "eRDMA")) return top.error("deviceType", must_be_one_of({"RDMA", "eRDMA"}, type));
  selector.lists["vendors"] = {kAlibaba};
  return {};
}

// One device for each VF of those PFs.
Result<> read_vfs(ObjectReader& top, ConfigWarnings& warnings, ResourceConfig& resource, Selector& selector) {
  resource.name = "vhca";
  auto names = TRY(warnings.read_texts(top, "pfNetdevices"));
  warnings.mark_patterns(top, "pfNetdevices", names);
  if (!names.empty()) {
    selector.lists["pfNames"] = std::move(names);
    return {};
  }
  return top.error("pfNetdevices", "missing or empty; it names the PFs whose VFs are advertised");
}

}  // namespace

Result<> read_mode(ObjectReader& top, const ConfigOptions& options, Config& out) {
  const auto mode = TRY(top.text("mode"));
  if (!mode) return {};
  ConfigWarnings warnings(options.file, options.strict, out);
  const bool sriov = same_word(*mode, "sriov");
  if (!sriov && !same_word(*mode, "hca"))
    warnings.mistake(
        top, "mode",
        "\"" + *mode + "\" is neither hca nor sriov; it counts as hca, which shares every RDMA device");
  ResourceConfig resource;
  resource.prefix = "rdma";
  resource.name = "hca";
  resource.socket = "rdma-sriov-dp.sock";  // the peer's
  resource.permissions = "rwm";
  resource.register_empty = true;
  resource.exclude_topology = true;  // as in the peer, see shared.cpp
  Selector selector;
  selector.is_rdma = true;
  TRY(restrict_to_type(top, selector));
  if (sriov) {
    TRY(read_vfs(top, warnings, resource, selector));
    warnings.remark(top, "mode",
                    "vfrail advertises the VFs that are there and creates none: set sriov_numvfs first");
  } else {
    (void)top.value("pfNetdevices");  // ignored here, and in many files
    resource.unit = UnitKind::shared;
    resource.units = kUnits;
    resource.host_use = HostUse::allow;
  }
  resource.selectors = {std::move(selector)};
  TRY(check_unique(out, resource, top, "mode"));
  out.resources.push_back(std::move(resource));
  return {};
}

}  // namespace vfrail::plugin
