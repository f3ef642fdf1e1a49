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
