#include "cni/verbs/rails.h"

#include "cni/plan/claim_rails.h"
#include "cni/plan/rails.h"
#include "cni/steps/rule_steps.h"
#include "cni/verbs/attachment.h"
#include "cni/verbs/chained.h"
#include "cni/verbs/claimed.h"
#include "cni/verbs/release.h"
#include "cni/verbs/verbs.h"
#include "common/errors/error_id.h"
#include "common/text.h"

#include <algorithm>
#include <set>
#include <system_error>
#include <thread>

namespace vfrail::cni {

namespace {

AttachmentName attachment_of(const Request& request) { return {request.container_id, request.ifname}; }

Error unknown_unit(const std::string& unit) {
  return Error{
      Errc::not_found, 0,
      "the devices of " + unit +
          " are not known: the device plugin of this node has not allocated it since boot. Delete the "
          "pod, so that it is allocated again",
      ErrorId::unit_unknown};
}

Error ambiguous_unit(const std::vector<AllocatedUnit>& units) {
  std::vector<std::string> resources;
  for (const AllocatedUnit& unit : units) resources.push_back(unit.resource);
  return Error{Errc::invalid, 0,
               units.front().unit + " is a unit of " + joined(resources, " and of ") +
                   "; name the resource of this network: \"rails\": {\"resource\": \"" + resources.front() +
                   "\"}",
               ErrorId::unit_unknown};
}

// No value: it is not known on this node.
Result<std::optional<AllocatedUnit>> find_unit(const std::string& unit, const std::string& resource,
                                               const World& world) {
  auto units = TRY(read_allocated_units(world.run_folder, unit), "devices of " + unit);
  if (!resource.empty())
    std::erase_if(units, [&](const AllocatedUnit& one) { return one.resource != resource; });
  if (units.size() > 1) return ambiguous_unit(units);
  return units.empty() ? std::nullopt : std::optional(std::move(units.front()));
}

Result<std::vector<uint32_t>> tables_of_pod(const std::string& netns, World& world) {
  const auto pod = TRY(world.open_netns(netns));
  return pod ? tables_in_use(*pod) : std::vector<uint32_t>();
}

// The work of each rail, and its error.
std::vector<Result<>> for_each_rail(const std::vector<Request>& rails, const OwnWorlds& worlds,
                                    const std::function<Result<>(size_t rail, World&)>& work) {
  std::vector<Result<>> out(rails.size());
  const auto one = [&](size_t i) {
    try {
      out[i] = worlds.run(rails[i].ifname, [&](World& own) { return work(i, own); });
    } catch (const std::exception& error) {
      out[i] = Error{Errc::system, 0, std::string("unexpected: ") + error.what()};
    }
  };
  std::vector<std::jthread> threads;
  const auto start = [&](size_t i) {
    if (!worlds.at_once || i + 1 == rails.size()) return false;
    try {
      threads.emplace_back(one, i);
      return true;
    } catch (const std::system_error&) {
      return false;  // EAGAIN, by a limit of processes: then one after the other
    }
  };
  for (size_t i = 0; i < rails.size(); ++i) {
    if (!start(i)) one(i);
  }
  threads.clear();  // each has ended
  return out;
}

// All errors in one, with the id of the first.
Result<> combined(const std::vector<Result<>>& results, const std::function<std::string(size_t)>& name) {
  std::optional<Error> out;
  for (size_t i = 0; i < results.size(); ++i) {
    if (results[i]) continue;
    Error error = Error(results[i].error()).in(name(i));
    if (out) {
      (void)std::move(*out).and_also(error.text);
    } else {
      out = std::move(error);
    }
  }
  return out ? Result<>(std::move(*out)) : Result<>();
}

// Leaves alone what has no record: then its own ADD has rolled back.
Result<> roll_back_rail(const Request& rail, World& world) {
  const auto lock = TRY(lock_attachment(attachment_of(rail), "ADD", world));
  const auto record = TRY(world.store.load(attachment_of(rail)));
  if (!record) return {};
  const NetConf conf = TRY(rail.config.conf());
  return release({.record = record, .request = rail, .network = conf, .allocation = AllocateAnswer::kept},
                 world);
}

std::vector<Request> requests_of(const std::vector<RailRequest>& rails) {
  std::vector<Request> out;
  for (const RailRequest& rail : rails) out.push_back(rail.request);
  return out;
}

// Of all devices, in one order on the whole node: of two ADDs that share devices the second waits for the
// first, which would otherwise get some of them, the second others, and none of the two all.
Result<std::vector<FileLock>> lock_devices(const std::vector<RailRequest>& rails, const World& world) {
  std::set<std::string> keys;
  for (const RailRequest& rail : rails) keys.insert(rail.device.text());
  std::vector<FileLock> out;
  for (const std::string& key : keys)
    out.push_back(TRY(world.store.lock_rail(key, world.lock_timeout), "wait for the unit that has " + key));
  return out;
}

Result<std::vector<RailRequest>> claimed_rails(const Request& request, const NetConf& conf, World& world) {
  const bool is_add = request.command == Command::add;
  if (is_add && !conf.entry.prev_result)
    return Error{
        Errc::invalid, 0,
        "claims: prevResult is missing; this entry stands in the list of the node's primary network, "
        "behind the plugin that makes the pod's first interface, and cannot be a network of its own",
        ErrorId::network_config};
  const auto devices = TRY(read_claimed(request, world));
  if (devices.empty()) return std::vector<RailRequest>();
  std::vector<uint32_t> tables;
  const bool may_route = conf.pod.source_routing || !conf.claims->resources.empty();
  if (may_route && is_add) tables = TRY(tables_of_pod(request.netns, world));
  return plan_claimed(request, conf, devices, tables);
}

// What ADD attaches. Empty: the pod has no claims.
Result<std::vector<RailRequest>> rails_to_add(const Request& request, const NetConf& conf, World& world) {
  if (conf.claims) return claimed_rails(request, conf, world);
  const auto unit = TRY(find_unit(conf.device.unit, conf.rails.resource, world));
  if (!unit) return unknown_unit(conf.device.unit);
  std::vector<uint32_t> tables;
  if (conf.pod.source_routing) tables = TRY(tables_of_pod(request.netns, world));
  return plan_rails(request, conf, *unit, tables);
}

// Those that have a record, whatever the unit is now. `unreadable` gets the interfaces of the container whose
// record cannot be read.
Result<std::vector<Request>> recorded_rails(const Request& request, const World& world,
                                            std::vector<std::string>& unreadable) {
  std::vector<Request> out;
  for (const AttachmentName& name : TRY(world.store.list())) {
    if (name.container_id != request.container_id) continue;
    const auto record = world.store.load(name);
    if (!record && record.error().code != Errc::protocol) return record.error();
    if (!record) unreadable.push_back(name.ifname);
    if (!record || !*record || (*record)->rail_of != request.ifname) continue;
    out.push_back(request_of(**record, request));
  }
  return out;
}

// By a network definition of the pod, through Multus: before the node had the entry with claims.
Result<bool> is_attached_otherwise(const RailRequest& rail, const World& world) {
  const std::string& container = rail.request.container_id;
  const auto owner = TRY(world.store.owner(rail.device.text()));
  if (owner && owner->container_id == container && owner->ifname != rail.request.ifname) return true;
  const auto record = world.store.load(attachment_of(rail.request));
  return record && *record && (*record)->rail_of != rail.request.rail_of;
}

// Those that the unit, or the pod's claims, have now.
Result<std::vector<RailRequest>> rails_now(const Request& request, World& world) {
  std::vector<RailRequest> out;
  const auto& conf = request.config.conf();
  if (conf && conf->claims) {
    for (RailRequest& rail : TRY(claimed_rails(request, *conf, world))) {
      if (!TRY(is_attached_otherwise(rail, world))) out.push_back(std::move(rail));
    }
    return out;
  }
  if (!conf || conf->device.unit.empty()) return out;
  const auto unit = TRY(find_unit(conf->device.unit, conf->rails.resource, world));
  return unit ? plan_rails(request, *conf, *unit, {}) : std::move(out);
}

// And that are not among `rails`.
Result<> add_unrecorded(const Request& request, World& world, std::vector<Request>& rails) {
  for (const RailRequest& rail : TRY(rails_now(request, world))) {
    const bool known = std::any_of(rails.begin(), rails.end(),
                                   [&](const Request& one) { return one.ifname == rail.request.ifname; });
    if (!known) rails.push_back(rail.request);
  }
  return {};
}

// Those whose record is damaged, which neither the unit nor a claim has any more: their DEL quarantines it,
// and releases their address by the configuration of the network.
void add_unreadable(const Request& request, const std::vector<std::string>& unreadable,
                    std::vector<Request>& rails) {
  const auto& conf = request.config.conf();
  const RailSettings settings = conf ? conf->rails : RailSettings();
  const bool of_claims = conf && conf->claims;
  for (size_t i = 0; i < kMaxRails; ++i) {
    const std::string ifname =
        of_claims ? conf->claims->ifname_of(i + 1) : settings.ifname_of(request.ifname, i);
    const auto is_it = [&](const Request& one) { return one.ifname == ifname; };
    if (std::find(unreadable.begin(), unreadable.end(), ifname) == unreadable.end()) continue;
    if (std::none_of(rails.begin(), rails.end(), is_it))
      rails.push_back(of_claims ? request_of_number(request, *conf->claims, i + 1)
                                : request_without_device(request, settings, i));
  }
}

bool is_of_claims(const Request& request) {
  const auto& conf = request.config.conf();
  return conf && conf->claims;
}

auto interface_name(const std::vector<Request>& rails) {
  return [&rails](size_t i) { return rails[i].ifname; };
}

}  // namespace

bool names_several(const Request& request) {
  const auto& conf = request.config.conf();
  return conf && (conf->claims || !conf->device.unit.empty());
}

bool may_have_rails(const Request& request) {
  const auto& conf = request.config.conf();
  return !conf || !conf->device.unit.empty() || conf->device.empty();
}

Result<> add_rails(const Request& request, World& world, const OwnWorlds& worlds) {
  const NetConf conf = TRY(request.config.conf(), "network configuration");
  const auto lock = TRY(world.store.lock_rails(attachment_of(request), "ADD", world.lock_timeout));
  const std::vector<RailRequest> rails = TRY(rails_to_add(request, conf, world));
  if (rails.empty()) return world.print_result(pass_on(conf.entry));
  const auto devices = TRY(lock_devices(rails, world));
  const std::vector<Request> requests = requests_of(rails);
  const auto name = [&](size_t i) { return rails[i].text; };

  std::vector<std::optional<AddResult>> results(rails.size());
  Result<> done = combined(for_each_rail(requests, worlds,
                                         [&](size_t i, World& own) -> Result<> {
                                           results[i] = TRY(add(requests[i], own));
                                           return {};
                                         }),
                           name);
  if (done) {
    std::vector<AddResult> all;
    for (auto& result : results) all.push_back(*result);
    if (conf.claims) all.front().prev_result = conf.entry.prev_result;
    done = world.print_result(merged_results(std::move(all)));
  }
  if (done) return {};
  const auto undone = combined(
      for_each_rail(
          requests, worlds,
          [&](size_t i, World& own) { return results[i] ? roll_back_rail(requests[i], own) : Result<>(); }),
      name);
  if (undone) return done;
  Error error = std::move(done).error();
  error.text += "; rollback failed: " + undone.error().text;
  return error;
}

Result<> del_rails(const Request& request, World& world, const OwnWorlds& worlds) {
  const auto lock = TRY(world.store.lock_rails(attachment_of(request), "DEL", world.lock_timeout));
  std::vector<std::string> unreadable;
  std::vector<Request> rails = TRY(recorded_rails(request, world, unreadable));
  // A unit that cannot be read keeps no rail that has a record.
  const auto added = add_unrecorded(request, world, rails);
  if (!added)
    world.log.warning("the rails of the unit are not known, those that have a record are released",
                      {{"reason", added.error().text}, {"id", added.error().id_text()}});
  add_unreadable(request, unreadable, rails);
  // The interface of the request is the primary network's.
  if (rails.empty()) return is_of_claims(request) ? Result<>() : del(request, world);
  return combined(for_each_rail(rails, worlds, [&](size_t i, World& own) { return del(rails[i], own); }),
                  interface_name(rails));
}

Result<> check_rails(const Request& request, World& world, const OwnWorlds& worlds) {
  std::vector<std::string> unreadable;  // CHECK of the rail reports it
  std::vector<Request> rails = TRY(recorded_rails(request, world, unreadable));
  TRY(add_unrecorded(request, world, rails));
  // Without rails the error of an attachment that is not there.
  if (rails.empty()) return is_of_claims(request) ? Result<>() : check(request, world);
  return combined(for_each_rail(rails, worlds, [&](size_t i, World& own) { return check(rails[i], own); }),
                  interface_name(rails));
}

}  // namespace vfrail::cni
