#include "plugin/provision/run.h"

#include "common/errors/error_id.h"
#include "plugin/provision/pf_run.h"

#include <algorithm>
#include <atomic>
#include <map>
#include <thread>

namespace vfrail::plugin {

namespace {

// Cards at once. Each also has its VFs bound by some threads; a node has some eight cards.
constexpr size_t kMostWorkers = 8;

// What serve knows already is not written, because it would read its devices again.
Result<> save(const ProgressRecords& records, const PciAddress& pf, Progress progress) {
  const auto before = TRY(records.load(pf));
  progress.at = before ? before->at : progress.at;
  if (before == progress && !progress.withheld_until()) return {};
  progress.at = boot_time();
  return records.save(pf, progress);
}

PfResult run_pf(const PfPlan& plan, const ProvisionWorld& world) {
  PfResult out{.pf = plan.pf, .done = {}, .failures = {}};
  const bool writes = std::any_of(plan.steps.begin(), plan.steps.end(), is_write);
  auto saved =
      writes ? save(world.progress, plan.pf, {ProgressState::running, plan.entry, "", {}}) : Result<>();
  if (saved) {
    out = PfRun(plan, world).run();
    saved = save(world.progress, plan.pf, progress_of(plan, out, world.drains));
  }
  // Not without it: serve would allocate VFs that have no addresses yet.
  if (!saved) out.failures.push_back(std::move(saved.error()).with_id(ErrorId::provision_failed));
  return out;
}

ProgressState state_of(const Obstacle& obstacle, bool drains) {
  switch (obstacle.outcome) {
    case PfOutcome::needs_reboot:
      return ProgressState::needs_reboot;
    case PfOutcome::refused:
      return drains && obstacle.drains ? ProgressState::draining : ProgressState::refused;
    case PfOutcome::failed:
      return ProgressState::failed;
    default:
      return ProgressState::done;
  }
}

}  // namespace

Progress progress_of(const PfPlan& plan, const PfResult& result, bool drains) {
  if (!result.failures.empty()) return {ProgressState::failed, plan.entry, result.failures.front().text, {}};
  // Obstacles of one PF are of one kind, but for an MTU that stays.
  Progress out{ProgressState::done, plan.entry, "", {}};
  for (const Obstacle& one : plan.obstacles) {
    const ProgressState state = state_of(one, drains);
    if (out.state == ProgressState::done || state == ProgressState::draining)
      out = {state, plan.entry, one.text, {}};
  }
  return out;
}

std::vector<PfResult> provision_run(const ProvisionPlan& plan, const ProvisionWorld& world) {
  std::map<std::string, std::vector<size_t>> cards;
  for (size_t i = 0; i < plan.pfs.size(); ++i) cards[card_of(plan.pfs[i].pf)].push_back(i);
  std::vector<std::vector<size_t>> queue;
  for (auto& [card, pfs] : cards) queue.push_back(std::move(pfs));
  std::vector<PfResult> out(plan.pfs.size());
  std::atomic<size_t> next{0};
  const auto work = [&] {
    for (size_t card = next++; card < queue.size(); card = next++) {
      for (const size_t i : queue[card]) out[i] = run_pf(plan.pfs[i], world);
    }
  };
  std::vector<std::thread> workers;
  for (size_t i = 1; i < std::min(queue.size(), kMostWorkers); ++i) workers.emplace_back(work);
  work();
  for (std::thread& worker : workers) worker.join();
  return out;
}

}  // namespace vfrail::plugin
