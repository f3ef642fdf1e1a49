#include "plugin/device/allocate/cdi.h"

#include "common/programs.h"
#include "common/text.h"

#include <cctype>
#include <chrono>
#include <cstdint>
#include <cstdio>

namespace vfrail::plugin {

namespace {

constexpr const char* kAnnotationPrefix = "cdi.k8s.io/";
constexpr const char* kSharedKind = "nvidia.com/net-rdma";
constexpr const char* kOwnVendor = "vfrail.";
// The part of a key after the slash has 63 characters at most: "vfrail_NAME_" and 16 of the hash.
constexpr size_t kMaxNameInKey = 39;

// CDI's vendors begin with a letter (ParseQualifier() of its library ignores a spec whose vendor does not), a
// resource's prefix can begin with a digit: "5g.example.com". Dots and what is behind the first letter are
// the same to both.
std::string vendor_of(const std::string& prefix) {
  const bool letter = !prefix.empty() && std::isalpha(static_cast<unsigned char>(prefix.front())) != 0;
  return letter ? prefix : kOwnVendor + prefix;
}

bool is_shared(const ResourceConfig& resource) {
  return resource.unit == UnitKind::shared || resource.unit == UnitKind::shared_one;
}

const char* device_class(DeviceType type) {
  switch (type) {
    case DeviceType::net_device:
      return "net-pci";
    case DeviceType::aux_net_device:
      return "net-sf";
    case DeviceType::accelerator:
      return "net-accel";
  }
  return "net-pci";
}

// FNV-1a: the key has to differ, not to be secret.
std::string hash_of(const std::string& text) {
  uint64_t hash = 14695981039346656037ULL;
  for (const char byte : text) hash = (hash ^ static_cast<unsigned char>(byte)) * 1099511628211ULL;
  char out[17];
  std::snprintf(out, sizeof out, "%016llx", static_cast<unsigned long long>(hash));
  return out;
}

// A hook that hangs would hold the container: it reads two small files.
constexpr std::chrono::seconds kHookTimeout{10};

Hook memlock_hook(const std::string& program, const std::string& amount) {
  Hook out{.name = "createRuntime", .path = program, .args = {"vfrail", "hook", "memlock"}};
  if (!amount.empty()) out.args.push_back(amount);
  out.timeout = kHookTimeout;
  return out;
}

}  // namespace

CdiSpec cdi_name(const ResourceConfig& resource, const std::string& device_id) {
  CdiSpec out;
  if (is_shared(resource)) {
    out.kind = kSharedKind;
    // Neither prefixes nor names of resources have colons, so no two of these are equal.
    out.device = resource.prefix + ":" + resource.name + ":" + device_id;
  } else {
    out.kind = vendor_of(resource.prefix) + "/" + device_class(resource.device_type);
    out.device = device_id;
  }
  return out;
}

void use_cdi(const ResourceConfig& resource, const std::string& cni_folder, Allocation& allocation) {
  const std::string program = cni_folder + "/" + kCniProgram;
  ContainerEdits left{.env = std::move(allocation.edits.env)};
  for (const auto& [device, edits] : allocation.edits_of) {
    if (edits == ContainerEdits()) continue;
    CdiSpec spec = cdi_name(resource, device);
    spec.edits = edits;
    if (resource.memlock) spec.edits.hooks.push_back(memlock_hook(program, *resource.memlock));
    left.cdi_devices.push_back(spec.qualified_name());
    allocation.specs.emplace(device, std::move(spec));
  }
  allocation.edits = std::move(left);
}

std::map<std::string, std::string> cdi_annotations(const ResourceConfig& resource,
                                                   const std::vector<std::string>& cdi_devices) {
  const std::string devices = joined(cdi_devices, ",");
  if (devices.empty()) return {};
  const std::string key = std::string(kAnnotationPrefix) + "vfrail_" +
                          resource.name.substr(0, kMaxNameInKey) + "_" +
                          hash_of(resource.resource() + "\n" + devices);
  return {{key, devices}};
}

}  // namespace vfrail::plugin
