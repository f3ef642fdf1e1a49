#include "cni/run_cni.h"

#include "cni/conf/result.h"
#include "cni/environment.h"
#include "cni/protocol.h"
#include "cni/verbs/rails.h"
#include "cni/verbs/status.h"
#include "cni/verbs/verbs.h"
#include "common/container/held_folder.h"
#include "common/errors/error_id.h"
#include "common/files.h"
#include "common/netlink/netlink_kernel.h"
#include "common/text.h"

#include <csignal>

namespace vfrail::cni {

namespace {

constexpr size_t kMaxStdin = 1 << 20;

Result<> print(const std::string& text) {
  auto written = write_stream(STDOUT_FILENO, text);
  if (!written) return std::move(written.error()).in("write to stdout");
  return {};
}

// If nobody can read it, the exit code still shows a failure.
int send(const Reply& reply) {
  if (reply.text.empty()) return reply.status;
  return print(reply.text) ? reply.status : 1;
}

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
      world.print_result = [](const AddResult& result) {
        return print(format_result(result).pretty() + "\n");
      };
      if (names_several(request)) return add_rails(request, world, own_worlds(environment, log));
      TRY(add(request, world));
      return {};
    }
    case Command::del:
      // If a runtime at its timeout interrupted DEL here, the rest would be left to the next ADD.
      std::signal(SIGTERM, SIG_IGN);
      if (may_have_rails(request)) return del_rails(request, world, own_worlds(environment, log));
      return del(request, world);
    case Command::check:
      if (names_several(request)) return check_rails(request, world, own_worlds(environment, log));
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

void prepare_log(const LogConf& wanted, Log& log) {
  log.set_level(wanted.level);
  if (wanted.file.empty()) return;
  if (const auto opened = open_log_file(wanted.file, log); !opened)
    log.warning(opened.error().text, {{"id", opened.error().id_text()}});
}

}  // namespace

int run_cni(const Environment& environment) {
  auto text = has_configuration(environment) ? read_stream(STDIN_FILENO, kMaxStdin) : std::string();
  const Call call = read_call(environment, std::move(text));
  const auto reply = reply_to(call);
  if (reply && reply->remark.empty()) return send(*reply);
  const Request& request = call.request;
  Log log;
  if (const auto& conf = request.config.conf()) prepare_log(conf->log, log);
  log.add_context("cmd", command_name(request.command));
  log.add_context("cid", request.container_id);
  log.add_context("ifname", request.ifname);
  if (reply) {
    log.warning("nothing is attached, and under these names nothing can have been",
                {{"reason", reply->remark}, {"id", id_text(ErrorId::cni_environment)}});
    return send(*reply);
  }
  const auto done = run_verb(request, environment, log);
  if (done) return 0;
  log.error(done.error().text, {{"id", done.error().id_text()}});
  return send(reply_to_failure(call, done.error()));
}

}  // namespace vfrail::cni
