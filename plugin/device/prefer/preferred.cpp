#include "plugin/device/prefer/preferred.h"

#include "plugin/device/match/units.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

namespace vfrail::plugin {

namespace {

using Ids = std::set<std::string>;

// The cheapest ways for a group to provide `least`, `least` + 1, ... devices.
struct Table {
  size_t least = 0;
  std::vector<Cost> costs;
  // For each child: how many of them it provides itself, when it and the children before it provide that
  // many.
  std::vector<std::vector<size_t>> shares;
};

// Adds a child to what the children before it can provide.
Table join(Table before, const Table& child, size_t size, uint64_t& steps) {
  Table out;
  out.least = before.least + child.least;
  const size_t most = std::min(size, out.least + before.costs.size() + child.costs.size() - 2);
  std::vector<size_t> share(most + 1 - out.least);
  out.costs.resize(share.size());
  std::vector<bool> known(share.size());
  for (size_t b = 0; b < before.costs.size(); ++b) {
    for (size_t c = 0; c < child.costs.size() && b + c < share.size(); ++c) {
      ++steps;
      const Cost cost = before.costs[b] + child.costs[c];
      // The last of equally good ways is kept: the one with most from the children before.
      if (known[b + c] && out.costs[b + c] < cost) continue;
      known[b + c] = true;
      out.costs[b + c] = cost;
      share[b + c] = child.least + c;
    }
  }
  out.shares = std::move(before.shares);
  out.shares.push_back(std::move(share));
  return out;
}

Table fill(const Group& group, const std::vector<Table>& tables, size_t size, uint64_t& steps) {
  Table out;
  if (group.level == Level::pf) {
    out.least = group.must;
    out.costs.resize(std::min(group.free, size) - group.must + 1);
  } else {
    out.costs.resize(1);
    for (const size_t child : group.children) out = join(std::move(out), tables[child], size, steps);
  }
  return out;
}

// Ids by their role in the pool.
struct Sorted {
  std::set<size_t> units;  // their indexes
  Ids strangers;
};

Sorted sort_out(const std::map<std::string, size_t>& units, const Ids& ids) {
  Sorted out;
  for (const std::string& id : ids) {
    const auto at = units.find(id);
    if (at == units.end()) {
      out.strangers.insert(id);
    } else {
      out.units.insert(at->second);
    }
  }
  return out;
}

// Adds `count` ids of those that are not there yet.
void add_some(std::vector<std::string>& to, const Ids& from, size_t count) {
  for (const std::string& id : from) {
    if (count == 0) return;
    if (std::find(to.begin(), to.end(), id) != to.end()) continue;
    to.push_back(id);
    --count;
  }
}

std::vector<std::string> name_units(const std::vector<Unit>& units, const DeviceTree& tree,
                                    const Choice& choice) {
  std::vector<std::tuple<size_t, size_t>> chosen;  // rail, unit
  for (size_t i = 0; i < tree.groups.size(); ++i) {
    const Group& group = tree.groups[i];
    if (group.level != Level::pf) continue;
    for (size_t k = 0; k < choice.counts[i]; ++k) chosen.emplace_back(group.rail, group.available[k]);
  }
  std::sort(chosen.begin(), chosen.end());
  std::vector<std::string> out;
  for (const auto& [rail, unit] : chosen) out.push_back(units[unit].id);
  return out;
}

}  // namespace

Preference preference_of(const Pool& pool) {
  const Preference wanted = pool.config.preference;
  switch (pool.config.unit) {
    case UnitKind::device:
      return wanted;
    case UnitKind::shared_one:
      return wanted == Preference::none ? Preference::spread : wanted;
    case UnitKind::shared:
    case UnitKind::bundle:
      break;
  }
  return Preference::none;
}

Choice choose(const DeviceTree& tree, const Objective& objective, size_t size) {
  Choice out;
  std::vector<Table> tables(tree.groups.size());
  for (size_t i = tree.groups.size(); i-- > 0;) {
    const Group& group = tree.groups[i];
    tables[i] = fill(group, tables, size, out.steps);
    for (size_t k = 0; k < tables[i].costs.size(); ++k) {
      ++out.steps;
      tables[i].costs[k] = tables[i].costs[k] + objective.of(group, tables[i].least + k);
    }
  }
  out.counts.resize(tree.groups.size());
  out.counts[0] = size;
  for (size_t i = 0; i < tree.groups.size(); ++i) {
    const std::vector<size_t>& children = tree.groups[i].children;
    size_t open =
        out.counts[i];  // to be provided by this child and those before it, which provide at least this
    size_t least = tables[i].least;
    for (size_t k = children.size(); k-- > 0;) {
      out.counts[children[k]] = tables[i].shares[k][open - least];
      open -= out.counts[children[k]];
      least -= tables[children[k]].least;
    }
  }
  return out;
}

std::vector<std::string> preferred(const PublishedPool& pool, const PreferredRequest& request) {
  const Ids available(request.available.begin(), request.available.end());
  const Ids must(request.must_include.begin(), request.must_include.end());
  const bool possible = request.size > 0 && static_cast<uint64_t>(request.size) <= available.size() &&
                        must.size() <= static_cast<size_t>(request.size) &&
                        std::includes(available.begin(), available.end(), must.begin(), must.end());
  const Preference preference = preference_of(*pool);
  if (preference == Preference::none || !possible) return {};

  const auto size = static_cast<size_t>(request.size);
  const std::vector<Unit>& units = pool.units();
  std::map<std::string, size_t> numbers;
  for (size_t i = 0; i < units.size(); ++i) numbers.emplace(units[i].id, i);
  const Sorted free = sort_out(numbers, available);
  const Sorted wanted = sort_out(numbers, must);

  TreeInput input{.members = {}, .gpus = {}, .available = free.units, .must = wanted.units};
  for (const Unit& unit : units) input.members.push_back(&unit.devices.front()->facts);
  if (pool->gpus) input.gpus = *pool->gpus;
  const DeviceTree tree = build_tree(input);
  const size_t from_pool = std::min(size - wanted.strangers.size(), free.units.size());
  const Objective objective(preference, tree, from_pool);
  auto out = name_units(units, tree, choose(tree, objective, from_pool));
  out.insert(out.end(), wanted.strangers.begin(), wanted.strangers.end());
  add_some(out, free.strangers, size - out.size());
  return out;
}

}  // namespace vfrail::plugin
