#include "cni/sweep/adopt.h"

#include "cni/node/boot.h"
#include "cni/node/device.h"
#include "cni/node/find_link.h"
#include "cni/node/namespaces.h"
#include "cni/verbs/attachment.h"
#include "common/errors/error_id.h"
#include "common/files.h"
#include "common/text.h"

#include <algorithm>
#include <array>
#include <set>

namespace vfrail::cni {

namespace {

constexpr size_t kMaxFileBytes = 4 << 20;
// A node has some hundred pods with a few attachments each.
constexpr size_t kMaxFiles = 20'000;

struct ForeignPlugin {
  const char* name;
  std::array<const char*, 2> types;  // its names in configurations
  const char* folder;                // of its state; null: it has none
  Result<OtherState> (*parse)(std::string_view);
};
constexpr std::array kForeignPlugins{
    ForeignPlugin{"sriov-cni", {"sriov", "sriov-cni"}, "var/lib/cni/sriov", parse_sriov_state},
    ForeignPlugin{"ib-sriov-cni", {"ib-sriov", "ib-sriov-cni"}, "var/lib/cni/ib-sriov", parse_ib_sriov_state},
    ForeignPlugin{"host-device", {"host-device", "host-device"}, nullptr, nullptr},
};
constexpr std::array kCaches{"var/lib/cni/results", "var/lib/cni/multus/results"};

// What the files say that another plugin has attached; only the node shows whether it is true.
struct ForeignAttachment {
  const ForeignPlugin* owner = nullptr;
  AttachmentName name;
  std::string network;
  std::string netns;
  std::string cni_args;
  std::string config;
  OtherState state;
};

Result<std::optional<std::string>> read_below(const World& world, const std::string& path) {
  return read_file(world.sys.path(path), kMaxFileBytes);
}

const ForeignPlugin* foreign_plugin_of(const Json& plugin) {
  const Json* type = plugin.find("type");
  for (const ForeignPlugin& owner : kForeignPlugins) {
    for (const char* name : owner.types) {
      if (type != nullptr && *type == Json(name)) return &owner;
    }
  }
  return nullptr;
}

// What the plugin itself stored about the attachment. No value: it is not (or no longer) its own.
Result<std::optional<OtherState>> read_state(const ForeignAttachment& attachment, const World& world) {
  if (attachment.owner->folder == nullptr) return std::optional(OtherState{});
  const std::string path = std::string(attachment.owner->folder) + "/" + attachment.name.container_id + "-" +
                           attachment.name.ifname;
  const auto text = TRY(read_below(world, path));
  if (!text) return std::optional<OtherState>();
  return std::optional(TRY(attachment.owner->parse(*text), world.sys.path(path)));
}

// rdma-cni, chained behind one of the others.
Result<> add_rdma_state(const World& world, ForeignAttachment& attachment) {
  const std::string name =
      attachment.network + "-" + attachment.name.container_id + "-" + attachment.name.ifname;
  if (name.find('/') != std::string::npos) return {};
  const std::string path = "var/lib/cni/rdma/" + name;
  const auto text = TRY(read_below(world, path));
  if (!text) return {};
  std::string device = TRY(parse_rdma_state(*text), world.sys.path(path));
  if (!device.empty()) attachment.state.rdma.push_back(std::move(device));
  return {};
}

class ForeignAttachments {
 public:
  ForeignAttachments(World& world, SweepReport& report) : world_(world), report_(report) {}

  Result<std::vector<ForeignAttachment>> collect() {
    for (const char* folder : kCaches) {
      for (const std::string& file : TRY(list(folder))) note(file, from_cache(file));
    }
    for (const ForeignPlugin& owner : kForeignPlugins) {
      if (owner.folder == nullptr) continue;
      for (const std::string& file : TRY(list(owner.folder))) note(file, from_state(owner, file));
    }
    return std::move(attachments_);
  }

 private:
  Result<std::vector<std::string>> list(const std::string& folder) {
    std::vector<std::string> out;
    for (const std::string& name : TRY(world_.sys.list(folder)).value_or(SysRoot::Names())) {
      std::string path = folder + "/";
      out.push_back(path.append(name));
    }
    if (out.size() <= kMaxFiles) return out;
    return Error{Errc::invalid, 0,
                 world_.sys.path(folder) + " has " + std::to_string(out.size()) +
                     " files, which is not a cache of attachments; clear it up"};
  }

  // An invalid file is reported, and hides no other one.
  void note(const std::string& file, const Result<>& result) {
    if (result) return;
    report_.lines.push_back(
        {SweepAction::kept, world_.sys.path(file),
         "cannot be read as an attachment: " + well_formed(result.error().text.substr(0, 300))});
  }

  // A record of vfrail has precedence, also for attachments that vfrail made under another plugin's name.
  bool is_ours(const AttachmentName& name) const {
    const auto record = world_.store.load(name);
    return !record || *record;
  }

  Result<> add(ForeignAttachment attachment) {
    if (seen_.contains(attachment.name) || is_ours(attachment.name)) return {};
    auto state = TRY(read_state(attachment, world_));
    if (!state) return {};
    attachment.state = std::move(*state);
    TRY(add_rdma_state(world_, attachment));
    seen_.insert(attachment.name);
    attachments_.push_back(std::move(attachment));
    return {};
  }

  Result<> from_cache(const std::string& file) {
    const auto text = TRY(read_below(world_, file));
    // Before `kind` there was the plugin's result alone, which does not suffice.
    if (!text || text->find("cniCacheV1") == std::string::npos) return {};
    const CachedAttachment cached = TRY(parse_cni_cache(*text));
    for (const Json& plugin : cached.plugins) {
      const ForeignPlugin* owner = foreign_plugin_of(plugin);
      if (owner == nullptr) continue;
      TRY(add({owner, cached.name, cached.network, cached.netns, cached.cni_args, plugin.text(), {}}));
    }
    return {};
  }

  // Without a cache the file name must have it, and sriov-cni's marker must show where the namespace is.
  Result<> from_state(const ForeignPlugin& owner, const std::string& file) {
    const std::string base = file.substr(file.rfind('/') + 1);
    const size_t dash = base.rfind('-');
    if (dash == std::string::npos) return {};
    ForeignAttachment attachment;
    attachment.owner = &owner;
    auto ifname = IfName::parse(std::string_view(base).substr(dash + 1));
    if (!valid_container_id(base.substr(0, dash)) || !ifname) return {};
    attachment.name = {base.substr(0, dash), std::move(*ifname)};
    if (seen_.contains(attachment.name) || is_ours(attachment.name)) return {};
    const auto text = TRY(read_below(world_, file));
    if (!text) return {};
    const OtherState state = TRY(owner.parse(*text));
    const auto marker = TRY(read_below(world_, std::string(owner.folder) + "/pci/" + state.device->text()));
    if (!marker) return {};
    attachment.netns = marker->substr(0, marker->find('\n'));
    attachment.network = state.network;
    attachment.config = *text;
    return add(std::move(attachment));
  }

  World& world_;
  SweepReport& report_;
  std::set<AttachmentName> seen_;
  std::vector<ForeignAttachment> attachments_;
};

// The attachment's netdev in the pod: it has the name, or it was renamed there and its parent identifies it.
Result<std::optional<Link>> find_foreign_link(const ForeignAttachment& attachment,
                                              const std::optional<DeviceId>& device, Kernel& pod,
                                              const World& world) {
  const auto is_child = [&](const Link& one) { return device && one.parent_device == device->text(); };
  // Kernels before 5.14 report no parent, and virtual interfaces have none. The alias is host-device's mark;
  // other hardware must at least not be in the host.
  const auto may_be = [&](const Link& one) -> Result<bool> {
    if (!one.parent_device.empty()) return !device;
    if (attachment.owner->folder == nullptr) return IfName::parse(one.alias).has_value();
    if (!one.kind.empty() || !device) return false;
    return TRY(read_device(world.sys, *device, Facts::netdevs)).value_or(Device()).netdevs.empty();
  };
  auto link = TRY(pod.find_link(attachment.name.ifname), "in the pod");
  if (link && (is_child(*link) || TRY(may_be(*link)))) return link;
  for (Link& one : TRY(pod.links())) {
    if (is_child(one)) return std::optional(std::move(one));
  }
  return std::optional<Link>();
}

// As far as the plugin stored it. Down, because their own DEL leaves it down. Of the settings that the
// pod may have changed since, flags are off, and the others are not restored.
Result<LinkBefore> link_before(const ForeignAttachment& attachment, const Link& now) {
  LinkBefore out = LinkBefore::of(now);
  out.up = out.promisc = out.allmulti = false;
  out.options = {};
  out.broadcast = {};
  // host-device keeps the old name as the alias, and nothing else.
  const bool name_in_alias = attachment.state.host_name.empty();
  auto name = name_in_alias ? IfName::parse(now.alias) : std::optional(attachment.state.host_name);
  if (!name)
    return Error{Errc::not_found, 0,
                 "the original name of " + now.name +
                     " is neither in the state of its plugin nor its alias; delete its pod with that plugin"};
  out.name = std::move(*name);
  if (name_in_alias) out.alias.clear();
  out.mac = attachment.state.mac.value_or(now.mac);
  out.mtu = attachment.state.mtu.value_or(now.mtu);
  return out;
}

// Of the original settings, those that differ now.
Result<std::optional<VfBefore>> vf_before(const OtherState& state, const DeviceId& device,
                                          const Driver& driver, World& world) {
  if (state.vf.empty()) return std::optional<VfBefore>();
  const auto place = TRY(find_vf_place(world.sys, device, std::nullopt), "find the PF").place;
  if (!place) return std::optional<VfBefore>();
  const auto now = TRY(world.host.vf_settings(place->pf_link, place->index), place->pf);
  if (!now) return std::optional<VfBefore>();
  VfBefore out;
  out.settings = now->missing(state.vf.only(*now));
  // Drivers that do not report GUIDs accept them nevertheless.
  if (!now->port_guid) {
    out.settings.node_guid = state.vf.node_guid;
    out.settings.port_guid = state.vf.port_guid;
  }
  out.rebind = out.settings.port_guid.has_value() && !driver.is_user_space();
  if (out.settings.empty()) return std::optional<VfBefore>();
  return std::optional(std::move(out));
}

Result<> find_foreign_rdma(const ForeignAttachment& attachment, Kernel& pod, World& world, Record& record) {
  if (attachment.state.rdma.empty()) return {};
  // In shared mode each namespace shows all of them, and none was moved.
  if (TRY(world.host.rdma_netns_mode()) != RdmaNetnsMode::exclusive) return {};
  for (const std::string& name : attachment.state.rdma) {
    const auto device = TRY(pod.find_rdma_device(name));
    if (!device) continue;
    record.rdma.push_back({RdmaName(name), RdmaName(name), device->index});
  }
  return {};
}

Result<std::optional<DeviceId>> device_of(const ForeignAttachment& attachment,
                                          const std::optional<DeviceId>& named) {
  if (!attachment.state.device || !named || attachment.state.device == named)
    return attachment.state.device ? attachment.state.device : named;
  return Error{Errc::invalid, 0,
               "its state names " + attachment.state.device->text() + ", its configuration " + named->text() +
                   "; delete its pod with the plugin that attached it",
               ErrorId::device_conflict};
}

Result<Driver> read_driver(const DeviceId& id, const World& world) {
  return TRY(read_device(world.sys, id, Facts::driver)).value_or(Device()).driver;
}

// Fills in the properties of the device. False: nothing of it is in the pod.
Result<bool> find_foreign_device(const ForeignAttachment& attachment, const std::optional<DeviceId>& named,
                                 Kernel& pod, World& world, Record& record) {
  record.device = TRY(device_of(attachment, named));
  const Driver driver = record.device ? TRY(read_driver(*record.device, world)) : Driver();
  if (driver.is_user_space()) {
    record.device_key = record.device->text();  // no netdev, so its namespace decides
    record.vf = TRY(vf_before(attachment.state, *record.device, driver, world));
    return true;
  }
  const auto link = TRY(find_foreign_link(attachment, record.device, pod, world));
  if (!link) return false;
  const bool on_known_bus = link->parent_bus == "pci" || link->parent_bus == "auxiliary";
  if (!record.device && on_known_bus) record.device = TRY(DeviceId::parse(link->parent_device));
  record.link = TRY(link_before(attachment, *link));
  record.device_key = record.device ? record.device->text() : "netdev." + record.link->name;
  record.pod_mac = link->mac;
  record.index_in_pod = link->index;
  if (TRY(find_link_in_host(record, world))) return false;
  TRY(find_foreign_rdma(attachment, pod, world, record));
  if (record.device) record.vf = TRY(vf_before(attachment.state, *record.device, driver, world));
  return true;
}

// The record that an ADD of vfrail would have written. No value if the device is not in that pod now, or the
// pod has ended. Reads only.
Result<std::optional<Record>> make_foreign_record(const ForeignAttachment& attachment,
                                                  const SweepOptions& options, World& world) {
  const bool a_path = attachment.netns.starts_with("/") && !attachment.netns.starts_with("/dev/") &&
                      attachment.netns.find('\0') == std::string::npos;
  if (!a_path) return std::optional<Record>();
  const auto pod = TRY(world.open_netns(attachment.netns));
  if (!pod || pod->netns_id() == world.host.netns_id()) return std::optional<Record>();
  const NetConf conf = TRY(parse_net_conf(attachment.config), "its configuration");
  Record out;
  out.attachment = attachment.name;
  out.network = conf.entry.network;
  out.boot_id = TRY(boot_id(world.sys));
  out.netns = attachment.netns;
  out.netns_id = pod->netns_id();
  out.config = attachment.config;
  out.cni_args = attachment.cni_args;
  out.cni_path = options.cni_path;
  if (!TRY(find_foreign_device(attachment, conf.device.id, *pod, world, out))) return std::optional<Record>();
  return std::optional(std::move(out));
}

Result<std::optional<Record>> adopt(const ForeignAttachment& attachment, const Record& seen,
                                    const SweepOptions& options, World& world) {
  const auto ours = TRY(lock_attachment(attachment.name, "adoption", world));
  if (TRY(world.store.load(attachment.name))) return std::optional<Record>();  // an ADD has come meanwhile
  const auto lock =
      TRY(world.store.lock_device(seen.device_key, world.lock_timeout), "wait for " + seen.device_key);
  if (const auto owner = TRY(world.store.owner(seen.device_key)))
    return Error{Errc::busy, 0,
                 seen.device_key + " is attached to " + owner->ifname + " of container " +
                     owner->container_id + " by a record of vfrail; delete the pod of either",
                 ErrorId::device_in_use};
  // Again, now that the lock keeps other processes of vfrail from moving it.
  auto record = TRY(make_foreign_record(attachment, options, world));
  if (record) TRY(world.store.save(*record));
  return record;
}

Result<std::optional<SweepLine>> sweep_foreign(const ForeignAttachment& attachment,
                                               const SweepOptions& options, World& world) {
  const auto seen = TRY(make_foreign_record(attachment, options, world));
  if (!seen) return std::optional<SweepLine>();
  const std::string owner = attachment.owner->name;
  SweepLine line{SweepAction::kept, line_subject(seen->device_key, attachment.name, attachment.network),
                 "attached by " + owner + ", can be taken over with --adopt"};
  if (!options.adopt) return std::optional(std::move(line));
  if (!options.dry_run && !TRY(adopt(attachment, *seen, options, world))) return std::optional<SweepLine>();
  line.action = SweepAction::adopted;
  line.why = "attached by " + owner + ", whose files stay as they are";
  return std::optional(std::move(line));
}

}  // namespace

Result<> sweep_others(World& world, const SweepOptions& options, SweepReport& report) {
  for (const ForeignAttachment& attachment :
       TRY(ForeignAttachments(world, report).collect(), "find attachments of other plugins")) {
    auto line = sweep_foreign(attachment, options, world);
    if (line && *line) report.lines.push_back(std::move(**line));
    if (line) continue;
    report.lines.push_back({options.adopt ? SweepAction::failed : SweepAction::kept,
                            line_subject(attachment.owner->name, attachment.name, attachment.network),
                            "cannot be taken over: " + line.error().text_with_id()});
  }
  return {};
}

}  // namespace vfrail::cni
