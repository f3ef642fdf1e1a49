// vfrail-cni: environment and stdin in, one verb, JSON on stdout. See verbs.h.
#include "cni/command_line.h"
#include "cni/conf/net_conf.h"
#include "cni/conf/request.h"
#include "cni/conf/result.h"
#include "cni/environment.h"
#include "cni/ipam/ipam.h"
#include "cni/verbs/rails.h"
#include "cni/verbs/status.h"
#include "cni/verbs/verbs.h"
#include "common/container/held_folder.h"
#include "common/errors/error_id.h"
#include "common/files.h"
#include "common/netlink/netlink_kernel.h"
#include "common/text.h"

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <malloc.h>
#include <new>

extern char** environ;

namespace vfrail::cni {
namespace {

constexpr size_t kMaxStdin = 1 << 20;
constexpr int kHeap = 1 << 20;  // more than a verb uses; pages that are not touched cost nothing

Environment read_environment() {
  Environment out;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view text(*entry);
    const size_t equals = text.find('=');
    if (equals != std::string_view::npos) out.emplace(text.substr(0, equals), text.substr(equals + 1));
  }
  return out;
}

Result<> print(const Json& json) {
  auto written = write_stream(STDOUT_FILENO, json.pretty() + "\n");
  if (!written) return std::move(written.error()).in("write to stdout");
  return {};
}

// Best effort: if nobody can read it, the exit status still shows the failure.
int print_error(const std::string& version, const Error& error, CniCode invalid) {
  (void)print(format_error(version, cni_code(error, invalid), error));
  return 1;
}

// The code of Errc::peer is passed on.
Result<> report(const StatusAnswer& found) {
  if (found.missing.empty() && found.degraded.empty()) return {};
  const CniCode code = found.degraded.empty() ? CniCode::not_available : CniCode::degraded;
  std::vector<std::string> all = found.missing;
  all.insert(all.end(), found.degraded.begin(), found.degraded.end());
  return Error{Errc::peer, static_cast<int>(code), joined(all, "; also: "), found.id};
}

OwnWorlds own_worlds(const Environment& environment, const Log& log) {
  const auto run = [&](const std::string& ifname, const std::function<Result<>(World&)>& work) -> Result<> {
    const auto host = TRY(NetlinkKernel::open_current());
    auto store = open_store(environment);
    if (!store) return with_remedy(std::move(store).error());
    Log own;
    own.continue_from(log);
    own.add_context("rail", ifname);
    World world = make_world(environment, *host, std::move(*store), own);
    return work(world);
  };
  return {run};
}

Result<> run_verb(const Request& request, const Environment& environment, Log& log) {
  const auto host = TRY(NetlinkKernel::open_current());
  auto store = open_store(environment);
  if (!store) return with_remedy(std::move(store).error());
  World world = make_world(environment, *host, std::move(*store), log);
  switch (request.command) {
    case Command::add: {
      world.print_result = [](const AddResult& result) { return print(format_result(result)); };
      if (names_unit(request)) return add_rails(request, world, own_worlds(environment, log));
      TRY(add(request, world));
      return {};
    }
    case Command::del:
      // If a runtime at its timeout interrupted DEL here, the rest would be left to the next ADD.
      std::signal(SIGTERM, SIG_IGN);
      if (may_have_rails(request)) return del_rails(request, world, own_worlds(environment, log));
      return del(request, world);
    case Command::check:
      if (names_unit(request)) return check_rails(request, world, own_worlds(environment, log));
      return check(request, world);
    case Command::gc:
      return gc(request, world);
    case Command::status:
      return report(TRY(status(request, world)));
    case Command::version:
      break;
  }
  return {};
}

// A network's configuration names it, and root writes there, so it must be in the log folders.
Result<> open_log_file(const std::string& path, Log& log) {
  if (path == "/dev/null") return log.open_file(path);
  const auto file = TRY(with_id(ErrorId::log_file, find_below({"/var/log", "/tmp"}, path)),
                        "logFile, stderr is used instead");
  if (!file)
    return Error{Errc::not_found, 0, "logFile " + path + ": its folder is not there, stderr is used instead",
                 ErrorId::log_file};
  TRY(with_id(ErrorId::log_file, log.open_file(file->path())),
      "logFile " + path + ", stderr is used instead");
  return {};
}

// Errors of the configuration's version: which verb needs which (specification 1.1, "Versions").
Result<> check_version(const Request& request, const std::string& version) {
  if (!version_supported(version)) {
    return Error{Errc::invalid, 0,
                 "cniVersion " + version + " is not supported; supported are " + version_list(),
                 ErrorId::cni_version};
  }
  const char* least = request.command == Command::check                                      ? "0.4.0"
                      : request.command == Command::gc || request.command == Command::status ? "1.1.0"
                                                                                             : "0.1.0";
  if (compare_versions(version, least) >= 0) return {};
  return Error{Errc::invalid, 0,
               std::string(command_name(request.command)) + " needs cniVersion " + least +
                   " or later, the configuration has " + version,
               ErrorId::cni_version};
}

// Started by itself as an IPAM plugin, under another name or by a plugin that delegates back: it would
// recurse without end. Such a call attaches nothing, so there is nothing to restore.
std::optional<int> answer_itself(const Request& request, const Environment& environment,
                                 const std::string& version) {
  if (!environment.contains(kDelegatedVariable)) return std::nullopt;
  if (request.command == Command::del || request.command == Command::gc) return 0;
  const Error error{
      Errc::invalid, 0,
      "ipam.type leads back to vfrail, which assigns no addresses; name an IPAM plugin, whereabouts or "
      "host-local",
      ErrorId::ipam_is_vfrail};
  return print_error(version, error, CniCode::invalid_config);
}

int run_cni(const Environment& environment) {
  // A process of some milliseconds asks for its heap once, and gives nothing back before its end.
  ::mallopt(M_TOP_PAD, kHeap);
  ::mallopt(M_TRIM_THRESHOLD, kHeap);
  std::signal(SIGPIPE, SIG_IGN);
  auto text = has_configuration(environment) ? read_stream(STDIN_FILENO, kMaxStdin) : std::string();
  if (!text) (void)std::move(text.error()).in("read stdin");
  // No ADD accepts one that is too long, but its DEL comes.
  const bool is_too_long = !text && text.error().sys == 0;
  const auto verb = environment.find("CNI_COMMAND");
  if (!text && !(is_too_long && verb->second == "DEL"))
    return print_error("1.1.0", text.error(), CniCode::io_failure);
  Configuration config = text ? Configuration(std::move(*text)) : Configuration(std::move(text).error());
  const std::string version = config.version();
  const auto request = read_request(environment, std::move(config));
  if (!request) return print_error(version, request.error(), CniCode::invalid_environment);
  if (request->command == Command::version) {
    return print(format_versions()) ? 0 : 1;
  }
  if (const auto answered = answer_itself(*request, environment, version)) return *answered;
  // The JSON itself first: a text that cannot be read has no version to check.
  const Result<NetConf>& conf = request->config.conf();
  const bool decoded = request->config.is_decoded();
  const bool is_del = request->command == Command::del;
  if (const auto fits = check_version(*request, version); decoded && !fits && !is_del) {
    return print_error(version, fits.error(), CniCode::incompatible_version);
  }
  // DEL can do without: it uses the configuration in its record, and without a record a refused configuration
  // has attached nothing. Multus takes a failed DEL for a pod that must not end.
  const bool mistyped = request->config.is_mistyped();
  if (!conf && !is_del)
    return print_error(version, conf.error(), mistyped ? CniCode::decode_failure : CniCode::invalid_config);

  Log log;
  if (conf) log.set_level(conf->log.level);
  if (conf && !conf->log.file.empty()) {
    if (const auto opened = open_log_file(conf->log.file, log); !opened)
      log.warning(opened.error().text, {{"id", opened.error().id_text()}});
  }
  log.add_context("cmd", command_name(request->command));
  log.add_context("cid", request->container_id);
  log.add_context("ifname", request->ifname);
  if (!request->never_attached.empty()) {
    log.warning("nothing is attached, and under these names nothing can have been",
                {{"reason", request->never_attached}, {"id", id_text(ErrorId::cni_environment)}});
    return 0;
  }
  const auto done = run_verb(*request, environment, log);
  if (done) return 0;
  log.error(done.error().text, {{"id", done.error().id_text()}});
  const bool unavailable = request->command == Command::status && done.error().code != Errc::peer;
  if (unavailable) {
    (void)print(format_error(version, static_cast<uint16_t>(CniCode::not_available), done.error()));
    return 1;
  }
  return print_error(version, done.error(), CniCode::invalid_config);
}

}  // namespace
}  // namespace vfrail::cni

int main(int count, char** arguments) {
  try {
    const auto environment = vfrail::cni::read_environment();
    if (count > 1 || !environment.contains("CNI_COMMAND"))
      return vfrail::cni::run_command_line({arguments + 1, arguments + count}, environment);
    return vfrail::cni::run_cni(environment);
  } catch (const std::exception& error) {
    // bad_alloc, in practice: even then the runtime gets its JSON.
    std::printf("{\"cniVersion\": \"1.1.0\", \"code\": 999, \"msg\": \"vfrail: unexpected: %s\"}\n",
                error.what());
    return 1;
  }
}
