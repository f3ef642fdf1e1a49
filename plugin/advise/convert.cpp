#include "plugin/advise/convert.h"

#include "common/errors/error_id.h"
#include "common/escape.h"
#include "common/text.h"
#include "plugin/config/devlink_reach.h"
#include "plugin/config/formats/parse_config.h"
#include "plugin/documents/cni_config.h"
#include "plugin/documents/config_parts.h"
#include "plugin/documents/network.h"
#include "plugin/documents/yaml_text.h"
#include "plugin/match/pools.h"

#include <algorithm>

namespace vfrail::plugin {

namespace {

void note(const std::string& text, std::string& out) { out += "# " + escaped(text) + "\n"; }

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
void note_links(const Pool& pool, std::string& out) {
  std::set<std::string> links;
  for (const PoolDevice& device : pool.devices) links.insert(device.facts.link_type);
  if (links.size() > 1)
    note(
        "  it has InfiniBand and Ethernet devices on this node: linkTypes in its selectors says which it is "
        "for",
        out);
}

void compare_resource(Peer peer, const Pool& pool, const Pools& pools, const PeerSelection& theirs,
                      std::string& out) {
  const std::set<std::string> ours = ids_of_pool(pool);
  note(pool.resource(), out);
  note("  " + std::string(title_of(peer)) + " selects " + listed(theirs.ids), out);
  if (!theirs.maybe.empty())
    note(
        "  and perhaps " + listed(theirs.maybe) + ": not known: needs devlink's enable_rdma of the live node",
        out);
  if (!theirs.fails.empty()) note("  but " + theirs.fails, out);
  note("  vfrail selects " + (ours == theirs.ids ? "the same" : listed(ours)), out);
  for (const std::string& id : theirs.ids) {
    if (!ours.contains(id)) note("  - " + id + ": " + why_left_out(pools, pool.resource(), id), out);
  }
  for (const std::string& id : ours) {
    if (theirs.ids.contains(id)) continue;
    note("  + " + id +
             (theirs.maybe.contains(id) ? ": it may be selected there, too" : ": not selected there"),
         out);
  }
  note_links(pool, out);
}

void compare_config(Peer peer, const Config& config, const PeerNode& node, std::string& out) {
  const Pools pools = match(config, node.inventory);
  std::set<std::string> taken;
  note("On this node:", out);
  for (const Pool& pool : pools.pools) {
    // A file can have both lists; each plugin reads its own.
    if (peer != Peer::rdma_sriov && shares(pool.config) != (peer == Peer::rdma_shared)) continue;
    const PeerSelection theirs = select_as(peer, pool.config, node, taken);
    taken.insert(theirs.ids.begin(), theirs.ids.end());
    compare_resource(peer, pool, pools, theirs, out);
  }
}

// All parts as one configuration: entries of the same list one after the other.
Json merge_parts(const std::vector<ConfigPart>& parts) {
  Json out = Json::object();
  for (const ConfigPart& part : parts) {
    for (const auto& [key, value] : *part.value.as_object()) {
      const Json* before = out.find(key);
      if (before == nullptr || before->as_array() == nullptr || value.as_array() == nullptr) {
        out.set(key, value);
        continue;
      }
      Json all = *before;
      for (const Json& entry : *value.as_array()) all.push(entry);
      out.set(key, std::move(all));
    }
  }
  return out;
}

Error nothing_of(const ConvertRequest& request, const ConvertSource& source, const std::string& what) {
  return Error{
      Errc::invalid, 0,
      request.file + ": nothing of " + std::string(source.name) + ": there is no " + what + " " + source.key,
      ErrorId::config_empty};
}

Result<std::string> convert_config(const ConvertRequest& request, const ConvertSource& source,
                                   const std::vector<Document>& documents, const PeerNode& node) {
  const FoundConfig found = TRY(find_config(documents, request.resource_prefix));
  Json merged = merge_parts(found.parts);
  if (ObjectReader(*merged.as_object(), "").value(source.key) == nullptr)
    return nothing_of(request, source, "key");
  const Config config =
      TRY(parse_config(documents, {.file = request.file, .default_prefix = request.resource_prefix}));
  std::string out;
  note("The file runs unchanged: vfrail serve --config-file. Below it is as one configuration.", out);
  for (const SkippedEntry& entry : config.skipped) note("not served: " + entry.text(), out);
  for (const std::string& warning : config.warnings) note("warning: " + warning, out);
  for (const std::string& gap : describe_ddp_reach(config)) note(gap, out);
  for (const std::string& gap : find_ddp_gaps(config, node.inventory)) note("warning: " + gap, out);
  compare_config(*source.peer, config, node, out);
  return out + to_yaml(merged);
}

// What a network without the scheduler's device takes from this node.
void compare_network(const Json& config, const PeerNode& node, std::string& out) {
  for (const char* key : {"device", "pciBusID", "deviceID"}) {
    const Json* value = config.find(key);
    if (value == nullptr || value->as_text() == nullptr) continue;
    for (const DeviceFacts& function : node.inventory.functions) {
      const auto names = function.netdev_names();
      const bool named = std::find(names.begin(), names.end(), *value->as_text()) != names.end();
      if (!named && function.id.text() != *value->as_text()) continue;
      std::vector<std::string> uses;
      for (const HostUseFact& fact : function.host_use) uses.push_back(fact.what);
      note("  on this node its device is " + function.id.text() +
               (uses.empty() ? ""
                             : ", which the host uses, so that vfrail-cni refuses it: " + joined(uses, "; ")),
           out);
      return;
    }
    note("  this node has no " + *value->as_text(), out);
  }
}

struct ConvertedNetwork {
  std::string text;                // empty: none of the plugins that vfrail replaces
  std::vector<std::string> types;  // of its plugins before
};

Result<ConvertedNetwork> convert_definition(const Document& document, const PeerNode& node,
                                            std::string& notes) {
  const Json* text = find_below(document.value, "spec.config");
  if (text == nullptr || text->is_null()) return ConvertedNetwork();
  const Json config = TRY(read_embedded(document, *text, "config.json"), "spec.config");
  const auto made = convert_network(config);
  if (!made) return ConvertedNetwork();
  const Network network = read_network(document);
  note(
      network.name + ": " +
          (network.resource.empty() ? "names its device itself"
                                    : "devices of " + network.resource + ", which the device plugin selects"),
      notes);
  compare_network(config, node, notes);
  Json out = document.value;
  Json spec = *document.value.find("spec");
  spec.set("config", made->pretty() + "\n");
  out.set("spec", std::move(spec));
  return ConvertedNetwork{to_yaml(out), network.types};
}

Result<ConvertedNetwork> convert_document(const Document& document, const PeerNode& node,
                                          std::string& notes) {
  if (is_host_device_network(document))
    return ConvertedNetwork{TRY(render_network(TRY(read_host_device_network(document)), "vfrail")),
                            {"host-device"}};
  if (is_network(document)) return convert_definition(document, node, notes);
  const auto made = document.kind.empty() ? convert_network(document.value) : std::nullopt;
  if (!made) return ConvertedNetwork();
  const CniConfig before = TRY(read_cni_config(document.value));
  compare_network(document.value, node, notes);
  return ConvertedNetwork{made->pretty() + "\n", before.types};
}

Result<std::string> convert_networks(const ConvertRequest& request, const ConvertSource& source,
                                     const std::vector<Document>& documents, const PeerNode& node) {
  std::string notes;
  std::string out;
  bool has_type = false;
  for (const Document& document : documents) {
    const ConvertedNetwork made = TRY(convert_document(document, node, notes), document.where);
    has_type |= std::find(made.types.begin(), made.types.end(), source.key) != made.types.end();
    if (!made.text.empty()) out += (out.empty() ? "" : "---\n") + made.text;
  }
  if (!has_type) return nothing_of(request, source, "network with a plugin of type");
  note("All keys stay: vfrail-cni reads those of the plugin that it replaces.", notes);
  return notes + out;
}

}  // namespace

const std::vector<ConvertSource>& convert_sources() {
  static const std::vector<ConvertSource> kSources = {
      {"sriov-device-plugin", Peer::sriov_device_plugin, "resourceList"},
      {"rdma-shared", Peer::rdma_shared, "configList"},
      {"rdma-sriov", Peer::rdma_sriov, "mode"},
      {"host-device", std::nullopt, "host-device"},
      {"sriov-cni", std::nullopt, "sriov"},
      {"ib-sriov-cni", std::nullopt, "ib-sriov"},
      {"rdma-cni", std::nullopt, "rdma"},
  };
  return kSources;
}

Result<std::string> convert(const ConvertRequest& request, const std::vector<Document>& documents,
                            const PeerNode& node) {
  for (const ConvertSource& source : convert_sources()) {
    if (source.name != request.from) continue;
    return source.peer ? convert_config(request, source, documents, node)
                       : convert_networks(request, source, documents, node);
  }
  std::vector<std::string> known;
  for (const ConvertSource& source : convert_sources()) known.emplace_back(source.name);
  return Error{Errc::invalid, 0, "--from " + request.from + " is not one of " + joined(known),
               ErrorId::option_invalid};
}

}  // namespace vfrail::plugin
