#include "plugin/service/kubelet/pod_devices.h"

#include "common/container/allocated_unit.h"
#include "common/ids.h"

#include <optional>
#include <string_view>
#include <utility>

namespace vfrail::plugin {

namespace {

// A node has 110 pods by default and 500 at most in practice; a pool has 4096 devices at most.
constexpr size_t kMaxDevices = 65'536;

// Other plugins have ids without end: one for each MiB of a GPU's memory. Ours are devices
// (0000:03:02.1, mlx5_core.sf.4), units of bundles, and numbers of shared pools.
bool may_be_ours(const std::string& id) {
  const bool number = id.find_first_not_of("0123456789") == std::string::npos;
  return number || is_unit(id) || (id.find('.') != std::string::npos && DeviceId::parse(id));
}

// "0000:03:02.1" of a name that ends so, with '-' where an RFC 1123 label cannot have ':' and '.': what
// drivers of dynamic resource allocation call a PCI device ("0000-03-02-1", "pci-0000-03-02-1"), and their
// CDI names.
std::optional<std::string> find_pci_address(std::string_view name) {
  constexpr size_t kLength = std::string_view("0000:03:02.1").size();
  if (name.size() < kLength) return std::nullopt;
  std::string out(name.substr(name.size() - kLength));
  const bool dashed = out[4] == '-' && out[7] == '-' && out[10] == '-';
  if (dashed) out[4] = out[7] = ':', out[10] = '.';
  const auto address = PciAddress::parse(out);
  return address && address->text() == out ? std::optional(out) : std::nullopt;
}

std::set<std::string> devices_of(const v1::DynamicResource& claim) {
  std::set<std::string> out;
  for (const v1::ClaimResource& resource : claim.claim_resources()) {
    if (auto id = find_pci_address(resource.device_name())) out.insert(*std::move(id));
    for (const v1::CDIDevice& device : resource.cdi_devices()) {
      if (auto id = find_pci_address(device.name())) out.insert(*std::move(id));
    }
  }
  return out;
}

// Fills `out` up to the limit, and counts what is beyond it.
class Reader {
 public:
  explicit Reader(const std::set<std::string>& wanted) : wanted_(wanted) {
    out.taken = std::chrono::steady_clock::now();
  }

  Result<> read(const v1::ContainerDevices& devices, const PodContainer& container) {
    if (!wanted_.empty() && !wanted_.contains(devices.resource_name())) return {};
    auto& known = out.resources[devices.resource_name()];
    for (const std::string& id : devices.device_ids()) {
      if (wanted_.empty() && !may_be_ours(id)) {
        if (++others_ > kMaxDevices) continue;
      } else {
        TRY(count());
      }
      known.emplace(id, container);
    }
    return {};
  }

  Result<> read(const v1::DynamicResource& claim, const PodContainer& container) {
    if (!wanted_.empty()) return {};
    for (const std::string& id : devices_of(claim)) {
      TRY(count());
      out.resources[std::string(kClaim) + claim.claim_namespace() + "/" + claim.claim_name()].emplace(
          id, container);
    }
    return {};
  }

  DevicesInUse out;

 private:
  Result<> count() {
    if (++ours_ <= kMaxDevices) return {};
    return Error{Errc::protocol, 0,
                 "kubelet's pod-resources List: more than " + std::to_string(kMaxDevices) +
                     " devices in use, which no node has"};
  }

  const std::set<std::string>& wanted_;
  size_t ours_ = 0;
  size_t others_ = 0;
};

}  // namespace

Result<DevicesInUse> read_devices_in_use(const v1::ListPodResourcesResponse& answer,
                                         const std::set<std::string>& wanted) {
  Reader reader(wanted);
  for (const v1::PodResources& pod : answer.pod_resources()) {
    for (const v1::ContainerResources& container : pod.containers()) {
      const PodContainer by{pod.namespace_(), pod.name(), container.name()};
      for (const v1::ContainerDevices& devices : container.devices()) TRY(reader.read(devices, by));
      for (const v1::DynamicResource& claim : container.dynamic_resources()) TRY(reader.read(claim, by));
    }
  }
  return std::move(reader.out);
}

}  // namespace vfrail::plugin
