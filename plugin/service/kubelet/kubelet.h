// Kubelet, as the plugin sees it: two folders, two ways to register, and one gRPC call that the plugin makes.
// Never listens and never retries.
#pragma once

#include "common/result.h"
#include "common/unique_fd.h"

#include <chrono>
#include <compare>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <sys/types.h>
#include <vector>

namespace vfrail::plugin {

struct ResourceConfig;

enum class Registration : uint8_t {
  watcher,  // kubelet finds the socket in plugins_registry and calls it
  legacy,   // the plugin calls Register on device-plugins/kubelet.sock
};

// The value of --registration: "auto" (watcher if <root>/plugins_registry exists, as the peers do it),
// "watcher" or "legacy". Errc::invalid for another.
Result<Registration> choose_registration(const std::string& kubelet_root, std::string_view word);

// The folder for the plugins' sockets.
std::string socket_folder(const std::string& kubelet_root, Registration registration);
// Where kubelet serves legacy registration.
std::string kubelet_socket(const std::string& kubelet_root);
// "<folder>/<prefix>_<name>.sock", or the name that the resource has of its format. Errc::invalid if that
// does not fit into a socket address (unix(7)).
Result<std::string> socket_path(const std::string& folder, const ResourceConfig& resource);
// A name for a socket that is not in its place yet; another one at each call.
std::string hidden_socket_name();

// Distinguishes a file from another at the same path; all zero if there is none.
struct FileIdentity {
  dev_t device = 0;
  ino_t inode = 0;
  int64_t changed_ns = 0;  // some file systems reuse a free inode number at once
  bool operator==(const FileIdentity&) const = default;
  bool exists() const { return inode != 0; }
};
FileIdentity identify(const std::string& path);

// Reports that something happened in a folder, also if the folder itself is removed and created again. The
// caller reads what happened: inotify(7) can drop events, so they only mean that something has changed.
class FolderWatch {
 public:
  static Result<FolderWatch> start(const std::string& folder);

  int fd() const { return fd_.get(); }
  // Drains the events and, if the folder is another one now, watches that.
  void renew();

 private:
  FolderWatch(UniqueFd fd, std::string folder) : fd_(std::move(fd)), folder_(std::move(folder)) {}
  void arm();

  UniqueFd fd_;
  std::string folder_;
};

// One Register call to kubelet, made on gRPC's threads. Destroying it cancels it and waits for its end.
class RegisterCall {
 public:
  struct Request {
    std::string kubelet_socket;
    std::string endpoint;  // absolute path of the plugin's socket
    std::string resource;
    bool preferred_allocation = false;  // kubelet may ask GetPreferredAllocation
    std::chrono::milliseconds timeout{5000};
  };
  // `done` is called once, on a gRPC thread.
  RegisterCall(const Request& request, std::function<void(Result<>)> done);
  RegisterCall(const RegisterCall&) = delete;
  RegisterCall& operator=(const RegisterCall&) = delete;
  ~RegisterCall();
  // As KubeletCall::cancel_overdue(): for the owner thread, before it waits.
  std::optional<std::chrono::steady_clock::time_point> cancel_overdue(
      std::chrono::steady_clock::time_point now);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace vfrail::plugin
