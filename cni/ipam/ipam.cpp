#include "cni/ipam/ipam.h"

#include "common/errors/error_id.h"
#include "common/files.h"
#include "common/text.h"
#include "common/unique_fd.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <string_view>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

extern char** environ;

namespace vfrail::cni {

namespace {

constexpr size_t kMaxOutput = 1 << 20;
constexpr const char* kWithNewerVerbs = "1.1.0";
// The answer of a plugin from before VERSION (libcni goes by it, too).
constexpr std::string_view kUnknownCommand = "unknown CNI_COMMAND";
constexpr size_t kMaxMessage = 4096;
constexpr std::chrono::milliseconds kLookAtChild{100};  // only while there is no output
// Where a lock's file has the plugin's process group: behind what FileLock writes.
constexpr off_t kGroupAt = 512;
constexpr std::string_view kGroupIs = "process group ";
using Clock = std::chrono::steady_clock;

struct Pipe {
  UniqueFd read;
  UniqueFd write;
};

Result<Pipe> make_pipe() {
  int fds[2];
  if (::pipe2(fds, O_CLOEXEC) != 0) return Error::from_errno(errno, "create pipe");
  return Pipe{UniqueFd(fds[0]), UniqueFd(fds[1])};
}

// A process in a group of its own, so that its children are killed with it. Killed and reaped unless waited
// for.
class Child {
 public:
  explicit Child(pid_t pid) : pid_(pid) {}
  pid_t pid() const { return pid_; }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;
  ~Child() {
    if (pid_ > 0) kill_and_reap();
  }
  void kill_and_reap() {
    ::kill(-pid_, SIGKILL);
    while (::waitpid(pid_, &status_, 0) < 0 && errno == EINTR) {
    }
    pid_ = -1;
  }
  bool ended() {
    if (pid_ > 0 && ::waitpid(pid_, &status_, WNOHANG) == pid_) pid_ = -1;
    return pid_ < 0;
  }
  // No value if it still runs at the deadline. It has closed its output by now, so it is about to exit, and
  // the first check or the next one sees it; a pidfd would wait without polling, but kernels before 5.3 have
  // none.
  std::optional<int> wait_until(Clock::time_point deadline) {
    for (std::chrono::microseconds pause{50}; !ended();) {
      if (Clock::now() >= deadline) return std::nullopt;
      std::this_thread::sleep_for(pause);
      pause = std::min(pause * 2, std::chrono::microseconds{10'000});
    }
    return status_;
  }

 private:
  pid_t pid_;
  int status_ = 0;
};

// Our environment, with every CNI_* replaced by the request's, but for the one that is not an argument of a
// verb.
std::vector<std::string> make_environment(const Request& request, Command command) {
  std::vector<std::string> out;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view text(*entry);
    const bool kept = !text.starts_with("CNI_") || text.starts_with("CNI_NETNS_OVERRIDE=");
    if (kept && !text.starts_with(kDelegatedVariable)) out.emplace_back(*entry);
  }
  out.push_back(std::string("CNI_COMMAND=") + command_name(command));
  out.push_back("CNI_CONTAINERID=" + request.container_id);
  out.push_back("CNI_NETNS=" + request.netns);
  out.push_back("CNI_IFNAME=" + request.ifname);
  out.push_back("CNI_ARGS=" + request.raw_args);
  out.push_back("CNI_PATH=" + request.raw_path);
  out.push_back(std::string(kDelegatedVariable) + "=1");
  return out;
}

Result<pid_t> spawn(const std::string& program, std::vector<std::string> environment, const UniqueFd& in,
                    const UniqueFd& out, int inherited) {
  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
  posix_spawn_file_actions_init(&actions);
  posix_spawnattr_init(&attributes);
  posix_spawn_file_actions_adddup2(&actions, in.get(), STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&actions, out.get(), STDOUT_FILENO);
  // Duplicated onto itself, so that it is no longer closed at execve().
  if (inherited >= 0) posix_spawn_file_actions_adddup2(&actions, inherited, inherited);
  // DEL ignores SIGTERM and everything ignores SIGPIPE; the plugin gets the defaults.
  sigset_t defaults;
  sigemptyset(&defaults);
  sigaddset(&defaults, SIGTERM);
  sigaddset(&defaults, SIGPIPE);
  posix_spawnattr_setsigdefault(&attributes, &defaults);
  posix_spawnattr_setpgroup(&attributes, 0);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGDEF);
  std::vector<char*> env;
  env.reserve(environment.size() + 1);
  for (std::string& entry : environment) env.push_back(entry.data());
  env.push_back(nullptr);
  std::string name = program;
  char* arguments[] = {name.data(), nullptr};
  // A parent may have started us with SIGCHLD ignored, which execve() keeps: the kernel would reap the plugin
  // itself, and there would be no end to wait for.
  ::signal(SIGCHLD, SIG_DFL);
  pid_t pid = -1;
  const int code = ::posix_spawn(&pid, program.c_str(), &actions, &attributes, arguments, env.data());
  posix_spawn_file_actions_destroy(&actions);
  posix_spawnattr_destroy(&attributes);
  if (code != 0) return Error::from_errno(code, "run " + program);
  return pid;
}

// A full disk is not a reason to fail: then a DEL that would kill it fails as busy.
void note_group(int lock, pid_t group) {
  const std::string text = std::string(kGroupIs) + std::to_string(group) + "\n";
  (void)!::pwrite(lock, text.data(), text.size(), kGroupAt);
}

std::optional<uint32_t> noted_group(const std::string& text) {
  if (text.size() <= static_cast<size_t>(kGroupAt)) return std::nullopt;
  std::string_view rest = std::string_view(text).substr(kGroupAt);
  if (!rest.starts_with(kGroupIs) || !rest.ends_with("\n")) return std::nullopt;
  rest.remove_prefix(kGroupIs.size());
  rest.remove_suffix(1);
  const auto group = parse_decimal(rest);
  return group && *group > 1 ? group : std::nullopt;  // kill(-1) is every process
}

// /proc/PID/stat is "PID (name) state parent group ...", and a name can have brackets and spaces.
bool is_in_group(const SysRoot& sys, const std::string& process, uint32_t group) {
  const auto stat = sys.text(process + "/stat").or_none();
  const size_t name_ends = stat ? stat->rfind(')') : std::string::npos;
  if (name_ends == std::string::npos) return false;
  const auto fields = split(std::string_view(*stat).substr(name_ends + 1), " ");
  return fields.size() > 2 && fields[2] == std::to_string(group);
}

bool has_open(const SysRoot& sys, const std::string& process, const struct stat& file) {
  const std::string folder = process + "/fd";
  for (const std::string& fd : sys.list(folder).or_none().value_or(SysRoot::Names())) {
    struct stat info {};
    const bool read = ::stat(sys.path(folder + "/" + fd).c_str(), &info) == 0;
    if (read && info.st_dev == file.st_dev && info.st_ino == file.st_ino) return true;
  }
  return false;
}

Error no_answer() {
  return Error{Errc::timeout, ETIMEDOUT, "no answer in time; it has been killed", ErrorId::ipam_timeout};
}

bool is_this_program(const struct stat& file) {
  struct stat own {};
  return ::stat("/proc/self/exe", &own) == 0 && own.st_dev == file.st_dev && own.st_ino == file.st_ino;
}

// The plugin's stdin: a file in memory, because it has an end even while others hold it open.
Result<UniqueFd> make_input(std::string_view text) {
  UniqueFd fd(::memfd_create("vfrail-ipam", MFD_CLOEXEC));
  if (!fd.valid()) return Error::from_errno(errno, "create input");
  // Its offset stays at the beginning, where the plugin reads on.
  const ssize_t written = ::pwrite(fd.get(), text.data(), text.size(), 0);
  if (written < 0) return Error::from_errno(errno, "write input");
  if (static_cast<size_t>(written) != text.size()) return Error::from_errno(ENOMEM, "write input");
  return fd;
}

// Up to the end of the output; or of the plugin, when a child of it keeps the output open.
Result<std::string> collect(const UniqueFd& from, Child& child, Clock::time_point deadline) {
  std::string output;
  for (bool over = false;;) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now());
    if (left.count() <= 0) return no_answer();
    pollfd entry{from.get(), POLLIN, 0};
    // A failed poll() (EINTR, ENOMEM) saw nothing: killing the plugin now would leave its work half done.
    if (::poll(&entry, 1, static_cast<int>(std::min(left, kLookAtChild).count())) <= 0) {
      if (over) return output;
      over = child.ended();
      continue;
    }
    char buffer[8192];
    const ssize_t got = ::read(from.get(), buffer, sizeof buffer);
    if (got == 0) return output;
    if (got > 0) output.append(buffer, static_cast<size_t>(got));
    if (output.size() > kMaxOutput)
      return Error{Errc::protocol, 0, "more than 1 MiB of output; it has been killed", ErrorId::ipam_answer};
  }
}

// The error that the plugin printed, with its text and code.
Error refusal(const std::string& output, int status) {
  const std::string how = WIFSIGNALED(status) ? "ended by signal " + std::to_string(WTERMSIG(status))
                                              : "exit status " + std::to_string(WEXITSTATUS(status));
  const auto json = Json::parse(output, kMaxOutput);
  if (!json || json->as_object() == nullptr) {
    return Error{Errc::peer, 0, how + (output.empty() ? ", no message" : ": " + output.substr(0, 400)),
                 ErrorId::ipam_failed};
  }
  ObjectReader reader(*json->as_object(), "");
  const auto code = reader.integer("code", 0, UINT16_MAX);
  const auto message = reader.text("msg");
  const auto details = reader.text("details");
  Error out{Errc::peer, code && *code ? static_cast<int>(**code) : 0, message && *message ? **message : how,
            ErrorId::ipam_failed};
  if (details && *details && !(*details)->empty()) out.text += "; " + **details;
  // It goes into the pod's events and the node's log.
  if (out.text.size() > kMaxMessage) out.text = out.text.substr(0, kMaxMessage) + "...";
  return out;
}

}  // namespace

Result<std::string> find_plugin(const std::string& type, const std::vector<std::string>& path) {
  std::string searched;
  for (const std::string& folder : path) {
    const std::string file = folder + "/" + type;
    struct stat info {};
    if (::stat(file.c_str(), &info) == 0 && S_ISREG(info.st_mode) && ::access(file.c_str(), X_OK) == 0) {
      if (!is_this_program(info)) return file;
      return Error{Errc::invalid, 0,
                   "ipam.type " + type + " is vfrail itself (" + file +
                       "), which assigns no addresses; name an IPAM "
                       "plugin, whereabouts or host-local",
                   ErrorId::ipam_is_vfrail};
    }
    searched += (searched.empty() ? "" : ", ") + folder;
  }
  return Error{Errc::not_found, 0,
               "IPAM plugin " + type + " is not in CNI_PATH (" +
                   (searched.empty() ? "which is empty" : searched) + "); install it there",
               ErrorId::ipam_not_found};
}

Result<std::optional<Json>> run_ipam(const Request& request, Command command, const std::string& type,
                                     std::chrono::milliseconds timeout, int inherited) {
  const std::string what = "IPAM plugin " + type + ", " + command_name(command);
  const std::string program = TRY(find_plugin(type, request.path));
  const UniqueFd in = TRY(make_input(request.config.text()), what);
  Pipe out = TRY(make_pipe(), what);
  Child child(TRY(with_id(ErrorId::ipam_failed,
                          spawn(program, make_environment(request, command), in, out.write, inherited)),
                  what));
  if (inherited >= 0) note_group(inherited, child.pid());
  out.write.reset();
  const auto deadline = Clock::now() + timeout;
  std::string output = TRY(collect(out.read, child, deadline), what);
  const auto ended = child.wait_until(deadline);
  if (!ended) return no_answer().in(what);
  const int status = *ended;
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) return refusal(output, status).in(what);
  if (output.find_first_not_of(" \t\r\n") == std::string::npos) return std::optional<Json>();
  auto json = Json::parse(output, kMaxOutput);
  if (!json)
    return Error{Errc::protocol, 0, what + ": its answer is not JSON: " + json.error().text,
                 ErrorId::ipam_answer};
  return std::optional<Json>(std::move(*json));
}

Result<bool> knows_newer_verbs(const Request& request, const std::string& type,
                               std::chrono::milliseconds timeout) {
  Request version = request;
  version.config = Configuration(R"({"cniVersion":")" + std::string(kWithNewerVerbs) + R"("})");
  const auto answer = run_ipam(version, Command::version, type, timeout);
  if (!answer) {
    if (answer.error().code != Errc::peer) return answer.error();
    return answer.error().text.find(kUnknownCommand) == std::string::npos;
  }
  const Json* versions = *answer ? (*answer)->find("supportedVersions") : nullptr;
  if (versions == nullptr || versions->as_array() == nullptr) return true;
  const auto& all = *versions->as_array();
  return std::find(all.begin(), all.end(), Json(kWithNewerVerbs)) != all.end();
}

Result<bool> kill_holder(const SysRoot& sys, const std::string& lock_file) {
  const auto text = TRY(read_file(lock_file, kMaxMessage));
  const auto group = text ? noted_group(*text) : std::nullopt;
  struct stat file {};
  if (!group || ::stat(lock_file.c_str(), &file) != 0) return false;
  for (const std::string& name : TRY(sys.list("proc")).value_or(SysRoot::Names())) {
    if (!parse_decimal(name)) continue;
    const std::string process = "proc/" + name;
    // The number may be another group's by now. A process that cannot be read has mostly ended.
    if (!is_in_group(sys, process, *group) || !has_open(sys, process, file)) continue;
    return ::kill(-static_cast<pid_t>(*group), SIGKILL) == 0;
  }
  return false;
}

}  // namespace vfrail::cni
