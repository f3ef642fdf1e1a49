#include "cni/in_pod/facts/gpus.h"

#include "common/node/device.h"
#include "common/text.h"

#include <algorithm>

namespace vfrail::pod {

namespace {

constexpr const char* kGpuFolder = "proc/driver/nvidia/gpus";

// "Device Minor: 	 0" of a GPU's "information".
std::string minor_in(const std::string& information) {
  for (const std::string& line : split(information, "\n")) {
    const auto words = split(line, ": \t");
    if (words.size() == 3 && words[0] == "Device" && words[1] == "Minor") return words[2];
  }
  return {};
}

Result<std::optional<Place>> read_place(const SysRoot& sys, const PciAddress& address) {
  const auto device = TRY(read_device(sys, DeviceId(address), Facts::place | Facts::pf), address.text());
  if (!device) return std::optional<Place>();
  return std::optional(place_of(device->pf.value_or(address), device->numa_node, device->pcie_path));
}

}  // namespace

Result<std::vector<std::string>> list_gpu_nodes(const SysRoot& sys) {
  auto names = TRY(sys.list("dev")).value_or(SysRoot::Names());
  std::erase_if(names, [](const std::string& name) {
    return !name.starts_with("nvidia") || name.size() == 6 ||
           name.find_first_not_of("0123456789", 6) != std::string::npos;
  });
  return names;
}

Result<std::optional<std::vector<PodGpu>>> read_gpus(const SysRoot& sys) {
  const auto nodes = TRY(list_gpu_nodes(sys));
  const auto folders = TRY(sys.list(kGpuFolder));
  if (!folders) return std::optional<std::vector<PodGpu>>();
  std::vector<PodGpu> out;
  for (const std::string& folder : *folders) {
    const auto address = PciAddress::parse(folder);
    if (!address) continue;
    const std::string file = std::string(kGpuFolder) + "/" + folder + "/information";
    const std::string node = "nvidia" + minor_in(TRY(sys.text(file)).value_or(""));
    if (std::find(nodes.begin(), nodes.end(), node) == nodes.end()) continue;
    if (auto place = TRY(read_place(sys, *address))) out.push_back({node, *address, std::move(*place)});
  }
  return std::optional(std::move(out));
}

Result<std::optional<Place>> read_place(const SysRoot& sys, const Rail& rail) {
  const auto address = PciAddress::parse(rail.pci);
  if (!address) return std::optional<Place>();
  return read_place(sys, *address);
}

}  // namespace vfrail::pod
