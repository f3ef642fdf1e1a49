#include "plugin/provision/run.h"

#include "plugin/provision/pf_run.h"

#include <algorithm>
#include <atomic>
#include <map>
#include <thread>

namespace vfrail::plugin {

namespace {

// Cards at once. Each also has its VFs bound by some threads; a node has some eight cards.
constexpr size_t kMostWorkers = 8;

}  // namespace

std::vector<PfResult> provision_run(const ProvisionPlan& plan, const ProvisionWorld& world) {
  std::map<std::string, std::vector<size_t>> cards;
  for (size_t i = 0; i < plan.pfs.size(); ++i) cards[card_of(plan.pfs[i].pf)].push_back(i);
  std::vector<std::vector<size_t>> queue;
  for (auto& [card, pfs] : cards) queue.push_back(std::move(pfs));
  std::vector<PfResult> out(plan.pfs.size());
  std::atomic<size_t> next{0};
  const auto work = [&] {
    for (size_t card = next++; card < queue.size(); card = next++) {
      for (const size_t i : queue[card]) out[i] = PfRun(plan.pfs[i], world).run();
    }
  };
  std::vector<std::thread> workers;
  for (size_t i = 1; i < std::min(queue.size(), kMostWorkers); ++i) workers.emplace_back(work);
  work();
  for (std::thread& worker : workers) worker.join();
  return out;
}

}  // namespace vfrail::plugin
