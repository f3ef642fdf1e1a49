#include "plugin/dra/slice_devices.h"

#include <algorithm>
#include <cctype>
#include <utility>

namespace vfrail::plugin {

namespace {

// A label of RFC 1123. The end of a longer name is what differs within a pool.
constexpr size_t kMaxDeviceName = 63;

std::string as_label(std::string out) {
  for (char& letter : out) {
    const auto byte = static_cast<unsigned char>(letter);
    letter = std::isalnum(byte) != 0 ? static_cast<char>(std::tolower(byte)) : '-';
  }
  if (out.size() > kMaxDeviceName) out.erase(0, out.size() - kMaxDeviceName);
  out.erase(0, out.find_first_not_of('-'));
  return out;
}

// The names of units that are not devices are of their pool alone.
std::string unit_name(const Pool& pool, const Unit& unit) {
  return pool.config.unit == UnitKind::bundle ? pool.resource() + "-" + unit.id : unit.id;
}

// Units of a shared pool that stand for the same devices: each step-th one from the first on.
struct Alike {
  const Unit* first = nullptr;
  uint32_t step = 1;
  uint32_t count = 0;
  std::string name;
};

std::vector<Alike> find_alike(const PublishedPool& pool) {
  const std::vector<Unit>& units = pool.units();
  const auto total = static_cast<uint32_t>(units.size());
  std::vector<Alike> out;
  if (total == 0) return out;
  if (pool->config.unit == UnitKind::shared) {
    out.push_back({&units.front(), 1, total, pool->resource() + "-shared"});
    return out;
  }
  // Of several shared pools each may have the device.
  const auto step = static_cast<uint32_t>(pool->devices.size());
  for (uint32_t at = 0; at < std::min(step, total); ++at)
    out.push_back({&units[at], step, (total - at + step - 1) / step,
                   pool->resource() + "-" + units[at].devices.front()->id()});
  return out;
}

void add_lanes(const Alike& alike, uint32_t lanes, std::vector<SliceDevice>& out) {
  const uint32_t used = std::min(lanes, alike.count);
  for (uint32_t lane = 0; lane < used; ++lane) {
    const std::string end = lanes > 1 ? "-" + std::to_string(lane) : "";
    const uint32_t shares = alike.count / used + (lane < alike.count % used ? 1 : 0);
    out.push_back({as_label(alike.name + end), alike.first, alike.step, shares});
  }
}

}  // namespace

std::vector<SliceDevice> slice_devices(const PublishedPool& pool, uint32_t lanes) {
  std::vector<SliceDevice> out;
  if (shares(pool->config)) {
    for (const Alike& alike : find_alike(pool)) add_lanes(alike, lanes, out);
    return out;
  }
  for (const Unit& unit : pool.units()) out.push_back({as_label(unit_name(*pool, unit)), &unit});
  return out;
}

}  // namespace vfrail::plugin
