#include "cni/hook/container_process.h"

#include "common/errors/error_id.h"
#include "common/files.h"
#include "common/json.h"
#include "common/node/sys_root.h"

#include <array>
#include <cerrno>
#include <poll.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef SYS_pidfd_open
#define SYS_pidfd_open 434
#endif

namespace vfrail::cni {

namespace {

constexpr std::pair<std::string_view, const char*> kNamespaces[] = {
    {"pid", "pid"}, {"network", "net"}, {"mount", "mnt"}, {"ipc", "ipc"}, {"uts", "uts"}, {"user", "user"}};

std::string namespace_path(const std::string& process, const std::string& file) {
  return SysRoot("/").path("proc/" + process + "/ns/" + file);
}

Result<struct stat> read_namespace(const std::string& path) {
  struct stat out {};
  if (::stat(path.c_str(), &out) != 0) return Error::from_errno(errno, "read the namespace " + path);
  return out;
}

Result<bool> is_same(const std::string& a, const std::string& b) {
  const auto first = TRY(read_namespace(a));
  const auto second = TRY(read_namespace(b));
  return first.st_ino == second.st_ino && first.st_dev == second.st_dev;
}

Result<> check_namespace(const ContainerNamespace& wanted, const OciState& state) {
  const std::string its = namespace_path(std::to_string(state.pid), wanted.file);
  const bool is_own = wanted.path.empty();
  const bool same = TRY(is_same(its, is_own ? namespace_path("self", wanted.file) : wanted.path));
  if (same != is_own) return {};
  return Error{Errc::denied, 0,
               "the process is not in the container: its namespace " + wanted.file +
                   (is_own ? " is that of the runtime" : " is not " + wanted.path)};
}

Result<std::vector<ContainerNamespace>> namespaces_of(const OciState& state) {
  const std::string path = state.bundle + "/config.json";
  const auto text = TRY(read_file(path, kMaxBundleConfig));
  if (!text) return std::vector<ContainerNamespace>{{"mnt", ""}};
  return TRY(parse_namespaces(*text), path);
}

}  // namespace

std::string container_text(const OciState& state) {
  return "container " + state.id + " (process " + std::to_string(state.pid) + ")";
}

Result<std::vector<ContainerNamespace>> parse_namespaces(std::string_view config) {
  std::vector<ContainerNamespace> out;
  const Json json = TRY(Json::parse_object(config, kMaxBundleConfig));
  ObjectReader top(*json.as_object(), "");
  const Json::Object* system = TRY(top.object("linux"));
  if (system == nullptr) return out;
  ObjectReader reader(*system, "linux");
  const Json::Array* list = TRY(reader.array("namespaces"));
  if (list == nullptr) return out;
  for (const Json& one : *list) {
    if (one.as_object() == nullptr) return reader.error("namespaces", "must be a list of objects");
    ObjectReader entry(*one.as_object(), "linux.namespaces");
    const std::string type = TRY(entry.text("type")).value_or("");
    const std::string path = TRY(entry.text("path")).value_or("");
    for (const auto& [name, file] : kNamespaces) {
      if (name == type) out.push_back({file, path});
    }
  }
  return out;
}

Result<ContainerProcess> ContainerProcess::find(const OciState& state) {
  UniqueFd fd(static_cast<int>(::syscall(SYS_pidfd_open, state.pid, 0)));
  if (!fd.valid() && errno != ENOSYS) return Error::from_errno(errno, "find " + container_text(state));
  for (const ContainerNamespace& wanted : TRY(namespaces_of(state), container_text(state)))
    TRY(check_namespace(wanted, state), container_text(state));
  return ContainerProcess(std::move(fd));
}

bool ContainerProcess::is_alive() const {
  pollfd ended{fd_.get(), POLLIN, 0};
  return !fd_.valid() || ::poll(&ended, 1, 0) == 0;
}

}  // namespace vfrail::cni
