#include "plugin/admin/plan/rails.h"

#include "common/text.h"
#include "plugin/admin/report/node_report.h"
#include "plugin/device/prefer/distance.h"

#include <algorithm>
#include <map>
#include <tuple>

namespace vfrail::plugin {

namespace {

// What a pod has is not visible: the PF's port, and where there is none the link type shows it.
Transport fabric_of(const DeviceFacts& function) {
  if (function.transport() != Transport::unknown) return function.transport();
  RdmaFacts port;
  port.ports = function.port.rdma;
  if (port.transport() != Transport::unknown) return port.transport();
  return function.link_type == "infiniband" ? Transport::infiniband : Transport::roce;
}

bool can_serve(const DeviceFacts& function) {
  return function.kind == FunctionKind::network && function.rdma_capable && function.driver.is_bound() &&
         !function.driver.is_user_space() && !function.manages_nvlink;
}

// Distances that make no difference for GPUDirect are one class: below one root port, through it, through
// the CPU, through another CPU.
int class_of(const std::optional<Distance>& far) {
  if (!far || *far <= Distance::pxb) return 0;
  return *far == Distance::phb ? 1 : *far == Distance::node ? 2 : 3;
}

bool is_addressed(const Rail& rail) { return rail.card != nullptr && !rail.card->host_use.empty(); }

struct Graded {
  Rail rail;
  RailGroup grade;
  std::string model;
};

std::vector<Graded> grade(const Inventory& inventory, const HardwareById& hardware) {
  std::map<PciAddress, Rail> rails;
  for (const DeviceFacts& function : inventory.functions) {
    if (!can_serve(function)) continue;
    const bool is_card = !function.is_vf();
    if (is_card && serves_host(function.host_use)) continue;
    if (!is_card && !function.host_use.empty()) continue;
    Rail& rail = rails[port_of(function)];
    rail.address = port_of(function);
    if (is_card)
      rail.card = &function;
    else
      rail.vfs.push_back(&function);
  }
  std::vector<Graded> out;
  for (const auto& [address, rail] : rails) {
    Graded one{rail, {}, rail.any().vendor + rail.any().device};
    const DeviceFacts* port = &rail.any();
    for (const DeviceFacts& function : inventory.functions) {
      if (function.address == address && function.kind == FunctionKind::network) port = &function;
    }
    one.grade.fabric = fabric_of(rail.any());
    one.grade.speed_mbps = speed_of(hardware, *port);
    if (!one.grade.speed_mbps) one.grade.speed_mbps = speed_of(hardware, rail.any());
    one.grade.gpu = nearest_gpu(rail.any(), inventory.gpus);
    one.grade.addressed = is_addressed(rail);
    out.push_back(std::move(one));
  }
  return out;
}

using Key = std::tuple<Transport, int, uint32_t, bool>;

// A port that is down has the speed of its model's others, where there is one such speed.
void complete_speeds(std::vector<Graded>& rails) {
  const std::vector<Graded> all = rails;
  for (Graded& rail : rails) {
    if (rail.grade.speed_mbps) continue;
    std::vector<uint32_t> known;
    for (const Graded& other : all) {
      if (other.model == rail.model && other.grade.fabric == rail.grade.fabric && other.grade.speed_mbps &&
          class_of(other.grade.gpu) == class_of(rail.grade.gpu))
        known.push_back(*other.grade.speed_mbps);
    }
    const bool one = std::all_of(known.begin(), known.end(), [&](uint32_t s) { return s == known.front(); });
    if (!known.empty() && one) rail.grade.speed_mbps = known.front();
  }
}

std::string say_kind(const RailGroup& group) {
  const std::string speed = speed_text(group.speed_mbps);
  return speed.empty() ? name_of(group.fabric) : speed;
}

// Why pods better have the ports of `best`; empty: no reason.
std::string compare(const RailGroup& group, const RailGroup& best) {
  const bool behind_gpus = class_of(best.gpu) == 0 && best.gpu && class_of(group.gpu) > 0;
  if (best.addressed && !behind_gpus && !group.addressed) return "";
  std::vector<std::string> out;
  if (class_of(group.gpu) > class_of(best.gpu))
    out.push_back(std::string(word(*group.gpu)) + " to the nearest GPU, where others with " + say_kind(best) +
                  " are " + word(*best.gpu));
  const bool slower = group.speed_mbps && best.speed_mbps && *group.speed_mbps < *best.speed_mbps;
  if (slower && class_of(group.gpu) >= class_of(best.gpu))
    out.push_back(speed_text(group.speed_mbps) + ", where others have " + speed_text(best.speed_mbps));
  // What the host uses is the last to be given away, whatever it can do.
  if (out.empty() && group.addressed && !best.addressed && class_of(group.gpu) >= class_of(best.gpu))
    out.emplace_back("the host uses it, and not the others");
  return joined(out, "; ");
}

}  // namespace

std::vector<const DeviceFacts*> RailGroup::cards() const {
  std::vector<const DeviceFacts*> out;
  for (const Rail& rail : rails) {
    if (rail.card != nullptr) out.push_back(rail.card);
  }
  return out;
}

std::vector<const DeviceFacts*> RailGroup::vfs() const {
  std::vector<const DeviceFacts*> out;
  for (const Rail& rail : rails) out.insert(out.end(), rail.vfs.begin(), rail.vfs.end());
  return out;
}

bool RailGroup::has_vfs() const {
  return std::all_of(rails.begin(), rails.end(), [](const Rail& rail) { return !rail.vfs.empty(); });
}

bool RailGroup::passed_through() const {
  const auto all = cards();
  return vfs().empty() &&
         std::all_of(all.begin(), all.end(), [](const DeviceFacts* card) { return card->passed_through; });
}

std::vector<RailGroup> group_rails(const Inventory& inventory, const HardwareById& hardware) {
  std::vector<Graded> rails = grade(inventory, hardware);
  complete_speeds(rails);
  std::map<Key, RailGroup> groups;
  for (const Graded& one : rails) {
    const RailGroup& grade = one.grade;
    RailGroup& group =
        groups[{grade.fabric, class_of(grade.gpu), grade.speed_mbps.value_or(0), grade.addressed}];
    const auto nearest = group.rails.empty() ? grade.gpu : std::min(group.gpu, grade.gpu);
    std::vector<Rail> so_far = std::move(group.rails);
    group = grade;
    group.gpu = nearest;
    group.rails = std::move(so_far);
    group.rails.push_back(one.rail);
  }
  std::vector<RailGroup> out;
  for (auto& [key, group] : groups) out.push_back(std::move(group));
  for (RailGroup& group : out) {
    for (const RailGroup& best : out) {
      const std::string why = &group == &best ? "" : compare(group, best);
      // The longest list of reasons: two of them are better than one.
      if (why.size() > group.other.size()) group.other = why;
    }
  }
  std::stable_partition(out.begin(), out.end(), [](const RailGroup& group) { return group.other.empty(); });
  return out;
}

bool is_down(const DeviceFacts& function) {
  const auto down = [](const RdmaPort& port) { return !port.state.empty() && port.state != "ACTIVE"; };
  if (function.pf) return std::any_of(function.port.rdma.begin(), function.port.rdma.end(), down);
  return std::any_of(function.rdma.begin(), function.rdma.end(), [&](const RdmaFacts& rdma) {
    return std::any_of(rdma.ports.begin(), rdma.ports.end(), down);
  });
}

bool has_no_link(const DeviceFacts& function) {
  return function.link_type == "ether" && function.port.up && is_down(function);
}

std::string speed_text(const std::optional<uint32_t>& mbps) {
  if (!mbps) return "";
  return *mbps < 1000 ? std::to_string(*mbps) + " Mb/s" : std::to_string(*mbps / 1000) + " Gb/s";
}

std::optional<uint32_t> speed_of(const HardwareById& hardware, const DeviceFacts& function) {
  const auto at = hardware.find(function.id.text());
  return at == hardware.end() ? std::nullopt : at->second.speed_mbps;
}

}  // namespace vfrail::plugin
