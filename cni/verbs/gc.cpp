// GC: releases the orphaned attachments of a network (CNI specification 1.1).
#include "cni/baseline/baseline.h"
#include "cni/ipam/ipam.h"
#include "cni/plan/rails.h"
#include "cni/steps/name_step.h"
#include "cni/verbs/attachment.h"
#include "cni/verbs/release.h"
#include "cni/verbs/verbs.h"

#include <algorithm>

namespace vfrail::cni {

namespace {

// The runtime knows the attachment that a rail belongs to, and not the rail.
bool is_rail_of_valid(const Record& record, const std::vector<AttachmentName>& valid) {
  const AttachmentName whole{record.attachment.container_id, record.rail_of};
  return !record.rail_of.empty() && std::find(valid.begin(), valid.end(), whole) != valid.end();
}

// Of whatever network: they belong to nobody.
Result<> remove_leftovers(World& world) {
  for (const std::string& path : TRY(world.store.leftovers()))
    TRY(world.store.remove_leftover(path), "remove " + path + ", which a killed process has left");
  return {};
}

Result<> forward(const Request& request, const World& world) {
  const std::string& type = request.config.ipam_type();
  if (type.empty() || !TRY(knows_newer_verbs(request, type, world.ipam_timeout))) return {};
  TRY(run_ipam(request, Command::gc, type, world.ipam_timeout));
  return {};
}

}  // namespace

Result<> gc(const Request& request, World& world) {
  const GcConf conf = TRY(request.config.gc(), "network configuration");
  std::string failures;
  std::optional<ErrorId> first;
  const auto note = [&](const Error& error, const std::string& where = "") {
    failures += (failures.empty() ? "" : "; ") + where + error.text;
    if (!first) first = error.id();
  };
  std::vector<AttachmentName> rails;  // of valid attachments
  // A missing list is not an empty one: a runtime that sends none must not end every attachment.
  if (conf.valid_attachments) {
    const auto& valid = *conf.valid_attachments;
    for (const AttachmentName& name : TRY(world.store.list())) {
      if (std::find(valid.begin(), valid.end(), name) != valid.end()) continue;
      const auto record = world.store.load(name);
      if (record && *record && is_rail_of_valid(**record, valid)) {
        rails.push_back(name);
        continue;
      }
      if (!record) {
        note(record.error());
        // Truncated by a power cut: reported once, and then out of the way of this verb.
        if (record.error().code == Errc::protocol) TRY(quarantine_unreadable(name, world));
      }
      if (!record || !*record || (*record)->network != conf.network) continue;
      world.log.info("attachment is no longer valid",
                     {{"container", name.container_id}, {"ifname", name.ifname}});
      const auto done = release_if(**record, world, [] { return true; });
      if (!done.ok()) note(done.error(), name.container_id + " " + name.ifname + ": ");
    }
  }
  if (const auto removed = remove_leftovers(world); !removed) note(removed.error());
  if (const auto cleaned = restore_all_unclean(world); !cleaned) note(cleaned.error());
  if (const auto renamed = restore_all_names(world); !renamed) note(renamed.error());
  const Request of_ipam = with_valid(request, conf.network, rails);
  if (const auto forwarded = forward(of_ipam, world); !forwarded) note(forwarded.error());
  if (failures.empty()) return {};
  return Error{Errc::system, 0, failures, first};
}

}  // namespace vfrail::cni
