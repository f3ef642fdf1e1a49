#include "cni/steps/stacked.h"

#include "cni/conf/net_conf.h"
#include "cni/node/find_link.h"
#include "cni/node/hidden_namespaces.h"
#include "cni/node/namespaces.h"
#include "cni/steps/rebind_step.h"
#include "cni/steps/uppers.h"
#include "cni/steps/wait_step.h"
#include "common/errors/error_id.h"
#include "common/text.h"

#include <cerrno>
#include <thread>

namespace vfrail::cni {

namespace {

// Why the interface is not clear. Empty: it is, as far as this node lets anybody know.
struct Doubt {
  std::string why = {};
  // Nothing is known to be on it, but not all could be inspected.
  bool unseen = false;
};

// Whether the pod can have stacked something where nobody is looking: the network says so, or the device is
// unclean and whose it was is not known.
bool distrusts_pod(const Record& record) {
  if (record.attachment.container_id.empty()) return true;
  const auto conf = parse_net_conf(record.config);
  return conf && conf->safety.pods_have_net_admin;
}

// The count for address lists, which the move has emptied, is dropped when the interface is set up
// (__dev_set_rx_mode()).
Result<std::optional<Link>> drop_stale_promiscuity(const Link& link, World& world) {
  if (link.promiscuity <= (link.promisc_set() ? 1U : 0U) || link.up()) return std::optional<Link>(link);
  TRY(world.host.change_link(link.index, {.up = true}), "bring " + link.name + " up");
  TRY(world.host.change_link(link.index, {.up = false}), "take " + link.name + " down");
  return world.host.find_link(link.index);
}

// A macvlan in passthru mode raises it while it is up: finds also what no visible namespace has. The reason
// why the interface is not clear, or empty.
Result<std::string> remaining_promiscuity(const Link& link, World& world) {
  // A sniffer in the host does, too, so only a lasting count matters.
  constexpr int kTries = 20;
  std::optional<Link> now = TRY(drop_stale_promiscuity(link, world));
  for (int i = 0; now && now->promiscuity > (now->promisc_set() ? 1U : 0U); ++i) {
    if (i == kTries) {
      return now->name + " is in promiscuous mode " + std::to_string(now->promiscuity) +
             " times, for something in a network namespace that cannot be found";
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    now = TRY(world.host.find_link(link.index));
  }
  return std::string();
}

struct Programs {
  bool any = false;
  Doubt doubt = {};
};

Result<Programs> detach_programs(const Link& link, World& world) {
  auto detached = world.host.detach_programs(link);
  if (!detached.ok() && detached.error().sys == EPERM)
    return Programs{
        .doubt = {"BPF programs on " + link.name + " cannot be found: " + detached.error().text, true}};
  const std::vector<std::string> programs = TRY(std::move(detached));
  for (const std::string& program : programs) {
    world.log.warning(
        "detached a program that the pod had attached to its device",
        {{"device", link.name}, {"program", program}, {"id", id_text(ErrorId::pod_changes_undone)}});
  }
  Programs out{.any = !programs.empty()};
  const auto now = link.xdp_modes == 0 ? std::nullopt : TRY(world.host.find_link(link.index));
  if (now && now->xdp_modes != 0) out.doubt = {"an XDP program stays attached to " + now->name};
  return out;
}

// Where the kernel's list is not known. What others own must not fail this DEL, and costs it a rebind only if
// there is a reason to distrust the pod.
Result<Doubt> clear_by_search(const Record& record, const Link& link, Kernel* pod, bool had_programs,
                              World& world) {
  bool has_stacked = false;
  auto removed = remove_visible_uppers(record, link, pod, world, has_stacked);
  if (!removed && !is_incomplete_search(removed.error()))
    removed = remove_visible_uppers(record, link, pod, world, has_stacked);
  std::string trace = TRY(remaining_promiscuity(link, world));
  const bool suspicious = !trace.empty() || has_stacked || had_programs || distrusts_pod(record);
  auto hidden = Result<>();
  // A pod that has done one of these can have done it where the first search does not reach.
  if (suspicious) hidden = remove_hidden_uppers(link, world);
  if (!trace.empty()) trace = TRY(remaining_promiscuity(link, world));
  const Result<>& failed = removed ? hidden : removed;
  if (!trace.empty()) return Doubt{failed ? trace : trace + "; " + failed.error().text};
  if (failed) return Doubt{};
  const std::string what = "what stands on " + link.name + " cannot be found: " + failed.error().text;
  if (suspicious && failed.error().code != Errc::denied) return Doubt{what, true};
  // Not what this pod has done: others have namespaces that cannot be inspected, at each DEL of this node.
  world.log.debug(what, {{"device", record.device_key}});
  return Doubt{};
}

// In RDMA's exclusive mode the move of the RDMA device has ended them all.
Result<Doubt> clear_ipoib(const Record& record, const Link& link, Kernel* pod, World& world) {
  if (!link.ipoib() || !record.rdma.empty()) return Doubt{};
  TRY(remove_ipoib_children(record, link, pod, world));
  if (!distrusts_pod(record)) return Doubt{};
  return Doubt{
      "interfaces of partitions on " + link.name + " in namespaces that the pod made cannot be found", true};
}

Result<Doubt> clear(const Record& record, const Link& link, Kernel* pod, World& world) {
  if (Doubt doubt = TRY(clear_ipoib(record, link, pod, world)); !doubt.why.empty()) return doubt;
  Programs programs = TRY(detach_programs(link, world));
  if (!programs.doubt.why.empty() && !programs.doubt.unseen) return std::move(programs.doubt);
  Doubt doubt;
  const Lower lower{link, world.host};
  if (auto uppers = list_uppers(record, lower, world)) {
    doubt.why = TRY(remove_listed_uppers(std::move(*uppers), record, lower, pod, world));
    const auto now = link.promiscuity == 0 ? std::nullopt : TRY(world.host.find_link(link.index));
    if (now) TRY(drop_stale_promiscuity(*now, world));
  } else {
    doubt = TRY(clear_by_search(record, link, pod, programs.any, world));
  }
  // What cannot be seen on this node cannot be seen at any DEL, so it is a reason to act only where pods are
  // not trusted.
  return doubt.why.empty() && distrusts_pod(record) ? std::move(programs.doubt) : doubt;
}

}  // namespace

Result<std::vector<std::string>> clear_interface(const Record& record, Kernel* pod, World& world) {
  const std::vector<std::string> none;
  const auto link = TRY(find_link_in_host(record, world));
  if (!link) {
    TRY(must_have_ended(record, world));
    return none;
  }
  Doubt doubt = TRY(clear(record, *link, pod, world));
  if (doubt.why.empty()) return none;
  if (TRY(can_rebind(record, world))) {
    // Not searched again: nothing can be on a netdev that was just created.
    TRY(rebind_device(record, doubt.why, world));
    return none;
  }
  if (!doubt.unseen) return std::vector{std::move(doubt.why)};
  world.log.warning(
      "it is not known whether the pod left something on the device, and its driver cannot be rebound",
      {{"device", record.device_key}, {"reason", doubt.why}, {"id", id_text(ErrorId::uppers_unknown)}});
  return none;
}

Result<> clear_of_others(const Record& record, const Link& link, Kernel& pod, World& world) {
  const Lower lower{link, pod};
  auto uppers = list_uppers(record, lower, world);
  if (!uppers || uppers->empty()) return {};
  const std::string remains = TRY(remove_listed_uppers(std::move(*uppers), record, lower, &pod, world));
  if (remains.empty()) return {};
  return Error{
      Errc::busy, 0,
      record.device_key + ": " + remains +
          ", would receive what this pod does; the roll-back rebinds its driver if it can: try again",
      ErrorId::device_unclean};
}

}  // namespace vfrail::cni
