#include "plugin/device/prefer/device_tree.h"

#include <map>
#include <optional>
#include <utility>

namespace vfrail::plugin {

namespace {

class Builder {
 public:
  Builder() { tree_.groups.emplace_back(); }

  // The group of the PF, created with all groups above it if missing.
  size_t pf(const DeviceFacts& function) {
    std::vector<std::string> names = chain(place_of(function));
    names.push_back(port_of(function).text());
    size_t at = 0;
    for (const std::string& name : names) at = child(at, name);
    return at;
  }

  // Adds to the group and to all above it.
  template <class Change>
  void add(size_t group, Change change) {
    for (;; group = parents_[group]) {
      change(tree_.groups[group]);
      if (group == 0) return;
    }
  }

  // A GPU counts where there are devices, too: in the narrowest such group and above.
  void add(const Gpu& gpu) {
    size_t at = 0;
    for (const std::string& name : chain(place_of(gpu))) {
      const auto found = known_.find({at, name});
      if (found == known_.end()) break;
      at = found->second;
    }
    add(at, [](Group& group) { ++group.gpus; });
  }

  DeviceTree take() { return std::move(tree_); }

 private:
  std::vector<std::string> chain(Place place) {
    // A host bridge belongs to one NUMA node, even if the nodes of its devices differ.
    const auto numa = numa_of_.emplace(place.host_bridge, place.numa_node).first->second;
    return {numa, place.host_bridge, place.root_port, place.pcie_switch, place.card};
  }

  size_t child(size_t parent, const std::string& name) {
    const size_t next = tree_.groups.size();
    const auto [at, is_new] = known_.emplace(std::pair(parent, name), next);
    if (!is_new) return at->second;
    Group group;
    group.level = static_cast<Level>(static_cast<uint8_t>(tree_.groups[parent].level) + 1);
    tree_.groups.push_back(std::move(group));
    tree_.groups[parent].children.push_back(next);
    parents_.push_back(parent);
    return next;
  }

  DeviceTree tree_;
  std::vector<size_t> parents_{0};
  std::map<std::pair<size_t, std::string>, size_t> known_;
  std::map<std::string, std::string> numa_of_;
};

void number_rails(const std::map<PciAddress, size_t>& pfs, DeviceTree& tree) {
  size_t rail = 0;
  for (const auto& [address, group] : pfs) tree.groups[group].rail = rail++;
}

}  // namespace

Distance meet_at(Level level) {
  switch (level) {
    case Level::whole:
      return Distance::sys;
    case Level::numa_node:
      return Distance::node;
    case Level::host_bridge:
      return Distance::phb;
    case Level::root_port:
      return Distance::pxb;
    case Level::pcie_switch:
      return Distance::pix;
    case Level::card:
    case Level::pf:
      return Distance::card;
  }
  return Distance::sys;
}

DeviceTree build_tree(const TreeInput& input) {
  Builder builder;
  std::map<PciAddress, size_t> pfs;
  std::map<size_t, std::vector<size_t>> chosen;  // by PF group: `must`, then the others
  std::map<size_t, std::vector<size_t>> others;
  for (size_t i = 0; i < input.members.size(); ++i) {
    const DeviceFacts& function = *input.members[i];
    const size_t pf = builder.pf(function);
    pfs.emplace(port_of(function), pf);
    const bool is_free = input.available.contains(i);
    const bool is_must = input.must.contains(i);
    if (is_free) (is_must ? chosen : others)[pf].push_back(i);
    builder.add(pf, [&](Group& group) {
      group.free += is_free ? 1 : 0;
      group.must += is_must ? 1 : 0;
      group.taken += is_free ? 0 : 1;
    });
  }
  for (const Gpu& gpu : input.gpus) builder.add(gpu);
  DeviceTree out = builder.take();
  for (auto* part : {&chosen, &others}) {
    for (const auto& [pf, members] : *part) {
      std::vector<size_t>& to = out.groups[pf].available;
      to.insert(to.end(), members.begin(), members.end());
    }
  }
  number_rails(pfs, out);
  return out;
}

}  // namespace vfrail::plugin
