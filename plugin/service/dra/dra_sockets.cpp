#include "plugin/service/dra/dra_sockets.h"

#include "common/container/claim_name.h"
#include "common/errors/error_id.h"
#include "common/text.h"
#include "plugin/service/kubelet/kubelet.h"
#include "plugin/service/kubelet/socket_owner.h"

#include <utility>

namespace vfrail::plugin {

namespace {

// sun_path has 108 bytes with the 0 at its end.
constexpr size_t kMaxPath = 107;
// How long calls that are under way may go on when the socket is created again.
constexpr std::chrono::milliseconds kReopenPatience{200};

Result<> check_fits(const std::string& path) {
  if (path.size() <= kMaxPath) return {};
  return Error{Errc::invalid, 0,
               "the socket " + path + " has " + std::to_string(path.size()) +
                   " bytes, a unix socket's path can have " + std::to_string(kMaxPath) +
                   "; a shorter --dra-driver is needed, or a shorter path of kubelet's folder",
               ErrorId::option_invalid};
}

// A DNS subdomain, and part of a path.
Result<> check_name(std::string_view flag, const std::string& name) {
  if (is_dns_subdomain(name, kMaxDriverName)) return {};
  return Error{Errc::invalid, 0,
               std::string(flag) + ": must be a DNS subdomain of at most " + std::to_string(kMaxDriverName) +
                   " characters (\"vfrail.io\"), got \"" + name + "\"",
               ErrorId::option_invalid};
}

}  // namespace

Result<DraSockets> find_dra_sockets(const std::string& kubelet_root, const std::string& driver,
                                    const std::string& instance) {
  TRY(check_name("--dra-driver", driver));
  if (!instance.empty()) TRY(check_name("the name of the instance", instance));
  DraSockets out;
  const std::string of_instance = instance.empty() ? "" : "-" + instance;
  out.plugin_folder = kubelet_root + "/plugins/" + driver;
  out.plugin = out.plugin_folder + "/dra" + of_instance + ".sock";
  out.registration_folder = socket_folder(kubelet_root, Registration::watcher);
  out.registration = out.registration_folder + "/" + driver + of_instance + "-reg.sock";
  TRY(check_fits(out.plugin));
  TRY(check_fits(out.registration));
  return out;
}

std::optional<KeptEndpoint::Time> KeptEndpoint::keep_open(Time now) {
  if (endpoint_.is_open()) {
    switch (endpoint_.socket()) {
      case Endpoint::Socket::ours:
        displaced_ = false;
        return std::nullopt;
      case Endpoint::Socket::foreign:
        if (displaced_) return std::nullopt;
        displaced_ = true;
        trouble_ = path() + " belongs to " + find_socket_owner(path()).value_or("a process that has ended");
        log_.warning(
            "another process serves the DRA driver now, waiting until its socket goes",
            {{"socket", path()}, {"reason", trouble_}, {"id", id_text(ErrorId::resource_contested)}});
        return std::nullopt;
      case Endpoint::Socket::gone:
        break;
    }
    if (now < opening_.next()) return opening_.next();
    log_.warning("the socket was removed by another process; creating it again",
                 {{"socket", path()}, {"id", id_text(ErrorId::resource_contested)}});
  }
  if (now < opening_.next()) return opening_.next();
  open(now);
  if (!endpoint_.is_open()) return opening_.next();
  return std::nullopt;
}

void KeptEndpoint::open(Time now) {
  displaced_ = false;
  endpoint_.close(kReopenPatience);
  const auto opened = endpoint_.open();
  // Also after a success, so that somebody who keeps removing sockets does not cause a busy loop.
  opening_.failed(now);
  if (opened) {
    trouble_.clear();
    log_.info("serving the DRA driver", {{"socket", path()}});
    return;
  }
  if (trouble_ != opened.error().text)
    log_.error("cannot serve the DRA driver",
               {{"reason", opened.error().text}, {"id", opened.error().id_text()}});
  trouble_ = opened.error().text;
}

void KeptEndpoint::reopen_later(Time now) {
  endpoint_.close(kReopenPatience);
  if (opening_.next() < now) opening_.failed(now);
}

}  // namespace vfrail::plugin
