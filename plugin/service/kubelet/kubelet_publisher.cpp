#include "plugin/service/kubelet/kubelet_publisher.h"

#include <algorithm>
#include <mutex>
#include <utility>

namespace vfrail::plugin {

namespace {

// Kubelet would allocate them once more: the pods that have them are not the device plugin's.
PublishedPool without(const PublishedPool& pool, const std::set<std::string>& claimed) {
  std::set<std::string> devices;
  for (const std::string& id : claimed) {
    const Unit* unit = pool.find_unit(id);
    if (unit == nullptr) continue;
    for (const PoolDevice* device : unit->devices) devices.insert(device->id());
  }
  if (devices.empty()) return pool;
  Pool out = *pool;
  for (PoolDevice& device : out.devices) {
    if (device.fault.empty() && devices.contains(device.id()))
      device.fault = {FaultCode::claimed, "allocated to a pod by a ResourceClaim, until that pod ends"};
  }
  return PublishedPool(std::move(out));
}

}  // namespace

// What gRPC threads post for the owner thread. Shared with their callbacks, which can outlive the publisher
// by a moment.
class KubeletPublisher::Mailbox {
 public:
  struct RegistrationNote {
    std::string resource;
    uint64_t attempt = 0;
    RegistrationResult result;
  };
  struct Content {
    std::vector<RegistrationNote> registrations;
    std::optional<Result<DevicesInUse>> in_use;
  };

  void wake_by(std::function<void()> wake) {
    const std::lock_guard lock(mutex_);
    wake_ = std::move(wake);
  }
  template <class Change>
  void put(Change change) {
    const std::lock_guard lock(mutex_);
    change(content_);
    if (wake_) wake_();
  }
  std::vector<RegistrationNote> take_registrations() {
    const std::lock_guard lock(mutex_);
    return std::exchange(content_.registrations, {});
  }
  std::optional<Result<DevicesInUse>> take_in_use() {
    const std::lock_guard lock(mutex_);
    return std::exchange(content_.in_use, std::nullopt);
  }

 private:
  std::mutex mutex_;
  std::function<void()> wake_;
  Content content_;
};

KubeletPublisher::KubeletPublisher(Options options, Log& log)
    : options_(std::move(options)),
      log_(log),
      mailbox_(std::make_shared<Mailbox>()),
      resources_({.kubelet_root = options_.kubelet_root,
                  .registration = options_.registration,
                  .places = options_.places,
                  .counters = options_.counters,
                  .stream_patience = options_.stream_patience,
                  .return_patience = options_.return_patience,
                  .on_registration =
                      [mailbox = mailbox_](const std::string& resource, uint64_t attempt,
                                           RegistrationResult result) {
                        mailbox->put([&](Mailbox::Content& content) {
                          content.registrations.push_back({resource, attempt, std::move(result)});
                        });
                      },
                  .on_stream_end = [mailbox = mailbox_] { mailbox->put([](Mailbox::Content&) {}); }},
                 log) {}

KubeletPublisher::~KubeletPublisher() = default;

Result<> KubeletPublisher::start(std::function<void()> wake) {
  const std::string folder = socket_folder(options_.kubelet_root, options_.registration);
  watch_.emplace(TRY(FolderWatch::start(folder)));
  mailbox_->wake_by(std::move(wake));
  log_.info("kubelet's folder is watched",
            {{"folder", folder},
             {"registration", options_.registration == Registration::watcher ? "watcher" : "legacy"}});
  return {};
}

std::vector<int> KubeletPublisher::fds() const { return {watch_->fd()}; }

void KubeletPublisher::read() { watch_->renew(); }

void KubeletPublisher::take_registrations(Time now) {
  for (const auto& [name, attempt, result] : mailbox_->take_registrations())
    resources_.result(name, attempt, result, now);
}

// What kubelet has registered until now is what there was until now: taken afterwards, it would count as the
// registration that a changed preference needs.
bool KubeletPublisher::follow(const std::vector<PublishedPool>& pools, Time now) {
  take_registrations(now);
  if (!options_.serves) return resources_.follow(pools, now);
  pools_ = pools;
  served_ = ways();
  return resources_.follow(served(), now);
}

std::vector<PublishedPool> KubeletPublisher::served() const {
  std::vector<PublishedPool> out;
  for (const PublishedPool& pool : pools_) {
    if (!options_.serves(pool->config)) continue;
    out.push_back(options_.claimed ? without(pool, options_.claimed(pool->config)) : pool);
  }
  return out;
}

// What served() depends on beside the pools: the resources, and what of them is claimed.
std::vector<std::string> KubeletPublisher::ways() const {
  std::vector<std::string> out;
  for (const PublishedPool& pool : pools_) {
    if (!options_.serves(pool->config)) continue;
    out.push_back(pool->resource());
    if (!options_.claimed) continue;
    for (const std::string& unit : options_.claimed(pool->config)) out.push_back(unit);
  }
  return out;
}

Publisher::Time KubeletPublisher::run_due(Time now) {
  take_registrations(now);
  // A pool goes another way, or a claim has begun or ended.
  if (options_.serves && !pools_.empty() && ways() != served_)
    follow(std::vector<PublishedPool>(pools_), now);
  const Time next = resources_.run_due(now);
  const auto overdue_at = asking_ ? asking_->cancel_overdue(now) : std::nullopt;
  return overdue_at ? std::min(next, *overdue_at) : next;
}

bool KubeletPublisher::ask_in_use(Time now) {
  // The destructor would wait for a call that hangs; run_due() cancels it.
  if (asking_) return true;
  asked_at_ = now;
  // All resources: a container keeps the device of a resource that is no longer configured.
  const PodResourcesCall::Request request{.socket = pod_resources_socket(options_.kubelet_root),
                                          .resources = {}};
  asking_ = std::make_unique<PodResourcesCall>(request, [mailbox = mailbox_](Result<DevicesInUse> answer) {
    mailbox->put([&](Mailbox::Content& content) { content.in_use = std::move(answer); });
  });
  return true;
}

std::optional<Publisher::Answer> KubeletPublisher::take_answer() {
  auto in_use = mailbox_->take_in_use();
  if (!in_use) return std::nullopt;
  asking_.reset();
  return Answer{*std::move(in_use), asked_at_};
}

}  // namespace vfrail::plugin
