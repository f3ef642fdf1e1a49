// The sockets of a DRA driver in kubelet's folders: their paths, and KeptEndpoint, which keeps one of them
// served: creates it again when it is lost, yields to another instance. Registers nothing.
#pragma once

#include "common/log.h"
#include "common/result.h"
#include "plugin/service/kubelet/endpoint.h"
#include "plugin/service/kubelet/resource.h"

#include <chrono>
#include <optional>
#include <string>

namespace vfrail::plugin {

struct DraSockets {
  std::string plugin_folder;        // "/var/lib/kubelet/plugins/vfrail.io"
  std::string plugin;               // "dra.sock" in it
  std::string registration_folder;  // "/var/lib/kubelet/plugins_registry"
  std::string registration;         // "vfrail.io-reg.sock" in it
};

// With an instance (the pod's uid) both have its name, so that two of them can run during a rolling update:
// "dra-UID.sock", "vfrail.io-UID-reg.sock". Errc::invalid names a path that does not fit into a socket
// address (unix(7)), or a driver without the form of a DNS subdomain.
Result<DraSockets> find_dra_sockets(const std::string& kubelet_root, const std::string& driver,
                                    const std::string& instance);

class KeptEndpoint {
 public:
  using Time = std::chrono::steady_clock::time_point;

  // `log` outlives this, as does what is served.
  KeptEndpoint(Endpoint::Served served, Log& log) : endpoint_(std::move(served)), log_(log) {}

  // No value if it is served, or another instance has the path; else when to try again.
  std::optional<Time> keep_open(Time now);
  // kubelet has refused what it serves: it is opened anew, a while later at each refusal.
  void reopen_later(Time now);
  // kubelet has accepted it.
  void settle() { opening_.reset(); }
  void close(std::chrono::milliseconds patience) { endpoint_.close(patience); }

  bool is_open() const { return endpoint_.is_open() && !displaced_; }
  const std::string& path() const { return endpoint_.path(); }
  // Why it is not open; empty: it is, or was not asked to be.
  const std::string& trouble() const { return trouble_; }

 private:
  void open(Time now);

  Endpoint endpoint_;
  Log& log_;
  Backoff opening_;
  bool displaced_ = false;  // another process has put its socket at our path
  std::string trouble_;
};

}  // namespace vfrail::plugin
