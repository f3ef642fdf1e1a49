#include "cni/conf/request.h"

#include "common/errors/error_id.h"
#include "common/ids.h"
#include "common/node/attachment_record.h"
#include "common/one_of.h"
#include "common/text.h"

#include <algorithm>
#include <cctype>
#include <cstdint>
#include <optional>

namespace vfrail::cni {

namespace {

constexpr size_t kMaxPath = 4095;  // PATH_MAX less the terminating zero

std::optional<Command> parse_command(std::string_view word) {
  if (word == "ADD") return Command::add;
  if (word == "DEL") return Command::del;
  if (word == "CHECK") return Command::check;
  if (word == "GC") return Command::gc;
  if (word == "STATUS") return Command::status;
  if (word == "VERSION") return Command::version;
  return std::nullopt;
}

std::vector<std::string> parts_between(std::string_view text, char separator) {
  std::vector<std::string> out;
  while (!text.empty()) {
    const size_t end = std::min(text.find(separator), text.size());
    if (end > 0) out.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return out;
}

// Collects what is wrong with the environment, so that one message names it all.
class Variables {
 public:
  explicit Variables(const Environment& environment) : environment_(environment) {}

  enum class Text : uint8_t { utf8, any };
  std::string get(const std::string& name, Text text = Text::utf8) {
    const auto at = environment_.find(name);
    if (at == environment_.end()) return {};
    // The record and the answers are JSON, which holds nothing else.
    if (text == Text::utf8 && !is_utf8(at->second)) {
      complain(name + " is not UTF-8 text");
      return {};
    }
    return at->second;
  }
  // Of the DEL after an ADD that was refused for the same value: as if it were not there.
  std::string get_if_text(const std::string& name) {
    const auto at = environment_.find(name);
    return at == environment_.end() || !is_utf8(at->second) ? std::string() : at->second;
  }
  std::string required(const std::string& name, Text text = Text::utf8) {
    const auto at = environment_.find(name);
    if (at == environment_.end() || at->second.empty()) complain(name + " is missing");
    return get(name, text);
  }
  void complain(const std::string& what) { problems_ += (problems_.empty() ? "" : ", ") + what; }
  const std::string& problems() const { return problems_; }

 private:
  const Environment& environment_;
  std::string problems_;
};

struct Args {
  std::map<std::string, std::string> values;
  std::string sound;                  // the text without its invalid parts
  std::vector<std::string> nonsense;  // the rest of it
};

Args parse_args(const std::string& text) {
  Args out;
  for (const std::string& pair : parts_between(text, ';')) {
    const size_t equals = pair.find('=');
    if (equals == std::string::npos || equals == 0 || pair.find('=', equals + 1) != std::string::npos) {
      out.nonsense.push_back(pair);
      continue;
    }
    out.values[pair.substr(0, equals)] = pair.substr(equals + 1);
    out.sound += (out.sound.empty() ? "" : ";") + pair;
  }
  return out;
}

// ADD is refused for invalid parts. The DEL after it has the same environment and must succeed, also with an
// IPAM plugin that would refuse it.
void read_args(Request& request, Variables& variables) {
  const bool is_del = request.command == Command::del;
  request.raw_args = is_del ? variables.get_if_text("CNI_ARGS") : variables.get("CNI_ARGS");
  Args args = parse_args(request.raw_args);
  request.args = std::move(args.values);
  if (is_del && !args.nonsense.empty()) {
    request.raw_args = args.sound;
    return;
  }
  for (const std::string& pair : args.nonsense)
    variables.complain("CNI_ARGS has \"" + pair.substr(0, 80) + "\", must be KEY=VALUE");
}

// Of the DEL after an ADD that was refused for it, without what is not text.
void read_path(Request& request, Variables& variables) {
  const bool is_del = request.command == Command::del;
  const bool is_needed = is_del || request.command == Command::add || request.command == Command::check ||
                         request.command == Command::gc;
  const auto text = is_del ? Variables::Text::any : Variables::Text::utf8;
  request.raw_path = is_needed ? variables.required("CNI_PATH", text) : variables.get("CNI_PATH");
  request.path = parts_between(request.raw_path, ':');
  std::erase_if(request.path, [](const std::string& folder) { return folder[0] != '/' || !is_utf8(folder); });
  if (!is_utf8(request.raw_path)) request.raw_path = joined(request.path, ":");
}

// Below /proc/sys/net, "all" and "default" are not interfaces: they set the whole pod.
std::optional<IfName> parse_name_in_pod(std::string_view name) {
  return name == "all" || name == "default" ? std::nullopt : IfName::parse(name);
}

bool valid_netns(std::string_view path) {
  return path.size() <= kMaxPath && (path.empty() || path[0] == '/');
}

// ADD is refused for these names, but not by libcni: so their DEL comes, and Multus takes a failed one for a
// pod that must not end.
std::string why_never_attached(const std::string& container_id, std::string ifname) {
  if (!valid_container_id(container_id) && valid_container_id(container_id.substr(0, kMaxContainerId)))
    return "CNI_CONTAINERID has more than " + std::to_string(kMaxContainerId) + " characters";
  if (parse_name_in_pod(ifname) && is_utf8(ifname)) return {};
  const std::string reason = is_utf8(ifname) ? "CNI_IFNAME \"" + ifname + "\" is not one that ADD accepts"
                                             : "CNI_IFNAME is not UTF-8 text, which ADD does not accept";
  std::replace(ifname.begin(), ifname.end(), '%', '_');
  return IfName::parse(ifname) ? reason : "";
}

void check_names(const Request& request, const std::string& ifname, Variables& variables) {
  if (!request.container_id.empty() && !valid_container_id(request.container_id)) {
    variables.complain(
        "CNI_CONTAINERID is not of the form [a-zA-Z0-9][a-zA-Z0-9_.-]* with at most 200 characters");
  }
  if (!ifname.empty() && request.ifname.empty()) {
    variables.complain(
        "CNI_IFNAME is not an interface name (1-15 bytes without '/', ':', '%' and white space; not \"all\" "
        "or "
        "\"default\")");
  }
}

void read_attachment(Request& request, Variables& variables) {
  const bool is_del = request.command == Command::del;
  request.container_id = variables.required("CNI_CONTAINERID");
  const std::string ifname =
      variables.required("CNI_IFNAME", is_del ? Variables::Text::any : Variables::Text::utf8);
  request.ifname = parse_name_in_pod(ifname).value_or(IfName());
  if (is_del) {
    request.never_attached = why_never_attached(request.container_id, ifname);
    request.netns = variables.get_if_text("CNI_NETNS");
    if (!valid_netns(request.netns)) request.netns.clear();
  } else {
    request.netns = variables.required("CNI_NETNS");
    if (!valid_netns(request.netns)) variables.complain("CNI_NETNS is not an absolute path");
  }
  if (request.never_attached.empty()) check_names(request, ifname, variables);
}

}  // namespace

const char* command_name(Command command) {
  static constexpr const char* kNames[] = {"ADD", "DEL", "CHECK", "GC", "STATUS", "VERSION"};
  return kNames[static_cast<size_t>(command)];
}

std::optional<Command> read_command(const Environment& environment) {
  const auto at = environment.find("CNI_COMMAND");
  return at == environment.end() ? std::nullopt : parse_command(at->second);
}

bool has_configuration(const Environment& environment) {
  return read_command(environment).value_or(Command::version) != Command::version;
}

Result<Request> read_request(const Environment& environment, Configuration config) {
  Variables variables(environment);
  Request request;
  const std::string word = variables.required("CNI_COMMAND");
  const auto command = parse_command(word);
  if (!word.empty() && !command)
    variables.complain("CNI_COMMAND " +
                       must_be_one_of({"ADD", "DEL", "CHECK", "GC", "STATUS", "VERSION"}, word));
  request.command = command.value_or(Command::version);
  request.config = std::move(config);
  const bool on_attachment =
      request.command == Command::add || request.command == Command::del || request.command == Command::check;
  if (on_attachment) read_attachment(request, variables);
  if (request.command != Command::version) {
    read_path(request, variables);
    read_args(request, variables);
  }
  const std::string override_word = variables.get_if_text("CNI_NETNS_OVERRIDE");
  request.netns_override = override_word == "1" || override_word == "true" || override_word == "TRUE";
  if (!variables.problems().empty())
    return Error{Errc::invalid, 0, "environment: " + variables.problems(), ErrorId::cni_environment};
  return request;
}

}  // namespace vfrail::cni
