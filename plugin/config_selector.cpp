#include "plugin/config_selector.h"

#include "common/ids.h"
#include "plugin/device_range.h"
#include "plugin/pkey.h"

#include <algorithm>

namespace vfrail {

namespace {

// What a value must look like to match any device, and how to say it.
struct Form {
  bool (*can_match)(std::string_view value);
  const char* wanted;
};

bool pci_id(std::string_view value) {
  return value.size() == 4 && value.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}
bool pci_address(std::string_view value) {
  const auto address = PciAddress::parse(value);
  return address && address->text() == value;
}
bool link_type(std::string_view value) { return value == "ether" || value == "infiniband"; }
bool pkey(std::string_view value) { return parse_pkey(value).has_value(); }
bool non_empty(std::string_view value) { return !value.empty(); }
bool anything(std::string_view) { return true; }

constexpr Form kPciId{pci_id, "four lower-case hexadecimal digits, like 15b3, are compared"};
constexpr Form kPciAddress{pci_address, "a full PCI address in lower case, like 0000:3b:02.6, is compared"};
constexpr Form kLinkType{link_type, "devices have ether or infiniband"};
constexpr Form kPkey{pkey, "a hexadecimal number up to 0xffff, like 0x8001, is wanted"};
constexpr Form kName{non_empty, "it is empty"};
constexpr Form kAnything{anything, ""};

class SelectorReader {
 public:
  SelectorReader(const Json::Object& object, const std::string& path, ConfigWarnings& warnings)
      : reader_(object, path), warnings_(warnings) {}

  Result<Selector> read() {
    Selector out;
    out.vendors = TRY(texts("vendors", kPciId), "");
    out.devices = TRY(texts("devices", kPciId), "");
    out.drivers = TRY(texts("drivers", kName), "");
    out.pci_addresses = TRY(texts("pciAddresses", kPciAddress), "");
    out.acpi_indexes = TRY(texts("acpiIndexes", kAnything), "");
    out.pf_names = TRY(ranges("pfNames"), "");
    out.root_devices = TRY(ranges("rootDevices"), "");
    out.link_types = TRY(texts("linkTypes", kLinkType), "");
    out.ddp_profiles = TRY(texts("ddpProfiles", kName), "");
    out.pkeys = TRY(texts("pKeys", kPkey), "");
    out.is_rdma = TRY(reader_.boolean("isRdma"), "").value_or(false);
    out.need_vhost_net = TRY(reader_.boolean("needVhostNet"), "").value_or(false);
    out.vdpa_type = TRY(vdpa_type(), "");
    if (out.is_rdma && !out.vdpa_type.empty()) {
      return reader_.error(
          "vdpaType",
          "\"" + out.vdpa_type + "\" cannot be combined with isRdma: a vDPA device has no RDMA device");
    }
    TRY(warnings_.unknown_keys(reader_, KeyPlace::selector), "");
    return out;
  }

 private:
  void remark(const char* key, const std::string& value, const std::string& what) {
    warnings_.remark(reader_.path(key), "\"" + value + "\"" + what);
  }

  Result<std::vector<std::string>> texts(const char* key, const Form& form) {
    auto values = TRY(reader_.texts(key), "").value_or(std::vector<std::string>());
    for (const std::string& value : values) {
      if (!form.can_match(value)) {
        remark(key, value, std::string(" can never match: ") + form.wanted);
      }
    }
    return values;
  }

  Result<std::vector<std::string>> ranges(const char* key) {
    auto values = TRY(texts(key, kName), "");
    for (const std::string& value : values) {
      const std::string fault = device_range_fault(value);
      if (!fault.empty()) remark(key, value, ": " + fault);
    }
    if (std::string_view(key) != "rootDevices") return values;
    for (const std::string& value : values) {
      if (!PciAddress::parse(value.substr(0, value.find('#')))) {
        remark(key, value, std::string(" can never match: ") + kPciAddress.wanted);
      }
    }
    return values;
  }

  Result<std::string> vdpa_type() {
    const std::string type = TRY(reader_.text("vdpaType"), "").value_or("");
    if (type.empty() || type == "virtio" || type == "vhost") return type;
    return reader_.error("vdpaType", "\"" + type + "\" is unknown, allowed are \"virtio\" and \"vhost\"");
  }

  ObjectReader reader_;
  ConfigWarnings& warnings_;
};

}  // namespace

Result<Selector> parse_selector(const Json::Object& object, const std::string& path,
                                ConfigWarnings& warnings) {
  return SelectorReader(object, path, warnings).read();
}

}  // namespace vfrail
