// Crowd: workers that at random attach, check and detach devices, kill vfrail-cni at it, end pods, and fight
// for the same devices on purpose; and checks each result.
//
// It keeps to what the specification demands of a runtime, and to nothing more: one call at a time for a
// container, GC alone. (Of the names that attachments have, and of the paths of pods, many are used again.)
#pragma once

#include "tests/stress/ledger.h"
#include "tests/stress/site.h"
#include "tests/stress/tally.h"

#include <atomic>
#include <memory>
#include <mutex>
#include <random>
#include <set>
#include <shared_mutex>
#include <string>
#include <vector>

namespace vfrail::test {

// All random choices of a worker in one step, drawn before it reads anything: a seed makes the same steps.
struct Choice {
  enum class Step : unsigned char { add, check, del, late_del, renew_pod, gc };
  Step step = Step::add;
  size_t pod = 0;
  size_t name = 0;
  size_t device = 0;
  uint64_t dice = 0;  // for what is not always there to choose from
  bool kill = false;  // after `when` (0 to 1.25) times the time that it usually takes
  double when = 0;
  bool twist = false;     // the other way to do the step: without a namespace, with the own device, ...
  bool settings = false;  // an MTU and a MAC address of its own
};

class Crowd {
 public:
  Crowd(Site& site, size_t pods);

  // Steps of one worker until `stop`, or until something is wrong.
  void work(size_t worker, uint64_t seed, const std::atomic<bool>& stop);
  // After all work: every attachment is deleted, every pod ended.
  void clear();
  Tally& tally() { return tally_; }

 private:
  struct Attachment {
    enum class State : unsigned char { none, attached, unsure };
    std::string container;
    std::string netns;
    std::string ifname;
    State state = State::none;
    size_t device = 0;         // that it has when it is attached
    std::set<size_t> devices;  // with which its name was used since the last DEL
    Json config;               // of its ADD
    Json result;
    std::string name() const { return container + ":" + ifname; }
  };
  struct Pod {
    std::mutex busy;
    std::string path;
    std::vector<Attachment> attachments;
  };
  struct Done {
    Outcome outcome;
    bool killed = false;
    bool ok() const { return outcome.status == 0; }
  };

  Choice draw(std::mt19937_64& random) const;
  void step(size_t worker, const Choice& choice);
  void add(size_t worker, const Choice& choice);
  void check(size_t worker, const Choice& choice);
  void del(size_t worker, const Choice& choice);
  void late_del(size_t worker, const Choice& choice);
  void renew_pod(const Choice& choice);
  void gc(size_t worker, const Choice& choice);

  void fill(Pod& pod, size_t number);
  void check_added(Attachment& one, size_t device, const Json& config, const Outcome& outcome,
                   const Ledger::Attempt& attempt);
  void check_refused(const Attachment& one, size_t device, const Outcome& outcome, Held held);
  void detach(size_t worker, Attachment& one, const Choice& choice);
  void check_detached(Attachment& one, const std::vector<Ledger::Attempt>& attempts);
  void doubt(Attachment& one);
  Json leave_some_out(uint64_t dice);
  void audit();
  Call call(const std::string& verb, const Attachment& one, size_t device, Json config) const;
  Done run(size_t worker, const Call& call, const Choice& choice, const std::string& kind);

  Site& site_;
  Ledger ledger_;
  Tally tally_;
  std::vector<std::unique_ptr<Pod>> pods_;
  std::atomic<size_t> containers_{0};
  std::mutex late_mutex_;
  std::vector<Attachment> late_;  // of ended pods: nobody has asked for their DEL yet, or has in vain
  std::mutex gate_;               // whoever waits for `gc_` lets nobody else in
  std::shared_mutex gc_;
};

}  // namespace vfrail::test
