#include "plugin/device/advertise/advertised.h"

#include "common/errors/error_id.h"
#include "common/text.h"
#include "plugin/device/advertise/keep_in_use.h"
#include "plugin/device/advertise/orphans.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace vfrail::plugin {

namespace {

std::string unread_text(const std::vector<UnreadDevice>& unread) {
  std::vector<std::string> out;
  for (const UnreadDevice& device : unread) out.push_back(device.id + ": " + device.reason);
  return first_few(out);
}

// The functions that a selector names, but the host uses.
std::vector<Warning> find_refusals(const Pools& pools) {
  std::vector<Warning> out;
  for (const LeftOut& function : pools.left_out) {
    if (function.kind != LeftOut::Kind::host_use) continue;
    std::vector<std::string> resources;
    for (const Refusal& reason : function.reasons) {
      if (!reason.resource.empty()) resources.push_back(reason.resource);
    }
    out.push_back({function.id + " is not advertised: " + joined(texts_of(function.reasons), "; "),
                   ErrorId::host_uses_device, joined(resources), function.id});
  }
  return out;
}

std::vector<Warning> find_incomplete(const std::vector<PublishedPool>& pools) {
  std::vector<Warning> out;
  for (const PublishedPool& pool : pools) {
    for (Warning& one : find_incomplete(*pool, pool.units())) out.push_back(std::move(one));
  }
  return out;
}

Advertised::Rest rest_of(const Pools& pools) {
  Advertised::Rest out;
  out.unread = pools.unread.size();
  out.infiniband_ports = pools.infiniband_ports;
  for (const LeftOut& function : pools.left_out) ++out.left_out[function.kind];
  return out;
}

}  // namespace

Advertised::Advertised(const Times& times, Time start)
    : times_(times), start_(start), departures_(times.move), debounce_(times.settle) {}

bool Advertised::read(Result<Pools> found, Time now) {
  read_at_ = Time::max();
  note_failure(found, now);
  if (!found || first_list_waits(*found, now)) return false;
  publish(*std::move(found), now);
  return true;
}

void Advertised::note_failure(const Result<Pools>& found, Time now) {
  failure_.reset();
  if (!found) failure_ = {found.error().text, found.error().specific.value_or(ErrorId::node_not_read)};
  if (found && !found->unread.empty()) failure_ = {unread_text(found->unread), ErrorId::device_not_read};
  if (failure_) read_at_ = now + times_.retry;
}

bool Advertised::first_list_waits(const Pools& found, Time now) const {
  if (has_list()) return false;
  // The first list is whole, or as whole as it will be.
  if (failure_ && now < start_ + times_.first_list) return true;
  // A container's own selectors may not see what it has.
  return !departures_.has_answer() && is_any_partly_away(found);
}

// The order matters: what no scan sees returns to its pool first, then what containers have stays with their
// resource, and only then the health of all of them settles.
void Advertised::publish(Pools found, Time now) {
  listed_at_ = now;
  rest_ = rest_of(found);
  remarks_ = {{"node", std::move(found.warnings)}, {"host use", find_refusals(found), LogLevel::info}};

  const DevicesInUse* in_use = in_use_ ? &*in_use_ : nullptr;
  departures_.hold(found, published_, in_use, now);
  if (in_use != nullptr) keep_in_use(found, *in_use);
  const auto settled = debounce_.settle(found.pools, now);
  published_.assign(std::make_move_iterator(found.pools.begin()), std::make_move_iterator(found.pools.end()));

  remarks_.push_back({"bundles", find_incomplete(published_)});
  if (departures_.wait_for_kubelet()) ask_at_ = now;
  for (const auto& later : {departures_.next(), settled}) {
    if (later) read_at_ = std::min(read_at_, *later);
  }
}

void Advertised::asked(Time now) {
  ask_at_ = now + (waits_for_containers(published_) ? times_.ask_while_waiting : times_.ask);
}

void Advertised::not_answered(Time now) {
  if (departures_.wait_for_kubelet() || !has_list()) read_at_ = now;
  departures_.not_answered();
}

void Advertised::answered(DevicesInUse answer, Time asked, Time now) {
  const bool decides = departures_.wait_for_kubelet() || !has_list();
  if (decides || use_changed(published_, in_use_ ? &*in_use_ : nullptr, answer)) read_at_ = now;
  departures_.answered(asked);
  answered_for_ = asked;
  in_use_ = std::move(answer);
}

DevicesInUse Advertised::devices_in_use() const { return with_devices_of_units(*in_use_, published_); }

bool Advertised::find_orphans(std::optional<AttachedDevices> attached, Time now) {
  if (attached) attached_ = *std::move(attached);
  const auto found = find_orphaned(published_, *in_use_, attached_);
  std::erase_if(orphaned_since_, [&](const auto& one) { return !found.contains(one.first); });
  std::map<std::string, std::string> lasting;
  for (const auto& [id, what] : found) {
    const Time due = orphaned_since_.try_emplace(id, now).first->second + times_.orphaned_after;
    if (now >= due)
      lasting.emplace(id, what);
    else
      ask_at_ = std::min(ask_at_, due);
  }
  const bool more = std::any_of(lasting.begin(), lasting.end(),
                                [&](const auto& one) { return !orphans_.contains(one.first); });
  orphans_ = std::move(lasting);
  return more;
}

Warning describe_orphan(const std::string& device, const std::string& what, const std::string& owner) {
  return {device + " " + what + (owner.empty() ? "" : " (" + owner + ")") +
              ", but kubelet has given it to no pod: run \"/opt/cni/bin/vfrail sweep --dry-run\" on the node",
          ErrorId::orphaned_attachment, "", device};
}

}  // namespace vfrail::plugin
