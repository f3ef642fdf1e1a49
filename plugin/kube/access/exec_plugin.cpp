#include "plugin/kube/access/exec_plugin.h"

#include "common/files.h"
#include "common/json.h"
#include "common/unique_fd.h"
#include "plugin/kube/access/api_time.h"

#include <cerrno>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

extern char** environ;

namespace vfrail::kube {

namespace {

constexpr size_t kMaxOutputBytes = 1 << 20;
// Some ask for a password, or wait for a page of a browser.
constexpr int kTimeMs = 120'000;

// KUBERNETES_EXEC_INFO: with the cluster for those of which the kubeconfig says so.
std::string exec_info(const ExecPlugin& plugin, const ClusterAccess& access) {
  Json spec = Json::object();
  spec.set("interactive", ::isatty(STDIN_FILENO) == 1);
  if (plugin.provide_cluster_info) {
    const bool v6 = access.host.find(':') != std::string::npos;
    Json cluster = Json::object();
    cluster.set("server", "https://" + (v6 ? "[" + access.host + "]" : access.host) + ":" +
                              std::to_string(access.port) + access.path);
    spec.set("cluster", std::move(cluster));
  }
  Json out = Json::object();
  out.set("apiVersion", plugin.api_version);
  out.set("kind", "ExecCredential");
  out.set("spec", std::move(spec));
  return out.text();
}

std::vector<std::string> make_environment(const ExecPlugin& plugin, const ClusterAccess& access) {
  std::vector<std::string> out;
  // Of two of a name the first counts.
  for (const auto& [name, value] : plugin.environment) out.push_back(name + "=" + value);
  out.push_back("KUBERNETES_EXEC_INFO=" + exec_info(plugin, access));
  for (char** entry = environ; *entry != nullptr; ++entry) out.emplace_back(*entry);
  return out;
}

std::vector<char*> pointers_to(std::vector<std::string>& texts) {
  std::vector<char*> out;
  for (std::string& text : texts) out.push_back(text.data());
  out.push_back(nullptr);
  return out;
}

Result<pid_t> spawn(const ExecPlugin& plugin, const ClusterAccess& access, const UniqueFd& output) {
  std::vector<std::string> arguments{plugin.command};
  arguments.insert(arguments.end(), plugin.arguments.begin(), plugin.arguments.end());
  std::vector<std::string> environment = make_environment(plugin, access);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, output.get(), STDOUT_FILENO);
  pid_t pid = -1;
  const int failed = ::posix_spawnp(&pid, plugin.command.c_str(), &actions, nullptr,
                                    pointers_to(arguments).data(), pointers_to(environment).data());
  posix_spawn_file_actions_destroy(&actions);
  if (failed == 0) return pid;
  Error error = Error::from_errno(failed, "run the credential plugin " + plugin.command);
  if (!plugin.install_hint.empty()) error.text += "; " + plugin.install_hint;
  return error;
}

// Up to the end of its output, or to the limits, whichever comes first. Too much is cut, and no JSON then.
Result<std::string> collect(int fd) {
  std::string out;
  pollfd wait{fd, POLLIN, 0};
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::milliseconds(kTimeMs);
  while (out.size() <= kMaxOutputBytes) {
    const auto left =
        std::chrono::duration_cast<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now())
            .count();
    const int ready = left <= 0 ? 0 : ::poll(&wait, 1, static_cast<int>(left));
    if (ready == 0) return Error{Errc::timeout, ETIMEDOUT, "no answer in two minutes; it has been killed"};
    if (ready < 0 && errno == EINTR) continue;
    char buffer[4096];
    const ssize_t got = ::read(fd, buffer, sizeof buffer);
    if (got <= 0) return out;
    out.append(buffer, static_cast<size_t>(got));
  }
  return Error{Errc::protocol, 0, "more than 1 MiB of output"};
}

}  // namespace

Result<ExecCredential> read_exec_credential(std::string_view output, const std::string& api_version) {
  const Json value = TRY(Json::parse_object(output));
  ObjectReader reader(*value.as_object(), "");
  const std::string kind = TRY(reader.text("kind")).value_or("");
  const std::string version = TRY(reader.text("apiVersion")).value_or("");
  if (kind != "ExecCredential" || version != api_version)
    return Error{
        Errc::protocol, 0,
        "printed " + version + " " + kind + " where the kubeconfig has " + api_version + " ExecCredential"};
  const Json::Object* status = TRY(reader.object("status"));
  if (status == nullptr) return reader.error("status", "missing: it gave no credential");
  ObjectReader inner(*status, "status");
  ExecCredential out;
  out.token = TRY(inner.text("token")).value_or("");
  out.certificate = TRY(inner.text("clientCertificateData")).value_or("");
  out.key = TRY(inner.text("clientKeyData")).value_or("");
  if (out.token.empty() && (out.certificate.empty() || out.key.empty()))
    return inner.error("token", "missing, and no clientCertificateData with clientKeyData");
  const auto expires = TRY(inner.text("expirationTimestamp"));
  if (expires) {
    out.expires = parse_api_time(*expires);
    if (!out.expires)
      return inner.error("expirationTimestamp", "\"" + *expires + "\" is not a time of RFC 3339");
  }
  return out;
}

Result<ExecCredential> run_exec_plugin(const ExecPlugin& plugin, const ClusterAccess& access) {
  const std::string what = "credential plugin " + plugin.command;
  int ends[2] = {-1, -1};
  if (::pipe2(ends, O_CLOEXEC) != 0) return Error::from_errno(errno, "make a pipe");
  const UniqueFd from(ends[0]);
  UniqueFd to(ends[1]);
  const pid_t pid = TRY(spawn(plugin, access, to));
  to.reset();
  auto output = collect(from.get());
  if (!output) ::kill(pid, SIGKILL);
  int status = 0;
  while (::waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  if (!output) return std::move(output.error()).in(what);
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
    return Error{Errc::peer, WIFEXITED(status) ? WEXITSTATUS(status) : 0,
                 what + ": ended with an error; its own message is above"};
  return TRY(read_exec_credential(*output, plugin.api_version), what);
}

}  // namespace vfrail::kube
