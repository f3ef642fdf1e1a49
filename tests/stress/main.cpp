// stress: a crowd on one node for a bounded time, and whether all is as before. Needs root.
//
//   stress [--devices N] [--workers N] [--seconds N] [--seed N] [--device ADDRESS]...
//
// --device: on this node, which must be a throw-away one, with these VFs, and not on N made-up devices. The
// seed decides what each worker does, not when.
#include "tests/netns/snapshot.h"
#include "tests/stress/crowd.h"

#include <cstdio>
#include <cstdlib>
#include <optional>
#include <thread>
#include <unistd.h>

namespace {

using namespace vfrail::test;
using std::chrono::seconds;

// vfrail-cni waits 30 s for a lock and 5 s for a device; what takes longer waits for what never comes.
constexpr seconds kLimit{60};

struct Options {
  size_t devices = 64;
  size_t workers = 64;
  seconds time{20};
  uint64_t seed = 1;
  std::vector<std::string> real;
};

// Nothing if it cannot be understood.
std::optional<Options> read_options(int count, char** arguments) {
  Options out;
  for (int i = 1; i < count; i += 2) {
    const std::string word = arguments[i];
    const char* value = i + 1 < count ? arguments[i + 1] : "";
    const uint64_t number = std::strtoull(value, nullptr, 10);
    if (word == "--device") {
      out.real.emplace_back(value);
    } else if (word == "--seed") {
      out.seed = number;
    } else if (word == "--devices" && number > 0 && number <= Site::kMostMadeUp) {
      out.devices = number;
    } else if (word == "--workers" && number > 0) {
      out.workers = number;
    } else if (word == "--seconds" && number > 0) {
      out.time = seconds(number);
    } else {
      return std::nullopt;
    }
  }
  return out;
}

// What hangs cannot be joined: the process ends without it.
void watch(const std::stop_token& stop, const Tally& tally) {
  while (!stop.stop_requested()) {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    const std::string hung = tally.longer_than(kLimit);
    if (hung.empty()) continue;
    std::printf("FAIL stress: for more than %d s: %s\n", static_cast<int>(kLimit.count()), hung.c_str());
    std::fflush(stdout);
    std::_Exit(1);
  }
}

void run_crowd(Crowd& crowd, const Options& options) {
  std::atomic<bool> stop{false};
  std::vector<std::jthread> workers;
  for (size_t i = 0; i < options.workers; ++i)
    workers.emplace_back([&, i] { crowd.work(i, options.seed, stop); });
  const auto end = std::chrono::steady_clock::now() + options.time;
  while (std::chrono::steady_clock::now() < end && crowd.tally().all_well())
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  stop = true;
}

void expect_same(const std::string& what, const std::string& before, const std::string& after, Tally& tally) {
  if (after != before) tally.complain(what + " is not as it was:\n" + difference(before, after));
}

// The first line says what went wrong first; what comes after it may be its consequence.
int report(const Options& options, size_t devices, const Tally& tally) {
  for (const std::string& complaint : tally.complaints()) std::printf("FAIL %s\n", complaint.c_str());
  std::printf("stress: %zu workers, %zu devices, %d s, seed %llu: %s; %s\n", options.workers, devices,
              static_cast<int>(options.time.count()), static_cast<unsigned long long>(options.seed),
              tally.text().c_str(), tally.all_well() ? "nothing lost" : "NOT ALL WELL");
  return tally.all_well() ? 0 : 1;
}

}  // namespace

int main(int count, char** arguments) {
  const auto read = read_options(count, arguments);
  if (!read) {
    std::fputs("usage: stress [--devices N] [--workers N] [--seconds N] [--seed N] [--device ADDRESS]...\n",
               stderr);
    return 2;
  }
  const Options& options = *read;
  if (::geteuid() != 0) {
    std::fputs("stress: network namespaces need root\n", stderr);
    return 1;
  }
  try {
    Site site(options.real, options.devices);
    const std::string before = site.state();
    const std::string files = site.files();
    Crowd crowd(site, options.workers);
    const std::jthread watcher([&](const std::stop_token& stop) { watch(stop, crowd.tally()); });
    run_crowd(crowd, options);
    if (crowd.tally().all_well()) {
      crowd.clear();
      expect_same("the node", before, site.state(), crowd.tally());
      const Outcome swept = site.sweep();
      std::printf("after it, vfrail-cni sweep: %s", swept.out.c_str());
      if (swept.status != 0) crowd.tally().complain("the sweep fails: " + swept.out + swept.err);
      expect_same("what files there are after a sweep", files, site.files(), crowd.tally());
      expect_same("the node after a sweep", before, site.state(), crowd.tally());
    }
    return report(options, site.devices(), crowd.tally());
  } catch (const std::exception& error) {
    std::printf("FAIL stress: %s\n", error.what());
    return 1;
  }
}
