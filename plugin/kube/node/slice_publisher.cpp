#include "plugin/kube/node/slice_publisher.h"

#include "common/text.h"
#include "plugin/kube/access/fields.h"
#include "plugin/kube/client/refusal.h"

#include <algorithm>
#include <utility>

namespace vfrail::kube {

namespace {

constexpr const char* kShared = "allowMultipleAllocations";
constexpr const char* kTaints = "taints";
// While devices are published, whether a device plugin offers them again. Each node of a cluster asks.
constexpr std::chrono::minutes kPublishedNodeReads{5};
// A resync for changes that a silent watch has not shown.
constexpr std::chrono::minutes kResync{5};

// The watch shows sooner what somebody else has written.
constexpr std::chrono::seconds kOvertaken{1};

bool is_overtaken(const Error& error) { return error.sys == 409 || error.sys == 404; }

std::set<std::string> names_of_devices(const ObjectWatch::Objects& slices) {
  std::set<std::string> out;
  for (const auto& [name, slice] : slices) {
    for (const Json& device : list_at(*slice, {"spec", "devices"})) out.insert(text_at(device, {"name"}));
  }
  return out;
}

// A slice that is never stored: what comes back shows what this API server knows.
Json probe(const PoolName& pool) {
  Json taint = Json::object();
  taint.set("key", "vfrail.io/probe");
  taint.set("effect", "NoSchedule");
  Json device = Json::object();
  device.set("name", "probe");
  device.set(kShared, true);
  device.set(kTaints, Json::Array{std::move(taint)});
  std::vector<SliceChange> changes = decide_slices(pool, Json::Array{std::move(device)}, {}, {});
  return std::move(changes.front().object);
}

// What the API server would drop from a device says more than the rest of it: without it the device could be
// allocated to whom it must not. An empty text if it keeps what the device has.
const char* would_lose(const Json& device, const KeptFields& kept) {
  if (!kept.sharing && is_true_at(device, {kShared}))
    return "the device: this API server has no shared devices (DRAConsumableCapacity, on by default from "
           "Kubernetes 1.36)";
  if (!kept.taints && !list_at(device, {kTaints}).empty())
    return "the device: it is unhealthy, and this API server keeps no taints that say so (DRADeviceTaints, "
           "on "
           "by default from Kubernetes 1.36)";
  return "";
}

}  // namespace

SlicePublisher::Outcome SlicePublisher::pass(const DeviceOffer& offer, const ObjectWatch::View& view) {
  const auto now = Steady::now();
  if (view.is_absent())
    return hold({Errc::unsupported, 0,
                 "this API server serves no resource.k8s.io/v1: Kubernetes 1.34 or later is needed"},
                true);
  if (view.trouble) {
    // It may be another API server that answers next; not where one says that it is too busy, which all nodes
    // would make worse by asking more.
    if (view.trouble->sys != kTooManyRequests) kept_.reset();
    return hold(Error(*view.trouble).in("the ResourceSlices of this node cannot be read"), true);
  }
  if (!view.complete) return {false, now + kResync};  // the watch wakes the thread
  if (now < again_at_) return {true, again_at_};
  if (const auto read = read_node(offer, now); !read) return fail(read.error());
  if (!kept_) {
    if (const auto found = find_kept_fields(); !found) return fail(found.error());
  }
  const ObjectWatch::Objects existing = own_slices(writer_.known(view, now), pool_);
  state_.slices = existing.size();
  const std::set<std::string> published = names_of_devices(existing);
  state_.devices = published.size();
  const AllowedDevices allowed = allow(offer, published);
  const auto changes = decide_slices(pool_, allowed.devices, existing, writer_.memory());
  if (changes.empty()) return settle(allowed.held_back);
  if (const auto due = writer_.due(changes); due > now) return {state_.published, due};
  return write(changes, allowed);
}

// The API server, or the network, has no time or does not want it.
SlicePublisher::Outcome SlicePublisher::fail(const Error& error) {
  again_at_ = Steady::now() + backoff_.after_failure(Steady::now());
  Outcome out = hold(error, true);
  out.again = again_at_;
  return out;
}

SlicePublisher::Outcome SlicePublisher::hold(const Error& reason, bool decided) {
  state_.published = false;
  state_.reason = reason.text;
  state_.id = reason.id_text();
  if (said_ != reason.text)
    log_.warning("devices are not published", {{"reason", reason.text}, {"id", reason.id_text()}});
  said_ = reason.text;
  // Not next_node_read(), which may be over while the API server is away.
  return {decided, Steady::now() + node_reads_};
}

SlicePublisher::Steady::time_point SlicePublisher::next_node_read() const {
  if (!node_read_) return Steady::now() + node_reads_;
  return *node_read_ + (state_.published ? std::chrono::milliseconds(kPublishedNodeReads) : node_reads_);
}

Result<> SlicePublisher::read_node(const DeviceOffer& offer, Steady::time_point now) {
  const bool is_known = node_read_ && node_read_for_ == offer.resources;
  if (is_known && now < next_node_read()) return {};
  const auto node = TRY(client_.get(kNodes, {"", pool_.node}));
  if (!node)
    return Error{Errc::not_found, 0,
                 "the Node " + pool_.node +
                     " is not there; --node (or $NODE_NAME) must be the Node on which this pod runs"};
  node_ = kube::read_node(*node);
  pool_.node_uid = node_.uid;
  node_read_ = now;
  node_read_for_ = offer.resources;
  return {};
}

Result<> SlicePublisher::find_kept_fields() {
  const Json answer = TRY(client_.create(kResourceSlices, "", probe(pool_), ApiClient::Storage::dry_run),
                          "find out which fields of devices the API server keeps");
  const Json::Array& devices = list_at(answer, {"spec", "devices"});
  kept_ = KeptFields{.sharing = !devices.empty() && is_true_at(devices.front(), {kShared}),
                     .taints = !devices.empty() && !list_at(devices.front(), {kTaints}).empty()};
  state_.sharing = kept_->sharing;
  return {};
}

AllowedDevices SlicePublisher::allow(const DeviceOffer& offer, const std::set<std::string>& published) {
  CheckedDevices checked = check_devices(offer.devices);
  std::erase_if(checked.devices, [&](const Json& device) {
    const std::string lost = would_lose(device, *kept_);
    if (!lost.empty()) checked.left_out[lost].push_back(text_at(device, {"name"}));
    return !lost.empty();
  });
  say_left_out(checked.left_out);
  return hold_back(offer, std::move(checked.devices), node_, published);
}

void SlicePublisher::say_left_out(const LeftOut& left_out) {
  for (const auto& [what, devices] : left_out) {
    if (said_left_out_.insert(what).second)
      log_.warning(
          "not published",
          {{"what", what}, {"devices", first_few(devices)}, {"id", Error{Errc::invalid, 0, what}.id_text()}});
  }
  std::erase_if(said_left_out_, [&](const std::string& what) { return !left_out.contains(what); });
}

SlicePublisher::Outcome SlicePublisher::write(const std::vector<SliceChange>& changes,
                                              const AllowedDevices& allowed) {
  const auto done = writer_.write(changes);
  state_.writes = writer_.written();
  if (!done && is_overtaken(done.error())) {
    log_.debug("slices have changed meanwhile, trying again", {{"error", done.error().text}});
    return {state_.published, Steady::now() + kOvertaken};
  }
  if (!done && done.error().code == Errc::not_yet) return {false, Steady::now() + kResync};  // a stop
  if (!done) return fail(done.error());
  // One that is replaced is a port that went down or came back: that may happen each second.
  const LogLevel level = changes.size() == 1 ? LogLevel::debug : LogLevel::info;
  const LogField fields[] = {{"pool", pool_.node},
                             {"changes", std::to_string(changes.size())},
                             {"generation", std::to_string(writer_.memory().generation)}};
  log_.write(level, "slices written", fields);
  state_.devices = allowed.devices.size();
  return settle(allowed.held_back);
}

SlicePublisher::Outcome SlicePublisher::settle(const std::optional<Error>& held_back) {
  state_.slices = writer_.memory().count == 0 ? state_.slices : writer_.memory().count;
  if (held_back) return hold(*held_back, true);
  if (!state_.published) log_.info("devices are published", {{"slices", std::to_string(state_.slices)}});
  state_.published = true;
  state_.reason.clear();
  state_.id.clear();
  said_.clear();
  return {true, std::min(next_node_read(), Steady::now() + kResync)};
}

}  // namespace vfrail::kube
