// measure ROUNDS SUBJECT...: runs CNI programs against each other, in interleaved rounds, and prints medians.
//
// A SUBJECT is a folder: `program`, the executable, and one folder 0, 1, 2, ... for each attachment with
// `environment` (lines NAME=VALUE) and `config` (its stdin). A round is, for each subject in turn, ADD of all
// attachments at the same time and then DEL of all; every second round takes the subjects in the opposite
// order, so that what one leaves behind (deferred work of the kernel) is not always in the way of the same
// other. The first subject is the floor that the ratios refer to: of each round's sum of ADD and DEL, then
// the median.
//
// Prints a line for each subject: its name; ADD, DEL, ADD+DEL in microseconds; the ratio; of one ADD and of
// one DEL, children included, the CPU time in microseconds and the minor page faults. What the programs print
// is appended to SUBJECT/output.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <spawn.h>
#include <stdexcept>
#include <string>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

struct Attachment {
  std::vector<std::string> environment;
  std::string config;  // path
};

struct Sample {
  double microseconds = 0;
  double cpu = 0;  // microseconds, of one attachment
  double page_faults = 0;
};

struct Subject {
  std::string folder;
  std::vector<Attachment> attachments;
  std::vector<double> add, del, sum, ratio, add_cpu, del_cpu, add_faults, del_faults;
};

double median(std::vector<double> values) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  const size_t middle = values.size() / 2;
  return values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

Subject read_subject(const std::string& folder) {
  Subject out;
  out.folder = folder;
  for (int i = 0; fs::exists(folder + "/" + std::to_string(i)); ++i) {
    const std::string below = folder + "/" + std::to_string(i);
    Attachment attachment;
    attachment.config = below + "/config";
    std::ifstream file(below + "/environment");
    for (std::string line; std::getline(file, line);) attachment.environment.push_back(line);
    out.attachments.push_back(std::move(attachment));
  }
  if (out.attachments.empty()) throw std::runtime_error(folder + ": no attachments");
  return out;
}

pid_t start(const Subject& subject, const Attachment& attachment, std::string verb) {
  std::vector<char*> environment;
  for (const std::string& entry : attachment.environment)
    environment.push_back(const_cast<char*>(entry.c_str()));
  environment.push_back(verb.data());
  environment.push_back(nullptr);
  std::string program = subject.folder + "/program";
  char* arguments[] = {program.data(), nullptr};
  const std::string output = subject.folder + "/output";
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 0, attachment.config.c_str(), O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&actions, 1, output.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600);
  posix_spawn_file_actions_adddup2(&actions, 1, 2);
  pid_t pid = -1;
  const int code = ::posix_spawn(&pid, program.c_str(), &actions, nullptr, arguments, environment.data());
  posix_spawn_file_actions_destroy(&actions);
  if (code != 0) throw std::runtime_error(program + ": cannot be started");
  return pid;
}

double microseconds(const timeval& time) {
  return static_cast<double>(time.tv_sec) * 1e6 + static_cast<double>(time.tv_usec);
}

Sample run(const Subject& subject, const std::string& verb) {
  std::vector<pid_t> pids;
  Sample out;
  const auto begin = Clock::now();
  for (const Attachment& attachment : subject.attachments) {
    pids.push_back(start(subject, attachment, "CNI_COMMAND=" + verb));
  }
  bool failed = false;
  for (const pid_t pid : pids) {
    int status = 0;
    rusage usage{};
    failed = ::wait4(pid, &status, 0, &usage) != pid || status != 0 || failed;
    const auto share = 1.0 / static_cast<double>(pids.size());
    out.cpu += (microseconds(usage.ru_utime) + microseconds(usage.ru_stime)) * share;
    out.page_faults += static_cast<double>(usage.ru_minflt) * share;
  }
  out.microseconds = std::chrono::duration<double, std::micro>(Clock::now() - begin).count();
  if (failed) throw std::runtime_error(verb + " failed, see " + subject.folder + "/output");
  return out;
}

void run_round(std::vector<Subject>& subjects, bool backwards) {
  for (size_t i = 0; i < subjects.size(); ++i) {
    Subject& subject = subjects[backwards ? subjects.size() - 1 - i : i];
    const Sample add = run(subject, "ADD");
    const Sample del = run(subject, "DEL");
    subject.add.push_back(add.microseconds);
    subject.del.push_back(del.microseconds);
    subject.sum.push_back(add.microseconds + del.microseconds);
    subject.add_cpu.push_back(add.cpu);
    subject.del_cpu.push_back(del.cpu);
    subject.add_faults.push_back(add.page_faults);
    subject.del_faults.push_back(del.page_faults);
  }
  for (Subject& subject : subjects) subject.ratio.push_back(subject.sum.back() / subjects.front().sum.back());
}

int measure(int rounds, std::vector<Subject> subjects) {
  // The first round warms caches and makes folders; it does not count.
  auto warm = subjects;
  run_round(warm, false);
  for (int round = 0; round < rounds; ++round) run_round(subjects, round % 2 == 1);
  for (const Subject& subject : subjects) {
    std::printf("%s %.0f %.0f %.0f %.3f %.0f %.0f %.0f %.0f\n", fs::path(subject.folder).filename().c_str(),
                median(subject.add), median(subject.del), median(subject.sum), median(subject.ratio),
                median(subject.add_cpu), median(subject.del_cpu), median(subject.add_faults),
                median(subject.del_faults));
  }
  return 0;
}

}  // namespace

int main(int count, char** arguments) {
  const int rounds = count > 2 ? std::atoi(arguments[1]) : 0;
  if (rounds <= 0) {
    std::fputs("usage: measure ROUNDS SUBJECT...\n", stderr);
    return 2;
  }
  try {
    std::vector<Subject> subjects;
    for (int i = 2; i < count; ++i) subjects.push_back(read_subject(arguments[i]));
    return measure(rounds, std::move(subjects));
  } catch (const std::exception& error) {
    std::fprintf(stderr, "measure: %s\n", error.what());
    return 1;
  }
}
