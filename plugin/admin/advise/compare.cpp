#include "plugin/admin/advise/compare.h"

#include "common/errors/error_id.h"
#include "common/escape.h"
#include "common/text.h"
#include "plugin/device/config/devlink_reach.h"
#include "plugin/device/config/formats/parse_config.h"
#include "plugin/device/match/pools.h"
#include "plugin/documents/config_parts.h"

#include <algorithm>

namespace vfrail::plugin {

namespace {

void line(const std::string& text, std::string& out) { out += escaped(text) + "\n"; }

std::string listed(const std::set<std::string>& ids) {
  if (ids.empty()) return "nothing";
  return joined({ids.begin(), ids.end()}, " ");
}

std::set<std::string> ids_of_pool(const Pool& pool) {
  std::set<std::string> out;
  for (const PoolDevice& device : pool.devices) out.insert(device.id());
  return out;
}

// Why vfrail leaves a function out of a resource that has it under the peer.
std::string why_left_out(const Pools& pools, const std::string& resource, const std::string& id) {
  for (const LeftOut& left : pools.left_out) {
    if (left.id != id) continue;
    for (const Refusal& reason : left.reasons) {
      if (reason.text.starts_with(resource + ": ")) return reason.text.substr(resource.size() + 2);
    }
    return left.reasons.front().text;
  }
  return "another resource selects it";
}

// A resource that mixes both has its users' pods on either network.
void add_link_types(const Pool& pool, std::string& out) {
  std::set<std::string> links;
  for (const PoolDevice& device : pool.devices) links.insert(device.facts.link_type);
  if (links.size() > 1)
    line(
        "  it has InfiniBand and Ethernet devices on this node: linkTypes in its selectors says which it is "
        "for",
        out);
}

void compare_resource(Peer peer, const Pool& pool, const Pools& pools, const PeerSelection& theirs,
                      std::string& out) {
  const std::set<std::string> ours = ids_of_pool(pool);
  line(pool.resource(), out);
  line("  " + std::string(name_of(peer)) + " selects " + listed(theirs.ids), out);
  if (!theirs.maybe.empty())
    line(
        "  and perhaps " + listed(theirs.maybe) + ": not known: needs devlink's enable_rdma of the live node",
        out);
  if (!theirs.fails.empty()) line("  but " + theirs.fails, out);
  line("  vfrail selects " + (ours == theirs.ids ? "the same" : listed(ours)), out);
  for (const std::string& id : theirs.ids) {
    if (!ours.contains(id)) line("  - " + id + ": " + why_left_out(pools, pool.resource(), id), out);
  }
  for (const std::string& id : ours) {
    if (theirs.ids.contains(id)) continue;
    line("  + " + id +
             (theirs.maybe.contains(id) ? ": it may be selected there, too" : ": not selected there"),
         out);
  }
  add_link_types(pool, out);
}

void compare_config(Peer peer, const Config& config, const PeerNode& node, std::string& out) {
  const Pools pools = match(config, node.inventory);
  std::set<std::string> taken;
  line("On this node:", out);
  for (const Pool& pool : pools.pools) {
    // A file can have both lists; each plugin reads its own.
    if (peer != Peer::rdma_sriov && shares(pool.config) != (peer == Peer::rdma_shared)) continue;
    const PeerSelection theirs = select_as(peer, pool.config, node, taken);
    taken.insert(theirs.ids.begin(), theirs.ids.end());
    compare_resource(peer, pool, pools, theirs, out);
  }
}

bool has_key(const FoundConfig& found, const char* key) {
  return std::any_of(found.parts.begin(), found.parts.end(), [&](const ConfigPart& part) {
    const Json* value = part.value.find(key);
    return value != nullptr && !value->is_null();
  });
}

// Those that the file is of, by its keys; or the one that `from` names.
Result<std::vector<const ComparedPlugin*>> find_plugins(const CompareRequest& request,
                                                        const FoundConfig& found) {
  std::vector<std::string> known;
  std::vector<std::string> keys;
  std::vector<const ComparedPlugin*> out;
  for (const ComparedPlugin& plugin : compared_plugins()) {
    const bool named = plugin.name == request.from || plugin.project == request.from;
    const bool there = has_key(found, plugin.key);
    if (named && !there)
      return Error{
          Errc::invalid, 0,
          request.file + ": nothing of " + std::string(plugin.name) + ": there is no key " + plugin.key,
          ErrorId::config_empty};
    if (there && (named || request.from.empty())) out.push_back(&plugin);
    known.emplace_back(plugin.name);
    keys.emplace_back(plugin.key);
  }
  if (!out.empty()) return out;
  if (request.from.empty())
    return Error{Errc::invalid, 0, request.file + ": there is no key " + joined(keys, ", ") + " in it",
                 ErrorId::config_empty};
  return Error{Errc::invalid, 0, "--from " + request.from + " is not one of " + joined(known),
               ErrorId::option_invalid};
}

}  // namespace

const std::vector<ComparedPlugin>& compared_plugins() {
  static const std::vector<ComparedPlugin> kPlugins = {
      {"sriov-device-plugin", "sriov-network-device-plugin", Peer::sriov_device_plugin, "resourceList"},
      {"rdma-shared", "k8s-rdma-shared-dev-plugin", Peer::rdma_shared, "configList"},
      {"rdma-sriov", "k8s-rdma-sriov-dev-plugin", Peer::rdma_sriov, "mode"},
  };
  return kPlugins;
}

Result<std::string> compare(const CompareRequest& request, const std::vector<Document>& documents,
                            const PeerNode& node) {
  const FoundConfig found = TRY(find_config(documents, request.resource_prefix));
  const auto plugins = TRY(find_plugins(request, found));
  const Config config =
      TRY(parse_config(documents, {.file = request.file, .default_prefix = request.resource_prefix}));
  std::string out;
  line("The file runs unchanged: vfrail serve --config-file.", out);
  for (const SkippedEntry& entry : config.skipped) line("not served: " + entry.text(), out);
  for (const Warning& warning : config.warnings) line("warning: " + warning.line(), out);
  for (const std::string& gap : describe_ddp_reach(config)) line(gap, out);
  for (const Warning& gap : find_ddp_gaps(config, node.inventory)) line("warning: " + gap.line(), out);
  for (const ComparedPlugin* plugin : plugins) compare_config(plugin->peer, config, node, out);
  return out;
}

}  // namespace vfrail::plugin
