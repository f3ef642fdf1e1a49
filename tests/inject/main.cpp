// inject_sweep: every sweep by itself in a process, some at a time, and what they found. Needs root.
//
//   inject_sweep [--jobs N] [--device ADDRESS] [--in-turn] [--fault-step N] [--all] [WORD]...
//
// WORDs choose the sweeps whose names have them all. --device: on this node, with that VF, and not on made-up
// ones.
// --in-turn: at each system call one errno, and not each; after a kill one continuation, in turn.
// --fault-step: a fault at each N-th system call only, for a VM, where a trial takes seconds.
// --all: a kill before each system call, and not before those alone that may change something; and what
// sweeps have in turn because others have it at each call, at each call here too.
#include "tests/inject/sweep.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <sstream>
#include <sys/wait.h>
#include <unistd.h>

namespace {

using namespace vfrail::test;

struct Options {
  int jobs = 1;
  std::string device;
  bool in_turn = false;
  int fault_step = 1;
  bool all = false;
  std::vector<std::string> words;
};

// Whether a verb has every errno and every continuation at each of its calls, or one in turn: what has every
// one in another sweep already. GC of all is the code of DEL with one more way to it, and without IPAM a verb
// makes calls that it makes with IPAM too.
bool in_turn(const std::string& verb, const Setting& setting, const Options& options) {
  const bool tried_elsewhere = verb == "GC of all" || !setting.ipam;
  return options.in_turn || (tried_elsewhere && !options.all);
}

std::vector<Sweep> sweeps_of(const std::string& verb, const Setting& setting, const Options& options) {
  const bool turns = in_turn(verb, setting, options);
  std::vector<std::string> continuations = continuations_of(verb);
  if (turns && continuations.size() > 1) continuations = {kEachInTurn};
  std::vector<Sweep> out;
  const char* kill = options.all ? kKill : kKillBeforeChange;
  for (const std::string& then : continuations) out.push_back({verb, kill, then, setting});
  for (const std::string& error : turns ? std::vector<std::string>{kErrnosInTurn} : errnos())
    out.push_back({verb, error, "", setting, options.fault_step});
  return out;
}

bool chosen(const Sweep& sweep, const Options& options) {
  for (const std::string& word : options.words) {
    if (sweep.text().find(word) == std::string::npos) return false;
  }
  return true;
}

std::vector<Sweep> chosen_sweeps(const Options& options) {
  std::vector<Sweep> out;
  for (const bool ipam : {true, false}) {
    for (const char* verb : {"ADD", "DEL", "GC of all", "CHECK", "GC", "STATUS"}) {
      for (Sweep& sweep : sweeps_of(verb, {options.device, ipam}, options)) {
        if (chosen(sweep, options)) out.push_back(std::move(sweep));
      }
    }
  }
  return out;
}

// What a sweep's process leaves in its file: numbers in the first line, then words for people.
void write_report(const Sweep& sweep, const Tally& tally, double seconds, const std::string& file) {
  std::ostringstream out;
  int left = 0;
  for (const auto& [call, count] : tally.left_to_del) left += count;
  out << tally.points << ' ' << left << ' ' << tally.died_in_start << ' ' << tally.complaints.size() << '\n';
  out << (tally.complaints.empty() ? "ok   " : "FAIL ") << sweep.text() << ": " << tally.points << " points, "
      << static_cast<int>(seconds) << " s";
  for (const auto& [call, count] : tally.left_to_del) out << "; left to DEL: " << call << ' ' << count;
  out << '\n';
  for (const std::string& complaint : tally.complaints) out << "  " << complaint << '\n';
  write_text(file, out.str());
}

pid_t start(const Sweep& sweep, const std::string& injector, const std::string& file) {
  const pid_t pid = ::fork();
  if (pid != 0) return pid;
  const auto begin = std::chrono::steady_clock::now();
  const Tally tally = run_sweep(sweep, injector);
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
  write_report(sweep, tally, took.count(), file);
  ::_exit(0);
}

struct Sum {
  int kills = 0;
  int faults = 0;
  int left = 0;
  int died_in_start = 0;
  int lost = 0;
};

void add_report(const Sweep& sweep, const std::string& file, Sum& sum) {
  const std::string text = read_text(file);
  std::istringstream numbers(text);
  int points = 0;
  int left = 0;
  int died = 0;
  int lost = 0;
  if (!(numbers >> points >> left >> died >> lost)) {
    lost = 1;
    std::printf("FAIL %s: its process ended without a report\n", sweep.text().c_str());
  } else {
    std::fputs(text.substr(text.find('\n') + 1).c_str(), stdout);
  }
  std::fflush(stdout);
  (sweep.kills() ? sum.kills : sum.faults) += points;
  sum.left += left;
  sum.died_in_start += died;
  sum.lost += lost;
}

Sum run_all(const std::vector<Sweep>& sweeps, const Options& options, const std::string& injector) {
  const TempDir reports;
  const auto file = [&](size_t i) { return reports.path(std::to_string(i)); };
  Sum sum;
  std::map<pid_t, size_t> running;
  for (size_t next = 0; next < sweeps.size() || !running.empty();) {
    if (next < sweeps.size() && running.size() < static_cast<size_t>(options.jobs)) {
      running[start(sweeps[next], injector, file(next))] = next;
      ++next;
      continue;
    }
    const auto ended = running.find(::wait(nullptr));
    if (ended == running.end()) continue;
    add_report(sweeps[ended->second], file(ended->second), sum);
    running.erase(ended);
  }
  return sum;
}

// Beside this program, or where programs are.
std::string find_injector(const std::string& self) {
  const size_t slash = self.rfind('/');
  return slash == std::string::npos ? "inject" : self.substr(0, slash) + "/inject";
}

Options read_options(int count, char** arguments) {
  Options out;
  for (int i = 1; i < count; ++i) {
    const std::string word = arguments[i];
    if (word == "--jobs" && i + 1 < count) {
      out.jobs = std::max(1, std::atoi(arguments[++i]));
    } else if (word == "--device" && i + 1 < count) {
      out.device = arguments[++i];
    } else if (word == "--in-turn") {
      out.in_turn = true;
    } else if (word == "--fault-step" && i + 1 < count) {
      out.fault_step = std::max(1, std::atoi(arguments[++i]));
    } else if (word == "--all") {
      out.all = true;
    } else {
      out.words.push_back(word);
    }
  }
  return out;
}

}  // namespace

int main(int count, char** arguments) {
  const Options options = read_options(count, arguments);
  if (::geteuid() != 0) {
    std::fputs("inject_sweep: network namespaces need root\n", stderr);
    return 1;
  }
  const std::vector<Sweep> sweeps = chosen_sweeps(options);
  const Sum sum = run_all(sweeps, options, find_injector(arguments[0]));
  if (sum.kills + sum.faults == 0) {
    std::fputs("inject_sweep: no point was tried\n", stderr);
    return 1;
  }
  std::printf(
      "Of the faults, %d left something to the DEL that follows a failed ADD, and %d in the C library's "
      "start, before main(), made it end the process by a signal.\n",
      sum.left, sum.died_in_start);
  std::printf("kill points tried: %d, fault points tried: %d%s, %s\n", sum.kills, sum.faults,
              options.in_turn ? " (one of 5 errnos and one continuation, in turn)" : "",
              sum.lost == 0 ? "nothing lost" : "NOT ALL WELL");
  return sum.lost == 0 ? 0 : 1;
}
