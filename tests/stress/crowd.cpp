#include "tests/stress/crowd.h"

#include "common/errors/error_id.h"
#include "tests/netns/snapshot.h"

#include <algorithm>
#include <csignal>
#include <thread>

namespace vfrail::test {

namespace {

using Step = Choice::Step;

constexpr int kBusy = 11;
constexpr int kExists = 101;
constexpr const char* kNames[] = {"net1", "net2"};
constexpr int kLastTries = 10;

bool has_id(const Outcome& outcome, ErrorId id) {
  return outcome.out.find("vfrail explain " + id_text(id)) != std::string::npos;
}

// What the kernel has not yet returned, a runtime asks for again.
bool is_on_its_way(const Outcome& outcome) { return has_id(outcome, ErrorId::device_not_returned); }

// By design: a move gives the RDMA device the lowest free number, which is not that of before if a lower one
// has become free, and no container may be given another's.
bool is_renumbered(const Outcome& outcome) {
  return code_of(outcome) == kBusy && has_id(outcome, ErrorId::rdma_nodes_changed);
}

std::string words(const Outcome& outcome) {
  return "status " + std::to_string(outcome.status) + " " + outcome.out + outcome.err;
}

void require(bool holds, const std::string& what) {
  if (!holds) throw Lost(what);
}

}  // namespace

Crowd::Crowd(Site& site, size_t pods) : site_(site), ledger_(site.devices()) {
  for (size_t i = 0; i < pods; ++i) {
    pods_.push_back(std::make_unique<Pod>());
    fill(*pods_.back(), i);
  }
}

// A new pod at an old path, as runtimes that name namespaces by the pod do.
void Crowd::fill(Pod& pod, size_t number) {
  pod.path = site_.begin_pod("p" + std::to_string(number));
  const std::string container = "c" + std::to_string(containers_++);
  pod.attachments.clear();
  for (const char* ifname : kNames) {
    Attachment one;
    one.container = container;
    one.netns = pod.path;
    one.ifname = ifname;
    pod.attachments.push_back(std::move(one));
  }
}

void Crowd::work(size_t worker, uint64_t seed, const std::atomic<bool>& stop) {
  std::seed_seq numbers{seed, uint64_t{worker}};
  std::mt19937_64 random(numbers);
  while (!stop && tally_.all_well()) {
    const Choice choice = draw(random);
    try {
      step(worker, choice);
    } catch (const std::exception& error) {
      tally_.complain(error.what());
    }
  }
}

Choice Crowd::draw(std::mt19937_64& random) const {
  const auto below = [&](size_t n) { return static_cast<size_t>(random() % n); };
  Choice out;
  const size_t percent = below(100);
  out.step = percent < 44   ? Step::add
             : percent < 62 ? Step::check
             : percent < 86 ? Step::del
             : percent < 95 ? Step::late_del
             : percent < 99 ? Step::renew_pod
                            : Step::gc;
  out.pod = below(pods_.size());
  out.name = below(std::size(kNames));
  // Half of them want one of the same few.
  const size_t few = (site_.devices() + 3) / 4;
  out.device = below(below(2) == 0 ? few : site_.devices());
  out.dice = random();
  out.kill = below(6) == 0;
  out.when = static_cast<double>(below(1000)) / 800;
  out.twist = below(3) == 0;
  out.settings = below(2) == 0;
  return out;
}

void Crowd::step(size_t worker, const Choice& choice) {
  if (choice.step == Step::gc) return gc(worker, choice);
  std::unique_lock gate(gate_);
  const std::shared_lock no_gc(gc_);
  gate.unlock();
  switch (choice.step) {
    case Step::add:
      return add(worker, choice);
    case Step::check:
      return check(worker, choice);
    case Step::del:
      return del(worker, choice);
    case Step::late_del:
      return late_del(worker, choice);
    case Step::renew_pod:
      return renew_pod(choice);
    case Step::gc:
      return;
  }
}

Call Crowd::call(const std::string& verb, const Attachment& one, size_t device, Json config) const {
  Call out;
  out.verb = verb;
  out.container = one.container;
  out.netns = one.netns;
  out.ifname = one.ifname;
  out.config = config.is_null() ? site_.config(verb) : std::move(config);
  out.config.set("deviceID", site_.address(device));
  return out;
}

Crowd::Done Crowd::run(size_t worker, const Call& call, const Choice& choice, const std::string& kind) {
  tally_.begin(
      worker, kind,
      call.verb + " of " + call.container + ":" + call.ifname + ", " + call.config.find("deviceID")->text());
  Program program = site_.start(call);
  if (choice.kill) {
    std::this_thread::sleep_for(tally_.usual(kind) * choice.when);
    ::kill(program.pid(), SIGKILL);
  }
  Done out;
  out.outcome = program.wait();
  tally_.end(worker);
  out.killed = choice.kill && out.outcome.status == 128 + SIGKILL;
  if (out.killed) tally_.count("killed");
  // Neither a signal nor a sanitizer prints an error as CNI has it.
  require(out.killed || out.ok() || code_of(out.outcome) > 0,
          call.verb + " of " + call.container + " ended without an answer: " + words(out.outcome));
  return out;
}

void Crowd::doubt(Attachment& one) {
  one.state = Attachment::State::unsure;
  for (const size_t device : one.devices) ledger_.doubt(device, one.name());
}

void Crowd::add(size_t worker, const Choice& choice) {
  Pod& pod = *pods_[choice.pod];
  const std::lock_guard one_at_a_time(pod.busy);
  Attachment& one = pod.attachments[choice.name];
  const bool attached = one.state == Attachment::State::attached;
  const size_t device = attached && choice.twist ? one.device : choice.device;
  Json config = site_.config("ADD");
  if (choice.settings) {
    const std::string last = std::to_string(10 + choice.dice % 90);
    config.set("mtu", 1300).set("mac", "02:00:00:00:0" + std::to_string(choice.name) + ":" + last);
  }
  const Ledger::Attempt attempt = ledger_.begin(device, one.name());
  const Done done = run(worker, call("ADD", one, device, config), choice, "ADD");
  if (done.ok()) return check_added(one, device, config, done.outcome, attempt);
  // An attachment that lives is not touched by an ADD of its name, however that ends.
  if (!attached && (done.killed || one.state == Attachment::State::unsure)) {
    one.devices.insert(device);
    doubt(one);
  }
  const Held held = ledger_.end(attempt);
  if (!done.killed) check_refused(one, device, done.outcome, held);
}

void Crowd::check_added(Attachment& one, size_t device, const Json& config, const Outcome& outcome,
                        const Ledger::Attempt& attempt) {
  require(one.state != Attachment::State::attached, "a second ADD of " + one.name() + " said success");
  ledger_.take(device, one.name());
  ledger_.end(attempt);
  one.result = json_of(outcome);
  const std::string flaws = site_.flaws(device, one.netns, one.ifname, one.result);
  require(flaws.empty(), "ADD of " + one.name() + ", " + site_.address(device) + " said success: " + flaws);
  // What was left of an earlier one by that name has been undone.
  for (const size_t earlier : one.devices) ledger_.forget(earlier, one.name());
  one.devices = {device};
  one.device = device;
  one.config = config;
  one.state = Attachment::State::attached;
}

void Crowd::check_refused(const Attachment& one, size_t device, const Outcome& outcome, Held held) {
  const int code = code_of(outcome);
  const std::string what =
      "ADD of " + one.name() + ", " + site_.address(device) + " was refused: " + words(outcome);
  if (one.state == Attachment::State::unsure) return tally_.count("refused in doubt");
  if (one.state == Attachment::State::attached) {
    require(code == kExists, "not by code 101, though it is attached: " + what);
    return tally_.count("refused as attached");
  }
  require(code == kBusy, "not by code 11: " + what);
  require(!std::ranges::binary_search(site_.records(), one.name()), "it left its record: " + what);
  if (is_renumbered(outcome)) return tally_.count("refused as renumbered");
  require(held != Held::free, "though nobody had the device: " + what);
  tally_.count("refused as busy");
}

void Crowd::check(size_t worker, const Choice& choice) {
  Pod& pod = *pods_[choice.pod];
  const std::lock_guard one_at_a_time(pod.busy);
  const Attachment& one = pod.attachments[choice.name];
  const bool attached = one.state == Attachment::State::attached;
  const size_t device = attached ? one.device : choice.device;
  Call asked = call("CHECK", one, device, one.config);
  asked.config.set("prevResult", attached ? one.result : *Json::parse(R"({"cniVersion": "1.0.0"})"));
  const Done done = run(worker, asked, choice, "CHECK");
  if (done.killed || one.state == Attachment::State::unsure) return;
  require(!attached || done.ok(),
          "CHECK of " + one.name() + ", " + site_.address(device) + ", which lives: " + words(done.outcome));
  require(attached || !done.ok(), "CHECK of " + one.name() + ", which is not there, said success");
  if (!attached) tally_.count("refused as not there");
}

void Crowd::del(size_t worker, const Choice& choice) {
  Pod& pod = *pods_[choice.pod];
  const std::lock_guard one_at_a_time(pod.busy);
  detach(worker, pod.attachments[choice.name], choice);
}

// Also of what is not attached: that must change nothing.
void Crowd::detach(size_t worker, Attachment& one, const Choice& choice) {
  if (one.state == Attachment::State::none) one.devices = {choice.device};
  const bool attached = one.state == Attachment::State::attached;
  Call asked = call("DEL", one, attached ? one.device : *one.devices.begin(), one.config);
  if (choice.twist) asked.netns.clear();
  if (one.state != Attachment::State::none) doubt(one);
  std::vector<Ledger::Attempt> attempts;
  for (const size_t each : one.devices) attempts.push_back(ledger_.begin(each, one.name()));
  const Done done = run(worker, asked, choice, choice.step == Step::late_del ? "late DEL" : "DEL");
  if (done.ok()) return check_detached(one, attempts);
  doubt(one);
  for (const Ledger::Attempt& attempt : attempts) ledger_.end(attempt);
  if (done.killed) return;
  require(is_on_its_way(done.outcome), "DEL of " + one.name() + " failed: " + words(done.outcome));
  tally_.count("DEL too early");
}

void Crowd::check_detached(Attachment& one, const std::vector<Ledger::Attempt>& attempts) {
  require(!std::ranges::binary_search(site_.records(), one.name()),
          "DEL of " + one.name() + " left its record");
  for (const Ledger::Attempt& attempt : attempts) {
    const bool in_host = site_.is_in_host(attempt.device);  // while this still counts as its time
    const Held held = ledger_.end(attempt);
    require(in_host || held != Held::free, "DEL of " + one.name() + " said success, but " +
                                               site_.address(attempt.device) + " is not in the host");
    ledger_.forget(attempt.device, one.name());
  }
  one.devices.clear();
  one.state = Attachment::State::none;
}

void Crowd::late_del(size_t worker, const Choice& choice) {
  Attachment one;
  {
    const std::lock_guard guard(late_mutex_);
    if (late_.empty()) return;
    std::swap(late_[choice.dice % late_.size()], late_.back());
    one = std::move(late_.back());
    late_.pop_back();
  }
  detach(worker, one, choice);
  // Some of them are asked for once more.
  const bool again = one.state != Attachment::State::none || choice.settings;
  const std::lock_guard guard(late_mutex_);
  if (again) late_.push_back(std::move(one));
}

void Crowd::renew_pod(const Choice& choice) {
  Pod& pod = *pods_[choice.pod];
  const std::lock_guard one_at_a_time(pod.busy);
  for (Attachment& one : pod.attachments) {
    if (one.state == Attachment::State::none) continue;
    doubt(one);
    const std::lock_guard guard(late_mutex_);
    late_.push_back(one);
  }
  site_.end_pod(pod.path);
  fill(pod, choice.pod);
  tally_.count("pods renewed");
}

void Crowd::gc(size_t worker, const Choice& choice) {
  const std::lock_guard gate(gate_);
  const std::lock_guard alone(gc_);
  Attachment nobody;
  nobody.container = "any";
  nobody.ifname = kNames[0];
  Call asked = call("GC", nobody, choice.device, {});
  asked.config.set("cni.dev/valid-attachments", leave_some_out(choice.dice));
  const Done done = run(worker, asked, choice, "GC");
  if (done.killed) return;
  if (done.ok()) return audit();
  require(is_on_its_way(done.outcome), "GC failed: " + words(done.outcome));
  tally_.count("GC too early");
}

// One attachment in eight is not valid any more.
Json Crowd::leave_some_out(uint64_t dice) {
  std::mt19937_64 random(dice);
  Json valid = Json::array();
  for (const auto& pod : pods_) {
    for (Attachment& one : pod->attachments) {
      if (one.state != Attachment::State::attached) continue;
      if (random() % 8 == 0) {
        doubt(one);
        continue;
      }
      Json name;
      name.set("containerID", one.container).set("ifname", one.ifname);
      valid.push(std::move(name));
    }
  }
  return valid;
}

// After a GC and before anything else, all is still: what lives is whole, and nothing else has anything.
void Crowd::audit() {
  std::vector<std::string> living;
  const std::vector<std::string> leases = site_.leases();
  for (const auto& pod : pods_) {
    for (const Attachment& one : pod->attachments) {
      if (one.state != Attachment::State::attached) continue;
      living.push_back(one.name());
      const std::string flaws = site_.flaws(one.device, one.netns, one.ifname, one.result);
      require(flaws.empty(), one.name() + " should be whole: " + flaws);
      require(std::ranges::count(leases, one.name()) == 1, one.name() + " should have one lease");
    }
  }
  std::ranges::sort(living);
  const std::vector<std::string> records = site_.records();
  for (const std::string& record : records)
    require(std::ranges::binary_search(living, record), "GC left the record of " + record);
  require(records == living, "an attachment has lost its record");
  for (const size_t device : ledger_.nobodys())
    require(site_.is_in_host(device), site_.address(device) + " is nobody's and not in the host");
}

void Crowd::clear() {
  Choice choice;
  choice.step = Step::del;
  for (size_t i = 0; i < pods_.size(); ++i) {
    Pod& pod = *pods_[i];
    late_.insert(late_.end(), pod.attachments.begin(), pod.attachments.end());
  }
  for (Attachment& one : late_) {
    for (int tries = 1; one.state != Attachment::State::none; ++tries) {
      detach(0, one, choice);
      require(tries < kLastTries, "the device of " + one.name() + " does not come back");
    }
  }
  for (const auto& pod : pods_) site_.end_pod(pod->path);
}

}  // namespace vfrail::test
