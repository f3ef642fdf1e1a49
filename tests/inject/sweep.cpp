#include "tests/inject/sweep.h"

#include <csignal>
#include <iterator>
#include <memory>

namespace vfrail::test {

namespace {

// A sweep that finds more than this has found enough.
constexpr size_t kMaxComplaints = 40;
// Calls of the C library's start, before main(): thread-local storage, stack limit, relocations.
constexpr int kCallsOfStart = 13;

// What came of one call of vfrail-cni with its k-th system call hit.
struct Hit {
  bool reached = false;
  std::string call;
  Outcome outcome;
  bool by_signal() const { return outcome.status > 128; }
};

Hit run_hit(const Scene& scene, const Call& call, int k, const std::string& what,
            const std::string& injector) {
  const std::string report = scene.path("report");
  write_text(report, "");
  const auto in_turn = static_cast<size_t>(k) % errnos().size();
  Call hit = call;
  hit.prefix = {injector, std::to_string(k), what == kErrnosInTurn ? errnos()[in_turn] : what, report};
  Hit out;
  out.outcome = scene.run(hit);
  std::string line = read_text(report);
  if (!line.empty()) line.pop_back();
  if (line.empty()) throw std::runtime_error("the injector failed: " + out.outcome.err);
  if (line.starts_with("hung")) throw Lost("it hung: " + line);
  out.reached = !line.starts_with("- ");
  out.call = line;
  return out;
}

struct Continuation {
  const char* name;
  // Leaves the scene with a pod, and nothing attached.
  void (*run)(Scene& scene);
};

// What a runtime does with a pod whose ADD or DEL ended in any way but success.
void del(Scene& scene) { scene.must(scene.call("DEL")); }

// The pod is gone, and its device is given to the next one before anybody calls DEL.
void next_pod(Scene& scene) {
  scene.end_pod();
  scene.must(scene.next_call("ADD"));
  const std::string during = scene.next_pod();
  scene.must(scene.call("DEL"));
  if (scene.next_pod() != during)
    throw Lost("the late DEL of the first pod changed the second:\n" + difference(during, scene.next_pod()));
  scene.must(scene.next_call("DEL"));
  scene.begin_pod();
}

// The pod is gone, and the runtime does not call DEL.
void sweep_alone(Scene& scene) {
  scene.end_pod();
  scene.must(scene.sweep_call());
  scene.begin_pod();
}

constexpr Continuation kContinuations[] = {
    {"DEL", del}, {"ADD of the next pod", next_pod}, {"vfrail-cni sweep", sweep_alone}};

void continue_after_kill(const std::string& name, int k, Scene& scene) {
  if (name == kEachInTurn)
    return kContinuations[static_cast<size_t>(k) % std::size(kContinuations)].run(scene);
  for (const Continuation& one : kContinuations) {
    if (name == one.name) return one.run(scene);
  }
  throw std::runtime_error("no continuation " + name);
}

bool gives_back(const std::string& verb) { return verb == "DEL" || verb == "GC of all"; }
bool harmless(const std::string& verb) { return verb != "ADD" && !gives_back(verb); }

// Checks common to every fault: an error is an exit status.
void check_ending(const Hit& hit, int k, Tally& tally) {
  if (!hit.by_signal()) return;
  if (k > kCallsOfStart) throw Lost("ended by signal " + std::to_string(hit.outcome.status - 128));
  ++tally.died_in_start;
}

void check_fault_in_add(const Hit& hit, Scene& scene, Tally& tally) {
  if (hit.outcome.status == 0) {
    scene.require_attached(Scene::PodFiles::may_lack);
    scene.require_corrected_spec();
    if (hit.outcome.out != scene.result())
      throw Lost("ADD said success with another result: " + hit.outcome.out);
  } else if (scene.everything() != scene.before()) {
    ++tally.left_to_del[hit.call];
  }
  del(scene);
}

// One trial: prepare, inject, check, and the scene is as before, or it throws. False when the verb has no
// k-th call.
bool try_point(const Sweep& sweep, int k, const std::string& injector, Scene& scene, Tally& tally,
               std::string& where) {
  scene.allocate_by_cdi();
  if (gives_back(sweep.verb)) scene.must(scene.call("ADD"));
  const Hit hit = run_hit(scene, scene.call(sweep.verb), k, sweep.what, injector);
  where =
      hit.call + ", status " + std::to_string(hit.outcome.status) + " " + hit.outcome.out + hit.outcome.err;
  if (!hit.reached && hit.outcome.status != 0) throw Lost("it failed without a fault");
  if (!hit.reached) {
    del(scene);
  } else if (sweep.kills()) {
    if (hit.outcome.status != 128 + SIGKILL) throw Lost("the kill did not kill");
    continue_after_kill(sweep.then, k, scene);
  } else {
    check_ending(hit, k, tally);
    if (sweep.verb == "ADD") {
      check_fault_in_add(hit, scene, tally);
    } else if (hit.outcome.status != 0) {
      del(scene);  // after an error the runtime asks again; success must be true at once
    }
  }
  const bool fault = hit.reached && !sweep.kills();
  scene.require_before(fault ? Scene::PodFiles::may_lack : Scene::PodFiles::whole);
  return hit.reached;
}

// A verb that changes nothing, on an attachment that has to outlive all that is done to it.
bool try_harmless_point(const Sweep& sweep, int k, const std::string& injector, Scene& scene, Tally& tally,
                        std::string& where) {
  const Hit hit = run_hit(scene, scene.call(sweep.verb), k, sweep.what, injector);
  where =
      hit.call + ", status " + std::to_string(hit.outcome.status) + " " + hit.outcome.out + hit.outcome.err;
  if (!hit.reached && hit.outcome.status != 0) throw Lost("it failed without a fault");
  if (hit.reached && !sweep.kills()) check_ending(hit, k, tally);
  scene.require_attached();
  return hit.reached;
}

}  // namespace

const std::vector<std::string>& errnos() {
  static const std::vector<std::string> all{"EIO", "ENOSPC", "EBUSY", "ENOMEM", "EINTR"};
  return all;
}

std::vector<std::string> continuations_of(const std::string& verb) {
  if (harmless(verb)) return {""};
  std::vector<std::string> out;
  for (const Continuation& one : kContinuations) out.emplace_back(one.name);
  return out;
}

std::string Sweep::text() const {
  return verb + (setting.ipam ? " with IPAM, " : ", ") + what + (then.empty() ? "" : ", then " + then) +
         (step == 1 ? "" : ", at each call whose number is 1 modulo " + std::to_string(step));
}

Tally run_sweep(const Sweep& sweep, const std::string& injector) {
  Tally tally;
  std::unique_ptr<Scene> scene;
  std::string by_ip;
  for (int k = 1;; k += sweep.step) {
    std::string where;
    try {
      if (!scene) {
        scene = std::make_unique<Scene>(sweep.setting);
        by_ip = scene->by_ip();
        if (harmless(sweep.verb)) scene->must(scene->call("ADD"));
      }
      const auto trial = harmless(sweep.verb) ? try_harmless_point : try_point;
      if (!trial(sweep, k, injector, *scene, tally, where)) break;
    } catch (const std::exception& error) {
      tally.complaints.push_back("call " + std::to_string(k) + " (" + where + "): " + error.what());
      if (tally.complaints.size() > kMaxComplaints) return tally;
      scene.reset();  // what is left of it is of no use to the next trial
    }
    ++tally.points;
  }
  try {
    if (harmless(sweep.verb)) del(*scene);
    scene->require_before();
    if (scene->by_ip() != by_ip) throw Lost("ip sees a difference:\n" + difference(by_ip, scene->by_ip()));
  } catch (const std::exception& error) {
    tally.complaints.push_back(std::string("at the end: ") + error.what());
  }
  return tally;
}

}  // namespace vfrail::test
