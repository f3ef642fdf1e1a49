#include "plugin/service/kubelet/kubelet.h"

#include "common/errors/error_id.h"
#include "plugin/device/config/config.h"
#include "plugin/service/kubelet/kubelet_call.h"
#include "proto/deviceplugin_v1beta1.grpc.pb.h"

#include <cerrno>
#include <random>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

#include <grpcpp/grpcpp.h>

namespace vfrail::plugin {

namespace {

constexpr const char* kApiVersion = "v1beta1";

}  // namespace

Result<Registration> choose_registration(const std::string& kubelet_root, std::string_view word) {
  if (word == "watcher") return Registration::watcher;
  if (word == "legacy") return Registration::legacy;
  if (word != "auto") {
    return Error{Errc::invalid, 0,
                 "--registration: '" + std::string(word) + "' is not one of auto, watcher, legacy",
                 ErrorId::option_invalid};
  }
  struct stat there {};
  const std::string monitoring = socket_folder(kubelet_root, Registration::watcher);
  return ::stat(monitoring.c_str(), &there) == 0 ? Registration::watcher : Registration::legacy;
}

std::string socket_folder(const std::string& kubelet_root, Registration registration) {
  return kubelet_root + (registration == Registration::watcher ? "/plugins_registry" : "/device-plugins");
}

std::string kubelet_socket(const std::string& kubelet_root) {
  return socket_folder(kubelet_root, Registration::legacy) + "/kubelet.sock";
}

Result<std::string> socket_path(const std::string& folder, const ResourceConfig& resource) {
  TRY(check_socket_path(resource, folder));
  return folder + "/" + socket_name(resource);
}

// Random, because another instance in the folder can have the same process id in a namespace of its own; and
// no longer than "a.sock", so that it fits wherever the socket's own name fits.
std::string hidden_socket_name() {
  constexpr std::string_view kLetters = "abcdefghijklmnopqrstuvwxyz0123456789";
  std::random_device random;
  std::string out = ".";
  while (out.size() < 6) out += kLetters[random() % kLetters.size()];
  return out;
}

FileIdentity identify(const std::string& path) {
  struct stat there {};
  if (::lstat(path.c_str(), &there) != 0) return {};
  return {there.st_dev, there.st_ino, int64_t{there.st_ctim.tv_sec} * 1'000'000'000 + there.st_ctim.tv_nsec};
}

Result<FolderWatch> FolderWatch::start(const std::string& folder) {
  UniqueFd fd(::inotify_init1(IN_CLOEXEC | IN_NONBLOCK));
  if (!fd.valid()) return Error::from_errno(errno, "watch " + folder);
  FolderWatch out(std::move(fd), folder);
  out.arm();
  return out;
}

void FolderWatch::renew() {
  alignas(inotify_event) char buffer[4096];
  while (::read(fd_.get(), buffer, sizeof buffer) > 0) {
  }
  arm();
}

// Adding a watch for an inode that has one already changes nothing. A folder that does not exist yet shows up
// through its parent; if that is missing too, only the caller's slow timer is left.
void FolderWatch::arm() {
  const std::string parent = folder_.substr(0, folder_.rfind('/'));
  (void)::inotify_add_watch(fd_.get(), parent.c_str(), IN_CREATE | IN_MOVED_TO | IN_ONLYDIR);
  (void)::inotify_add_watch(
      fd_.get(), folder_.c_str(),
      IN_CREATE | IN_MOVED_TO | IN_DELETE | IN_MOVED_FROM | IN_DELETE_SELF | IN_MOVE_SELF | IN_ONLYDIR);
}

struct RegisterCall::State {
  using Call = KubeletCall<v1beta1::Registration, v1beta1::RegisterRequest, v1beta1::Empty>;
  Call call;
};

RegisterCall::RegisterCall(const Request& request, std::function<void(Result<>)> done) {
  v1beta1::RegisterRequest question;
  question.set_version(kApiVersion);
  question.set_endpoint(request.endpoint.substr(request.endpoint.rfind('/') + 1));
  question.set_resource_name(request.resource);
  question.mutable_options()->set_get_preferred_allocation_available(request.preferred_allocation);
  state_.reset(new State{{request.kubelet_socket,
                          {.time = request.timeout},
                          std::move(question),
                          [](auto& stub, auto* context, auto* asked, auto* answer, auto ready) {
                            stub.async()->Register(context, asked, answer, std::move(ready));
                          },
                          [done = std::move(done)](const grpc::Status& status, const v1beta1::Empty&) {
                            done(status.ok() ? Result<>() : Result<>(call_error("Register", status)));
                          }}});
}

RegisterCall::~RegisterCall() = default;

std::optional<std::chrono::steady_clock::time_point> RegisterCall::cancel_overdue(
    std::chrono::steady_clock::time_point now) {
  return state_->call.cancel_overdue(now);
}

}  // namespace vfrail::plugin
