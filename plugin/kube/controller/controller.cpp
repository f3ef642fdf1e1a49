#include "plugin/kube/controller/controller.h"

#include "plugin/kube/client/pause.h"
#include "plugin/kube/controller/reconciler.h"

#include <algorithm>
#include <list>
#include <malloc.h>

namespace vfrail::kube {

namespace {

constexpr const char* kReporter = "vfrail.io/controller";
// A request must not outlast the lease: two of them end before others may take it.
constexpr std::chrono::seconds kPatience{4};
// Changes that arrive together, a hundred networks applied or the heartbeats of nodes, are one pass.
constexpr std::chrono::milliseconds kGather{200};
// Leaving the lease is a courtesy to the other replica; it ends by itself.
constexpr std::chrono::seconds kFarewell{2};

template <Json (*kKeep)(Json&&)>
Json packed_by(Json&& object) {
  return packed(kKeep(std::move(object)));
}

}  // namespace

struct Controller::Watches {
  Watches(const ClusterAccess& access, Wakeup& wakeup)
      : definitions(access, {.type = kNetworkAttachmentDefinitions, .keep = packed_by<keep_of_definition>},
                    wakeup),
        namespaces(access, {.type = kNamespaces, .keep = keep_of_namespace}, wakeup),
        nodes(access, {.type = kNodes, .keep = keep_of_node}, wakeup) {
    for (const NetworkKind& kind : kNetworkKinds) {
      const auto keep =
          kind.own_state.empty() ? packed_by<keep_of_network_with_managers> : packed_by<keep_of_network>;
      networks.emplace_back(access, WatchOptions{.type = kind.type, .keep = keep}, wakeup);
    }
  }

  Seen changes() const {
    Seen out{definitions.changes(), namespaces.changes(), nodes.changes()};
    for (const ObjectWatch& one : networks) out.push_back(one.changes());
    return out;
  }

  std::list<ObjectWatch> networks;  // as kNetworkKinds has the kinds
  ObjectWatch definitions;
  ObjectWatch namespaces;
  ObjectWatch nodes;
};

void Controller::run(std::stop_token stop) {
  ApiClient client(access_, stop);
  client.set_patience(kPatience);
  EventRecorder events(kReporter, options_.instance, log_);
  Reconciler reconciler({client, events, log_, options_.cni_type});
  lease_.emplace(options_.lease, options_.instance);
  const Watches watches(access_, wakeup_);
  while (!stop.stop_requested()) {
    auto until = Steady::now() + Lease::kRenewal;
    if (keep_lease(client)) {
      act(reconciler, watches, client, stop);
      if (const auto next = reconciler.next()) until = std::min(until, std::max(*next, Steady::now()));
    } else {
      reconciler.forget();
      compared_at_.reset();
    }
    if (wakeup_.wait_until(until, stop)) pause_for(kGather, stop);
  }
  release_lease();
}

// Whether this replica acts.
bool Controller::keep_lease(ApiClient& client) {
  const auto turn = lease_->turn(client, Steady::now());
  const bool leads = turn.ok() ? *turn : lease_->held(Steady::now());
  if (leads && !leads_) log_.info("this replica acts", {{"lease", options_.lease.text()}});
  if (!leads) {
    if (turn.ok())
      say("another replica acts");
    else
      say("the lease cannot be renewed or taken", &turn.error());
  }
  leads_ = leads;
  return leads;
}

// Once for as long as it does not change.
void Controller::say(const std::string& text, const Error* error) {
  const std::string now = text + (error == nullptr ? "" : error->text);
  if (said_ == now) return;
  said_ = now;
  if (error == nullptr) {
    log_.info("waiting", {{"reason", text}});
  } else {
    log_.warning("waiting", {{"reason", text}, {"error", error->text}, {"id", error->id_text()}});
  }
}

// A watch that is refused (a right is missing) leaves what was listed, and no pass would ever say so.
void Controller::say_changes_of(const ResourceType& type, const ObjectWatch::View& view) {
  std::string& unseen = unseen_[type.plural];
  const std::string why = view.trouble ? view.trouble->text : "";
  if (why == unseen) return;
  unseen = why;
  const std::string kind(type.plural);
  if (view.is_absent())
    log_.info("not served: its CustomResourceDefinition is not installed", {{"objects", kind}});
  else if (view.trouble)
    log_.warning("changes are not seen, trying again",
                 {{"objects", kind}, {"error", why}, {"id", view.trouble->id_text()}});
  else
    log_.info("changes are seen again", {{"objects", kind}});
}

// False: nothing is known of any kind. A kind that is not installed, or may not be listed, does not
// keep the others from being served; one that is being listed is waited for.
bool Controller::take_networks(const Watches& watches, WatchedObjects& out) {
  size_t absent = 0;
  size_t read = 0;
  std::optional<Error> trouble;
  auto watch = watches.networks.begin();
  for (size_t i = 0; i < kNetworkKinds.size(); ++i, ++watch) {
    ObjectWatch::View view = watch->view();
    if (!view.complete && !view.trouble) {
      say("the objects of the cluster have not been read yet");
      return false;
    }
    say_changes_of(kNetworkKinds[i].type, view);
    if (view.is_absent()) {
      ++absent;
    } else if (!view.complete) {
      trouble = std::move(view.trouble);
    } else {
      ++read;
      out.networks[i] = std::move(view.objects);
    }
  }
  if (read > 0) return true;
  if (absent == kNetworkKinds.size())
    say("the CustomResourceDefinitions of mellanox.com (hostdevicenetworks, macvlannetworks, ipoibnetworks) "
        "are "
        "not installed; install them with the chart");
  else
    say("the objects of the cluster have not been read yet", trouble ? &*trouble : nullptr);
  return false;
}

// No value: not all is known yet. What has been listed once counts, also if the server cannot be reached now:
// what is written is written against the versions that were seen.
std::optional<WatchedObjects> Controller::take(const Watches& watches) {
  WatchedObjects out;
  if (!take_networks(watches, out)) return std::nullopt;
  ObjectWatch::View definitions = watches.definitions.view();
  ObjectWatch::View namespaces = watches.namespaces.view();
  ObjectWatch::View nodes = watches.nodes.view();
  const bool no_definitions = definitions.is_absent();
  for (const ObjectWatch::View* view : {&definitions, &namespaces, &nodes}) {
    if (view->complete || (view == &definitions && no_definitions)) continue;
    say("the objects of the cluster have not been read yet", view->trouble ? &*view->trouble : nullptr);
    return std::nullopt;
  }
  said_.clear();
  if (!no_definitions) say_changes_of(kNetworkAttachmentDefinitions, definitions);
  say_changes_of(kNamespaces, namespaces);
  say_changes_of(kNodes, nodes);
  out.has_definitions = !no_definitions;
  if (out.has_definitions) out.definitions = std::move(definitions.objects);
  out.namespaces = std::move(namespaces.objects);
  out.nodes = std::move(nodes.objects);
  return out;
}

void Controller::act(Reconciler& reconciler, const Watches& watches, ApiClient& client,
                     const std::stop_token& stop) {
  const auto now = Steady::now();
  const auto next = reconciler.next();
  const bool is_due = !compared_at_ || now >= *compared_at_ + options_.resync || (next && now >= *next);
  Seen changes = watches.changes();
  if (!is_due && changes == seen_) return;
  const auto watched = take(watches);
  if (!watched) return;
  compared_at_ = now;
  reconciler.pass(*watched, [&] { return !stop.stop_requested() && keep_lease(client); });
  seen_ = std::move(changes);
  // What the lists and the pass needed is more than what stays.
  ::malloc_trim(0);
}

// Its own client: that of run() ends every call once the stop is requested.
void Controller::release_lease() {
  if (!leads_) return;
  ApiClient client(access_);
  client.set_patience(kFarewell);
  if (const auto done = lease_->release(client); !done)
    log_.info("the lease could not be released, it expires", {{"error", done.error().text}});
}

}  // namespace vfrail::kube
