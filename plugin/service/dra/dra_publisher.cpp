#include "plugin/service/dra/dra_publisher.h"

#include "common/errors/error_id.h"
#include "common/files.h"
#include "plugin/dra/slice_devices.h"

#include <algorithm>
#include <mutex>
#include <utility>

namespace vfrail::plugin {

namespace {

// kubelet alone calls; its own folders there have the same mode.
constexpr unsigned kFolderMode = 0750;
// kubelet may start all pods of a node at once, each with a call.
constexpr int kMostCalls = 512;

// All devices, also one that is not offered now: a pod may have it. So does a claim that was allocated before
// its shared pool returned to the device plugin.
OfferedUnits find_offered(const std::vector<PublishedPool>& pools, const OfferOptions& options) {
  OfferedUnits out;
  out.options = options;
  for (const PublishedPool& pool : pools) {
    out.pools.push_back(pool);
    for (const SliceDevice& device : slice_devices(pool, options.lanes))
      out.by_name.emplace(device.name, OfferedUnit{pool, device.unit->id, device.step});
  }
  return out;
}

}  // namespace

// What gRPC's threads leave for the owner thread.
class DraPublisher::Mailbox {
 public:
  void wake_by(std::function<void()> wake) {
    const std::lock_guard lock(mutex_);
    wake_ = std::move(wake);
  }
  void put(RegistrationResult result) {
    const std::lock_guard lock(mutex_);
    results_.push_back(std::move(result));
    if (wake_) wake_();
  }
  std::vector<RegistrationResult> take() {
    const std::lock_guard lock(mutex_);
    return std::exchange(results_, {});
  }

 private:
  std::mutex mutex_;
  std::function<void()> wake_;
  std::vector<RegistrationResult> results_;
};

struct DraPublisher::Servers {
  Servers(DraSockets paths, const std::string& driver, std::shared_ptr<Mailbox> mailbox, ClaimWork& work,
          ClaimWorkers& workers, std::chrono::milliseconds patience, Log& log)
      : sockets(std::move(paths)),
        service({.driver = driver,
                 .endpoint = sockets.plugin,
                 .on_registration = [mailbox = std::move(mailbox)](
                                        RegistrationResult result) { mailbox->put(std::move(result)); },
                 .node_pool_patience = patience},
                work, workers, log),
        plugin({.path = sockets.plugin,
                .add_to = [this](grpc::ServerBuilder& builder) { service.add_plugin_to(builder); },
                .finish_streams = [this] { service.finish_streams(); },
                .max_streams = kMostCalls},
               log),
        registration(
            {.path = sockets.registration,
             .add_to = [this](grpc::ServerBuilder& builder) { service.add_registration_to(builder); }},
            log) {}

  const DraSockets sockets;
  DraService service;
  KeptEndpoint plugin;
  KeptEndpoint registration;
};

DraPublisher::DraPublisher(Options options, ApiAgent& api, Log& log)
    : options_(std::move(options)),
      log_(log),
      mailbox_(std::make_shared<Mailbox>()),
      work_({.driver = options_.driver,
             .places = options_.places,
             .node_pool = options_.node_pool,
             .chained = options_.chained,
             .counters = options_.counters},
            api, log) {}

DraPublisher::~DraPublisher() { close(std::chrono::milliseconds{0}); }

Result<> DraPublisher::start(std::function<void()> wake) {
  auto sockets = TRY(find_dra_sockets(options_.kubelet_root, options_.driver, options_.instance));
  watches_.push_back(TRY(FolderWatch::start(sockets.registration_folder)));
  watches_.push_back(TRY(FolderWatch::start(sockets.plugin_folder)));
  mailbox_->wake_by(std::move(wake));
  servers_ = std::make_unique<Servers>(std::move(sockets), options_.driver, mailbox_, work_, workers_,
                                       options_.node_pool_patience, log_);
  return {};
}

std::vector<int> DraPublisher::fds() const {
  std::vector<int> out;
  for (const FolderWatch& watch : watches_) out.push_back(watch.fd());
  return out;
}

void DraPublisher::read() {
  for (FolderWatch& watch : watches_) watch.renew();
}

bool DraPublisher::follow(const std::vector<PublishedPool>& pools, Time now) {
  auto offered = std::make_shared<const OfferedUnits>(
      find_offered(pools, {.driver = options_.driver,
                           .for_dranet = options_.for_dranet,
                           .lanes = options_.lanes,
                           .root_of_data_direct = options_.root_of_data_direct}));
  pools_ = offered->pools;
  work_.publish(offered);
  if (!std::exchange(ready_, true)) {
    rewrite_claims();
    reconcile_due_ = now;
  }
  HealthList health = make_health_list(work_.node_pool(), *offered);
  if (health == health_) return false;
  health_ = std::move(health);
  if (servers_) servers_->service.send_health();
  health_due_ = now + options_.health_interval;
  return true;
}

// kubelet asks again only after its own start: that the specs are gone it does not notice.
void DraPublisher::rewrite_claims() {
  const auto claims = list_claims(options_.places.run_dir);
  if (!claims) {
    log_.warning("the records of claims cannot be listed",
                 {{"reason", claims.error().text}, {"id", claims.error().id_text()}});
    return;
  }
  if (options_.counters != nullptr) options_.counters->claims_there(claims->size());
  for (const std::string& uid : *claims) {
    const bool put = workers_.put(uid, [this, uid](ClaimWorkers::Turn turn) {
      if (turn == ClaimWorkers::Turn::now) work_.rewrite(uid);
    });
    if (!put) return;  // the rest is verified when kubelet asks
  }
}

void DraPublisher::reconcile_claims() {
  const auto claims = list_claims(options_.places.run_dir);
  if (!claims) return;
  for (const std::string& uid : *claims) {
    const bool put = workers_.put(uid, [this, uid](ClaimWorkers::Turn turn) {
      if (turn == ClaimWorkers::Turn::now) work_.reconcile(uid);
    });
    if (!put) return;
  }
}

void DraPublisher::take_registrations(Time now) {
  for (const RegistrationResult& result : mailbox_->take()) {
    registered_ = result.registered;
    if (registered_) {
      refusal_.clear();
      servers_->plugin.settle();
      servers_->registration.settle();
      log_.info("the DRA driver is registered with kubelet", {{"driver", options_.driver}});
      continue;
    }
    if (refusal_ != result.reason)
      log_.error("kubelet did not register the DRA driver",
                 {{"driver", options_.driver}, {"reason", result.reason}, {"id", id_text(result.id)}});
    refusal_ = result.reason;
    // The plugin watcher does not ask again until it sees the socket appear again.
    servers_->registration.reopen_later(now);
  }
}

void DraPublisher::send_health_if_due(Time now) {
  if (now < health_due_) return;
  health_due_ = now + options_.health_interval;
  servers_->service.send_health();
}

// The link to vfrail-kube has woken the owner thread.
void DraPublisher::notice_node_pool() {
  if (named_ || work_.node_pool().empty()) return;
  named_ = true;
  workers_.check_waits();
}

Publisher::Time DraPublisher::run_due(Time now) {
  if (!ready_ || !servers_) return Time::max();
  notice_node_pool();
  take_registrations(now);
  // kubelet's folder can be made anew.
  if (const auto made = make_folder(servers_->sockets.plugin_folder, kFolderMode); !made)
    log_.debug("the folder of the DRA driver cannot be made", {{"reason", made.error().text}});
  Time next = Time::max();
  if (const auto later = servers_->plugin.keep_open(now)) {
    next = *later;
  } else if (const auto again = servers_->registration.keep_open(now)) {
    // Registered before it is served, kubelet's first call would fail.
    next = *again;
  }
  send_health_if_due(now);
  if (now >= reconcile_due_) {
    reconcile_due_ = now + options_.reconcile_interval;
    reconcile_claims();
  }
  return std::min({next, health_due_, reconcile_due_});
}

std::vector<ResourceStatus> DraPublisher::status() const {
  std::vector<ResourceStatus> out;
  const bool serving = servers_ && servers_->plugin.is_open() && servers_->registration.is_open();
  std::string trouble;
  if (servers_) trouble = servers_->plugin.trouble();
  if (servers_ && trouble.empty()) trouble = servers_->registration.trouble();
  if (trouble.empty()) trouble = refusal_;
  for (const PublishedPool& pool : pools_) {
    if (options_.by_claims && !options_.by_claims(pool->config)) continue;
    out.push_back(
        {.pool = pool, .serving = serving, .registered = serving && registered_, .trouble = trouble});
  }
  return out;
}

// kubelet keeps the devices of the driver for 30 s after its registration socket is gone: the next instance
// has come by then.
void DraPublisher::close(std::chrono::milliseconds patience) {
  if (servers_) servers_->registration.close(std::chrono::milliseconds{0});
  workers_.stop();
  if (servers_) servers_->plugin.close(patience);
}

}  // namespace vfrail::plugin
