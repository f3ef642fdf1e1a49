#include "plugin/admin/doctor/check.h"

#include "common/text.h"

#include <algorithm>
#include <charconv>

namespace vfrail::plugin {

std::string shown_device(const DeviceFacts& function) {
  // Of a PF in switchdev mode the others are its VFs' representors.
  std::vector<std::string> names = function.netdev_names();
  names.resize(std::min<size_t>(names.size(), 1));
  for (const std::string& name : function.rdma_names()) names.push_back(name);
  const std::string id = function.id.text();
  return names.empty() ? id : id + " (" + joined(names) + ")";
}

bool has_rdma(const Inventory& inventory) {
  return std::any_of(inventory.functions.begin(), inventory.functions.end(),
                     [](const DeviceFacts& function) { return function.rdma_capable; });
}

namespace {

template <class Is>
std::string lacks(const CheckedNode& node, const char* what, Is is) {
  const auto& functions = node.inventory.functions;
  return std::any_of(functions.begin(), functions.end(), is) ? "" : std::string("no ") + what;
}

}  // namespace

std::string lacks_rdma(const CheckedNode& node) {
  return lacks(node, "RDMA device in the host", [](const DeviceFacts& one) { return !one.rdma.empty(); });
}

std::string lacks_roce(const CheckedNode& node) {
  return lacks(node, "RoCE device in the host",
               [](const DeviceFacts& one) { return one.transport() == Transport::roce; });
}

std::string lacks_infiniband(const CheckedNode& node) {
  return lacks(node, "InfiniBand device", [](const DeviceFacts& one) {
    return one.link_type == "infiniband" || one.transport() == Transport::infiniband;
  });
}

std::string lacks_vfs(const CheckedNode& node) {
  return lacks(node, "VF", [](const DeviceFacts& one) { return one.is_vf(); });
}

std::string lacks_ports(const CheckedNode& node) {
  return lacks(node, "PF", [](const DeviceFacts& one) { return one.is_pf(); });
}

std::string lacks_gpus(const CheckedNode& node) { return node.inventory.gpus.empty() ? "no GPU" : ""; }

std::string lacks_gpu_rails(const CheckedNode& node) {
  const std::string out = lacks_gpus(node);
  return out.empty() ? lacks_rdma(node) : out;
}

std::string lacks_config(const CheckedNode& node) {
  return node.config == nullptr ? "no configuration: --config-file names one" : "";
}

std::optional<std::pair<int, int>> parse_release(std::string_view release) {
  const auto parts = split(release, ".-");
  std::pair<int, int> out;
  const auto number = [](const std::string& text, int& to) {
    return std::from_chars(text.data(), text.data() + text.size(), to).ec == std::errc();
  };
  if (parts.size() < 2 || !number(parts[0], out.first) || !number(parts[1], out.second)) return std::nullopt;
  return out;
}

}  // namespace vfrail::plugin
