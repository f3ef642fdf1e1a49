#include "plugin/kube/node/node_events.h"

#include "plugin/kube/access/api_time.h"
#include "plugin/kube/client/event_recorder.h"

#include <utility>

namespace vfrail::kube {

namespace {

constexpr const char* kController = "vfrail.io/node";
// Events about what has no namespace are here; the API server takes no other but kube-system.
constexpr const char* kNamespace = "default";
constexpr std::chrono::seconds kWritePatience{10};

// As kubelet's own Events: the uid is the name, so that no right to read the Node is needed. `kubectl
// describe node` shows both kinds (by kubectl's source, describe.go).
Json node_reference(const std::string& node) {
  return Json::object().set("apiVersion", "v1").set("kind", "Node").set("name", node).set("uid", node);
}

}  // namespace

NodeEvents::NodeEvents(ClusterAccess access, std::string node, Log& log)
    : access_(std::move(access)),
      node_(std::move(node)),
      log_(log),
      thread_([this](const std::stop_token& stop) { run(stop); }) {}

NodeEvents::~NodeEvents() {
  thread_.request_stop();
  thread_.join();
}

void NodeEvents::put(std::vector<NodeNotice> notices) {
  {
    const std::lock_guard lock(mutex_);
    notices_ = std::move(notices);
  }
  wakeup_.notify();
}

std::optional<std::string> NodeEvents::write(ApiClient& client, const NoticeLedger::Entry& entry) {
  const auto now = std::chrono::system_clock::now();
  Result<Json> done = Json();
  std::string name = entry.event;
  if (!name.empty()) {
    Json fields = event_head({kNamespace, name});
    fields.set(
        "series",
        Json::object().set("count", int64_t{entry.count}).set("lastObservedTime", api_micro_time(now)));
    done = client.apply(kEvents, {kNamespace, name}, fields, {.manager = "vfrail-node"});
    // One that the API server has forgotten cannot be counted up: without its other fields it is refused.
    const bool is_gone =
        !done && (done.error().code == Errc::not_found || done.error().code == Errc::invalid);
    if (is_gone) name.clear();
  }
  if (name.empty()) {
    const Event event{.type = EventType::warning,
                      .reason = entry.notice.reason,
                      .action = "Report",
                      .note = entry.notice.text};
    name = event_name(node_, now);
    done = client.create(
        kEvents, kNamespace,
        event_object({kController, node_}, {kNamespace, name}, node_reference(node_), event, now));
  }
  if (done) return name;
  log_.info("an event could not be written",
            {{"node", node_}, {"reason", entry.notice.reason}, {"error", done.error().text}});
  return std::nullopt;
}

void NodeEvents::run(const std::stop_token& stop) {
  ApiClient client(access_, stop);
  client.set_patience(kWritePatience);
  NoticeLedger ledger;
  while (!stop.stop_requested()) {
    std::vector<NodeNotice> notices;
    {
      const std::lock_guard lock(mutex_);
      notices = notices_;
    }
    auto now = Steady::now();
    ledger.take(notices, now);
    while (NoticeLedger::Entry* entry = ledger.next(now)) {
      auto event = write(client, *entry);
      if (stop.stop_requested()) return;
      ledger.written(*entry, std::move(event), now);
      now = Steady::now();
    }
    // A notice wakes the thread.
    wakeup_.wait_until(std::min(ledger.due(now), now + std::chrono::hours(24)), stop);
  }
}

}  // namespace vfrail::kube
