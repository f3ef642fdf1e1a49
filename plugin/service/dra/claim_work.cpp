#include "plugin/service/dra/claim_work.h"

#include "common/errors/error_id.h"
#include "common/files.h"
#include "plugin/device/allocate/prepared_record.h"
#include "plugin/dra/claim.h"

#include <chrono>
#include <thread>
#include <utility>

namespace vfrail::plugin {

namespace {

// kubelet waits 45 s for a call.
constexpr std::chrono::seconds kLockTimeout{20};

// A device that another pod had until now: the kernel makes its RDMA nodes within a moment. kubelet would ask
// again only seconds later, and this thread is one of several.
constexpr std::chrono::milliseconds kReturnStep{100};
constexpr int kReturnSteps = 20;

std::string joined_devices(const std::vector<PreparedDevice>& devices) {
  std::string out;
  for (const PreparedDevice& device : devices) out += (out.empty() ? "" : ",") + device.device;
  return out;
}

}  // namespace

ClaimWork::ClaimWork(Options options, ApiAgent& api, Log& log)
    : options_(std::move(options)), api_(api), log_(log) {}

void ClaimWork::publish(std::shared_ptr<const OfferedUnits> offered) {
  const std::lock_guard lock(mutex_);
  offered_ = std::move(offered);
}

std::shared_ptr<const OfferedUnits> ClaimWork::offered() const {
  const std::lock_guard lock(mutex_);
  return offered_;
}

// In a rolling update kubelet may ask the one instance while the other is still at work.
Result<FileLock> ClaimWork::lock(const std::string& uid) const {
  const std::string folder = options_.places.run_dir + "/claims";
  TRY(make_folder(folder, 0700));
  return FileLock::acquire(folder + "/" + uid + ".lock", kLockTimeout, {.text = "claim " + uid});
}

// What is wrong with the claim itself needs no patience.
bool ClaimWork::needs_node_pool(const ClaimName& name) const {
  if (!node_pool().empty() || !check_owner_name(name.uid)) return false;
  const auto known = find_prepared_claim(name.uid, options_.places);
  return known && !*known;
}

Result<std::vector<PreparedDevice>> ClaimWork::prepare(const ClaimName& name) {
  const auto began = Counters::start();
  auto out = with_id(ErrorId::claim_refused, answer(name));
  if (options_.counters != nullptr) {
    options_.counters->claim_prepared(out ? "" : out.error().id_text(), began);
    count_claims();
  }
  if (!out) {
    log_.error("claim is not prepared", {{"claim", name.text()},
                                         {"uid", name.uid},
                                         {"reason", out.error().text},
                                         {"id", out.error().id_text()}});
    return out;
  }
  log_.info("claim is prepared",
            {{"claim", name.text()}, {"uid", name.uid}, {"devices", joined_devices(*out)}});
  return out;
}

Result<std::vector<PreparedDevice>> ClaimWork::answer(const ClaimName& name) {
  TRY(check_owner_name(name.uid));
  const FileLock held = TRY(lock(name.uid), "wait for claim " + name.text());
  if (const auto known = TRY(find_prepared_claim(name.uid, options_.places)))
    return prepare_again(*known, *offered(), options_.places);
  return prepare_new(name);
}

Result<std::vector<PreparedDevice>> ClaimWork::prepare_new(const ClaimName& name) {
  const std::string node_pool = options_.node_pool();
  if (node_pool.empty())
    return Error{Errc::not_yet, 0,
                 "claim " + name.text() +
                     ": the name of this node's pool is not known yet, because vfrail-kube node has not "
                     "answered; its log says why"};
  const auto json = TRY(api_.claim(name), "ask the API server for claim " + name.text());
  if (!json)
    return Error{Errc::not_found, 0,
                 "claim " + name.text() + " with uid " + name.uid +
                     " is not there any more: the API server has none, or another one of that name"};
  const Claim claim = TRY(read_claim(
      *json, name, {.driver = options_.driver, .node_pool = node_pool, .chained = options_.chained}));
  // The device of a claim that kubelet has forgotten would be of no use until the next boot.
  if (const auto rival = TRY(find_rival(claim, options_.places))) {
    const FileLock theirs = TRY(lock(rival->claim.uid), "wait for " + rival->text());
    TRY(remove_if_gone(*rival));
  }
  for (int step = 0;; ++step) {
    auto out = prepare_claim(claim, *offered(), options_.places);
    if (out || out.error().code != Errc::not_yet || step == kReturnSteps) return out;
    std::this_thread::sleep_for(kReturnStep);
  }
}

// True: nothing of it is left.
Result<bool> ClaimWork::remove_if_gone(const ClaimRecord& record) {
  const auto json = TRY(api_.claim(record.claim), "ask the API server for " + record.text());
  if (json) return false;
  TRY(unprepare_claim(record.claim.uid, options_.places));
  log_.info("a claim is unprepared that the API server has no more and kubelet has not unprepared",
            {{"claim", record.claim.text()}, {"uid", record.claim.uid}, {"pod", record.pod.name}});
  return true;
}

Result<> ClaimWork::unprepare(const ClaimName& name) {
  const auto undo = [&]() -> Result<> {
    TRY(check_owner_name(name.uid));
    const FileLock held = TRY(lock(name.uid), "wait for claim " + name.text());
    return unprepare_claim(name.uid, options_.places);
  };
  const auto began = Counters::start();
  Result<> out = with_id(ErrorId::claim_refused, undo());
  if (options_.counters != nullptr) {
    options_.counters->claim_unprepared(out ? "" : out.error().id_text(), began);
    count_claims();
  }
  if (!out) {
    out = std::move(out.error()).in("unprepare claim " + name.text());
    log_.error("claim is not unprepared", {{"claim", name.text()},
                                           {"uid", name.uid},
                                           {"reason", out.error().text},
                                           {"id", out.error().id_text()}});
    return out;
  }
  log_.info("claim is unprepared", {{"claim", name.text()}, {"uid", name.uid}});
  return out;
}

// A prepare that failed may have left a record; so may another instance have done.
void ClaimWork::count_claims() const {
  const auto claims = list_claims(options_.places.run_dir);
  if (options_.counters != nullptr && claims) options_.counters->claims_there(claims->size());
}

void ClaimWork::rewrite(const std::string& uid) {
  const auto again = [&]() -> Result<> {
    const FileLock held = TRY(lock(uid));
    const auto known = TRY(find_prepared_claim(uid, options_.places));
    count_claims();
    if (known) TRY(prepare_again(*known, *offered(), options_.places));
    return {};
  };
  if (const auto done = again(); !done)
    log_.warning("what is prepared for a claim cannot be verified",
                 {{"uid", uid}, {"reason", done.error().text}, {"id", done.error().id_text()}});
}

void ClaimWork::reconcile(const std::string& uid) {
  const auto look = [&]() -> Result<> {
    const FileLock held = TRY(lock(uid));
    const auto record = TRY(read_claim_record(options_.places.run_dir, uid));
    if (record && TRY(remove_if_gone(*record))) count_claims();
    return {};
  };
  if (const auto done = look(); !done)
    log_.debug("whether a claim is still there is not known", {{"uid", uid}, {"reason", done.error().text}});
}

}  // namespace vfrail::plugin
