#include "cni/protocol.h"

#include "cni/conf/result.h"
#include "cni/ipam/ipam.h"
#include "common/errors/error_id.h"

#include <array>

namespace vfrail::cni {

namespace {

struct Row {
  Finding finding;
  std::array<Answer, 6> answers;  // in the order of Command
};

// DEL can do without a configuration: it uses that in its record, and without a record a refused one has
// attached nothing. GC needs the network's name and the list of attachments alone, and refuses those itself.
// Multus takes a failed DEL for a pod that must not end. Nothing is attached by a nested
// call, so its DEL and GC have nothing to restore. VERSION has no configuration.
constexpr auto kTable = [] {
  using enum Finding;
  constexpr auto next = Answer::next, run = Answer::run, succeed = Answer::succeed, list = Answer::versions;
  constexpr auto io = Answer::io_failure, env = Answer::invalid_environment;
  constexpr auto version = Answer::incompatible_version;
  constexpr auto json = Answer::decode_failure, conf = Answer::invalid_config;
  // clang-format off
  return std::array{
      //                     ADD      DEL      CHECK    GC       STATUS   VERSION
      Row{stdin_unreadable, {io,      io,      io,      io,      io,      next}},
      Row{stdin_too_long,   {io,      next,    io,      io,      io,      next}},
      Row{bad_environment,  {env,     env,     env,     env,     env,     env}},
      Row{nested,           {conf,    succeed, conf,    succeed, conf,    next}},
      Row{other_version,    {version, next,    version, version, version, next}},
      Row{not_json,         {json,    next,    json,    json,    json,    next}},
      Row{beyond_a_limit,   {conf,    next,    conf,    conf,    conf,    next}},
      Row{mistyped,         {json,    next,    json,    json,    json,    next}},
      Row{refused,          {conf,    next,    conf,    next,    conf,    next}},
      Row{never_attached,   {next,    succeed, next,    next,    next,    next}},
      Row{accepted,         {run,     run,     run,     run,     run,     list}},
  };
  // clang-format on
}();

constexpr bool rows_are_in_order() {
  for (size_t i = 0; i < kTable.size(); ++i)
    if (static_cast<size_t>(kTable[i].finding) != i) return false;
  return kTable.size() == static_cast<size_t>(Finding::accepted) + 1;
}
static_assert(rows_are_in_order());

// What Errc::invalid means for an answer that is an error.
CniCode code_of(Answer answer) {
  switch (answer) {
    case Answer::io_failure:
      return CniCode::io_failure;
    case Answer::invalid_environment:
      return CniCode::invalid_environment;
    case Answer::incompatible_version:
      return CniCode::incompatible_version;
    case Answer::decode_failure:
      return CniCode::decode_failure;
    case Answer::invalid_config:
    case Answer::next:
    case Answer::run:
    case Answer::succeed:
    case Answer::versions:
      break;
  }
  return CniCode::invalid_config;
}

// Which verb needs which version: specification 1.1, "Versions".
std::optional<Error> find_other_version(Command command, const std::string& version) {
  if (!version_supported(version)) {
    return Error{Errc::invalid, 0,
                 "cniVersion " + version + " is not supported; supported are " + version_list(),
                 ErrorId::cni_version};
  }
  const char* least = command == Command::check                              ? "0.4.0"
                      : command == Command::gc || command == Command::status ? "1.1.0"
                                                                             : "0.1.0";
  if (compare_versions(version, least) >= 0) return std::nullopt;
  return Error{Errc::invalid, 0,
               std::string(command_name(command)) + " needs cniVersion " + least +
                   " or later, the configuration has " + version,
               ErrorId::cni_version};
}

// Under another name, or by a plugin that delegates back: it would recurse without end.
Error nested_call() {
  return {Errc::invalid, 0,
          "ipam.type leads back to vfrail, which assigns no addresses; name an IPAM plugin, whereabouts or "
          "host-local",
          ErrorId::ipam_is_vfrail};
}

Finding why_refused(const Configuration& config, const Error& refusal) {
  if (config.is_mistyped()) return Finding::mistyped;
  if (config.is_decoded()) return Finding::refused;
  return refusal.code == Errc::protocol ? Finding::not_json : Finding::beyond_a_limit;
}

Reply error_reply(std::string_view version, uint16_t code, const Error& error) {
  return {.status = 1, .text = format_error(version, code, error).pretty() + "\n", .remark = {}};
}

Reply make_reply(const Call& call, const Call::Found& found, Answer answer) {
  if (answer == Answer::versions)
    return {.status = 0, .text = format_versions().pretty() + "\n", .remark = {}};
  if (answer == Answer::succeed)
    return {
        .status = 0, .text = {}, .remark = found.finding == Finding::never_attached ? found.error.text : ""};
  // What could not be read has no version.
  const std::string_view version = answer == Answer::io_failure ? kNewestVersion : call.version;
  return error_reply(version, cni_code(found.error, code_of(answer)), found.error);
}

}  // namespace

Answer answer_to(Finding finding, Command command) {
  return kTable[static_cast<size_t>(finding)].answers[static_cast<size_t>(command)];
}

Call read_call(const Environment& environment, Result<std::string> text) {
  Call out;
  const auto find = [&out](Finding finding, Error error) {
    out.findings.push_back({finding, std::move(error)});
  };
  out.command = read_command(environment).value_or(Command::version);
  if (!text) {
    const bool is_too_long = text.error().sys == 0;
    (void)std::move(text.error()).in("read stdin");
    find(is_too_long ? Finding::stdin_too_long : Finding::stdin_unreadable, text.error());
  }
  Configuration config = text ? Configuration(*text) : Configuration(std::move(text).error());
  out.version = config.version();
  auto request = read_request(environment, std::move(config));
  if (!request) {
    find(Finding::bad_environment, std::move(request).error());
    return out;
  }
  out.request = std::move(*request);
  const Configuration& sent = out.request.config;
  if (environment.contains(kDelegatedVariable)) find(Finding::nested, nested_call());
  // The JSON itself first: a text that cannot be read has no version to check.
  if (auto other = find_other_version(out.command, out.version); other && sent.is_decoded())
    find(Finding::other_version, std::move(*other));
  if (!sent.conf()) find(why_refused(sent, sent.conf().error()), sent.conf().error());
  if (const std::string& why = out.request.never_attached; !why.empty())
    find(Finding::never_attached, Error{Errc::invalid, 0, why, ErrorId::cni_environment});
  find(Finding::accepted, Error());
  return out;
}

std::optional<Reply> reply_to(const Call& call) {
  for (const Call::Found& found : call.findings) {
    const Answer answer = answer_to(found.finding, call.command);
    if (answer == Answer::run) break;
    if (answer != Answer::next) return make_reply(call, found, answer);
  }
  return std::nullopt;
}

Reply reply_to_failure(const Call& call, const Error& error) {
  // The code of Errc::peer is passed on.
  const bool is_unavailable = call.command == Command::status && error.code != Errc::peer;
  const uint16_t code = is_unavailable ? static_cast<uint16_t>(CniCode::not_available)
                                       : cni_code(error, CniCode::invalid_config);
  return error_reply(call.version, code, error);
}

}  // namespace vfrail::cni
