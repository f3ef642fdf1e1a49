#include "cni/in_pod/traffic_command.h"

#include "cni/in_pod/facts/nccl_choice.h"
#include "cni/in_pod/traffic/traffic_greeter.h"
#include "cni/in_pod/traffic/traffic_message.h"
#include "common/escape.h"
#include "common/text.h"

#include <algorithm>
#include <charconv>

namespace vfrail::pod {

namespace {

constexpr uint16_t kDefaultPort = 18517;  // perftest's is 18515
constexpr double kConnectSeconds = 10;
constexpr int64_t kMaxWait = 86400;
constexpr const char* kTestVariable = "VFRAIL_TEST";
constexpr const char* kTestNames = "a name of at most 63 letters, digits, '-', '_' and '.'";

Error wrong(const std::string& option, const std::string& value, const std::string& wanted) {
  return {Errc::invalid, 0, option + ": \"" + value.substr(0, 60) + "\" is not " + wanted};
}

// Decimal, with K or M behind it for powers of 1024.
std::optional<int64_t> parse_bytes(const std::string& text) {
  int64_t out = 0;
  const char* end = text.data() + text.size();
  const auto [at, error] = std::from_chars(text.data(), end, out);
  if (error != std::errc() || out < 0 || out > int64_t{kMaxMessage}) return std::nullopt;
  const std::string unit(at, end);
  if (unit == "K") return out << 10;
  if (unit == "M") return out << 20;
  return unit.empty() ? std::optional(out) : std::nullopt;
}

struct Range {
  int64_t least;
  int64_t most;
};

Result<std::optional<int64_t>> number_option(const CommandWords& words, const std::string& option,
                                             Range range) {
  const auto at = words.options.find(option);
  if (at == words.options.end()) return std::optional<int64_t>();
  const std::string& text = at->second;
  int64_t out = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
  if (error != std::errc() || end != text.data() + text.size() || out < range.least || out > range.most)
    return wrong(option, text,
                 "a number from " + std::to_string(range.least) + " to " + std::to_string(range.most));
  return std::optional(out);
}

Result<std::optional<IpAddress>> address_option(const CommandWords& words, const std::string& option) {
  const auto at = words.options.find(option);
  if (at == words.options.end()) return std::optional<IpAddress>();
  const auto address = IpAddress::parse(at->second);
  if (!address) return wrong(option, at->second, "an IP address: a static program has no DNS");
  return address;
}

Result<TrafficRole> read_role(const CommandWords& words) {
  if (words.has("--listen") + words.has("--to") + words.has("--loopback") > 1)
    return Error{Errc::invalid, 0, "--listen, --to and --loopback exclude each other"};
  if (words.has("--listen")) return TrafficRole::listen;
  return words.has("--to") ? TrafficRole::call : TrafficRole::loop_back;
}

// Options that the role does not have.
Result<> refuse_others(const CommandWords& words, TrafficRole role) {
  constexpr std::pair<const char*, TrafficRole> kOfOne[] = {
      {"--bind", TrafficRole::listen}, {"--keep", TrafficRole::listen}, {"--wait", TrafficRole::listen}};
  for (const auto& [option, of] : kOfOne) {
    if (words.has(option) && role != of)
      return Error{Errc::invalid, 0, std::string(option) + " needs --listen"};
  }
  for (const char* option : {"--port", "--test"}) {
    if (words.has(option) && role == TrafficRole::loop_back)
      return Error{Errc::invalid, 0, std::string(option) + " needs --listen or --to"};
  }
  for (const char* option : {"--message", "--seconds"}) {
    if (words.has(option) && role == TrafficRole::listen)
      return Error{Errc::invalid, 0, std::string(option) + ": the caller, with --to, decides it"};
  }
  return {};
}

// The entry of the pod file if it is still the address's, else the one that NCCL finds.
uint32_t gid_index_of(const Rail& rail, const RailPort& port, const CheckedPod& pod) {
  const DescribedInterface* attached = pod.attachment_of(rail);
  const auto address = attached == nullptr ? std::nullopt : first_for_gid(attached->addresses);
  if (address && attached->gid_index) {
    const Gid* now = port.find(*address, 2);
    if (now != nullptr && now->index == *attached->gid_index) return now->index;
  }
  return choose_gid_index(port, NcclSettings());
}

size_t place_in_file(const Rail& rail, const CheckedPod& pod) {
  const DescribedInterface* attached = pod.attachment_of(rail);
  if (attached == nullptr) return kMaxTrafficRails;
  return static_cast<size_t>(attached - (*pod.file)->interfaces.data());
}

std::string address_of(const PodLink& link) {
  for (const IpAddress& address : link.addresses) {
    if (link.name != "lo" && !is_link_local(address)) return address.text();
  }
  return "";
}

}  // namespace

std::string default_test_name(const PodEnvironment& environment) {
  const auto value = [&](const char* name) {
    const auto at = environment.find(name);
    return at == environment.end() ? std::string() : at->second;
  };
  if (environment.contains(kTestVariable)) return value(kTestVariable);
  const std::string host = value("HOSTNAME");
  const std::string end = "-" + value("JOB_COMPLETION_INDEX");
  return end.size() > 1 && host.ends_with(end) ? host.substr(0, host.size() - end.size()) : "";
}

// The interface of the default route, by which pods reach each other; then one that is not a rail, then any.
std::string address_to_call(const CheckedPod& pod) {
  if (!pod.network) return "ADDRESS";
  std::vector<const PodLink*> links;
  for (const Route& route : pod.network->routes) {
    const PodLink* link = pod.network->find(route.link);
    if (route.destination.prefix == 0 && link != nullptr) links.push_back(link);
  }
  const auto rails = pod.rails.ok() ? *pod.rails : std::vector<Rail>();
  const auto is_rail = [&](const PodLink& link) {
    return std::any_of(rails.begin(), rails.end(), [&](const Rail& rail) {
      return std::find(rail.netdevs.begin(), rail.netdevs.end(), link.name) != rail.netdevs.end();
    });
  };
  for (const bool rails_now : {false, true}) {
    for (const PodLink& link : pod.network->links)
      if (is_rail(link) == rails_now) links.push_back(&link);
  }
  for (const PodLink* link : links) {
    if (std::string address = address_of(*link); !address.empty()) return address;
  }
  return "ADDRESS";
}

namespace {

Result<std::string> test_name_of(const TrafficCommand& command, const CheckedPod& pod) {
  if (command.test) return *command.test;
  const std::string name = default_test_name(pod.environment);
  if (!is_test_name(name)) return wrong(kTestVariable, name, kTestNames);
  return name;
}

Result<TrafficSide> side_of(const TrafficCommand& command, const CheckedPod& pod, const TrafficWorld& world) {
  TRY(pod.rails);
  TrafficSide out{traffic_rails(pod, command.gid_index), world.devices, world.clock};
  out.test = TRY(test_name_of(command, pod));
  if (out.rails.empty())
    return Error{Errc::not_found, 0, "there is no RDMA device to test: vfrail-check says why (VF-P02)"};
  return out;
}

}  // namespace

std::vector<OptionText> traffic_options() {
  return {
      {{"--listen"}, "", "Test the rails with those of another pod: wait for it"},
      {{"--to"}, "ADDRESS", "Test the rails with those of the pod that has this address and listens"},
      {{"--loopback"}, "", "Test each rail with itself"},
      {{"--port"}, "N", "TCP port of --listen and --to (18517)"},
      {{"--bind"}, "ADDRESS", "Listen on this address alone (default: all addresses)"},
      {{"--test"},
       "NAME",
       "Test only with who has the same name (VFRAIL_TEST, or that of the Indexed Job, or none)"},
      {{"--keep"}, "", "Listen for more than one test"},
      {{"--wait"}, "SECONDS", "How long to wait for a caller (600)"},
      {{"--message"}, "BYTES", "Size of each RDMA write, 64K to 8M (1M)"},
      {{"--seconds"}, "N", "How long each rail writes, 1 to 60 (2)"},
      {{"--gid-index"}, "N", "Entry of the ports' GID tables (that of the pod's file, else NCCL's choice)"}};
}

Result<std::optional<TrafficCommand>> read_traffic_command(const CommandWords& words) {
  if (!words.has("--listen") && !words.has("--to") && !words.has("--loopback")) {
    for (const OptionText& option : traffic_options()) {
      if (words.has(option.names.back()))
        return Error{Errc::invalid, 0, option.names.back() + " needs --listen, --to or --loopback"};
    }
    return std::optional<TrafficCommand>();
  }
  TrafficCommand out;
  out.role = TRY(read_role(words));
  TRY(refuse_others(words, out.role));
  if (words.has("--root"))
    return Error{Errc::invalid, 0, "traffic cannot be tested in a copy of files (--root)"};
  out.to.port = static_cast<uint16_t>(TRY(number_option(words, "--port", {1, 65535})).value_or(kDefaultPort));
  if (const auto address = TRY(address_option(words, "--to"))) out.to.address = *address;
  out.bind = TRY(address_option(words, "--bind"));
  if (const auto at = words.options.find("--test"); at != words.options.end()) {
    if (!is_test_name(at->second)) return wrong("--test", at->second, kTestNames);
    out.test = at->second;
  }
  out.keep = words.has("--keep");
  out.wait_seconds = TRY(number_option(words, "--wait", {1, kMaxWait})).value_or(out.wait_seconds);
  out.size.seconds = TRY(number_option(words, "--seconds", {1, kMaxSeconds})).value_or(out.size.seconds);
  if (const auto index = TRY(number_option(words, "--gid-index", {0, 255})))
    out.gid_index = static_cast<uint32_t>(*index);
  if (const auto at = words.options.find("--message"); at != words.options.end()) {
    const auto bytes = parse_bytes(at->second);
    if (!bytes || *bytes < int64_t{kMinMessage} || *bytes > int64_t{kMaxMessage})
      return wrong("--message", at->second, "a size from 64K to 8M");
    out.size.message_bytes = static_cast<uint32_t>(*bytes);
  }
  return std::optional(std::move(out));
}

std::vector<TrafficRail> traffic_rails(const CheckedPod& pod, std::optional<uint32_t> gid_index) {
  std::vector<Rail> rails = pod.own_rails();
  std::stable_sort(rails.begin(), rails.end(), [&](const Rail& a, const Rail& b) {
    return place_in_file(a, pod) < place_in_file(b, pod);
  });
  std::vector<TrafficRail> out;
  for (const Rail& rail : rails) {
    if (rail.ports.empty() || out.size() == kMaxTrafficRails) continue;
    const RailPort& port = rail.ports.front();
    TrafficRail& one = out.emplace_back(TrafficRail{rail.name, port.number, port.is_active(), {}, 0});
    if (port.is_roce()) one.gid_index = gid_index ? *gid_index : gid_index_of(rail, port, pod);
    one.rate_gbits = port.gbits();
  }
  return out;
}

Result<TrafficOutcome> test_traffic(const TrafficCommand& command, const CheckedPod& pod,
                                    const TrafficWorld& world) {
  const TrafficSide side = TRY(side_of(command, pod, world));
  if (command.role == TrafficRole::loop_back) return loop_back(side, command.size);
  auto channel = TRY(connect_to_listener(command.to, kConnectSeconds, world.clock));
  world.say("testing " + counted(side.rails.size(), "rail") + " with " + command.to.text());
  auto out = TRY(call_for_traffic(channel, side, command.size), command.to.text());
  out.peer = command.to.address.text();
  return out;
}

Result<> listen_for_traffic(const TrafficCommand& command, const CheckedPod& pod, const TrafficWorld& world) {
  const TrafficSide side = TRY(side_of(command, pod, world));
  TrafficGreeter greeter(TRY(TrafficListener::open(command.bind, command.to.port)), side, world.say);
  const std::string address = command.bind ? command.bind->text() : address_to_call(pod);
  world.say("listening on " + (command.bind ? address : "all addresses") + ", port " +
            std::to_string(command.to.port) + ", for " + std::to_string(command.wait_seconds) +
            " s; in the other pod: vfrail-check --to " + address +
            (command.to.port == kDefaultPort ? "" : " --port " + std::to_string(command.to.port)) +
            (side.test.empty() ? "" : " --test " + side.test));
  for (;;) {
    auto caller = greeter.next(world.clock.seconds() + static_cast<double>(command.wait_seconds));
    if (!caller && caller.error().code == Errc::timeout)
      return Error{Errc::timeout, 0,
                   "nobody has called in " + std::to_string(command.wait_seconds) +
                       " s; --wait sets a longer time; a NetworkPolicy must let TCP to this port pass"};
    if (!caller) return std::move(caller).error();
    auto served = serve_traffic(caller->channel, side, caller->size);
    world.say(caller->peer + ": " + (served ? "test done" : served.error().text));
    if (world.clock.is_stopped()) return Error{Errc::peer, 0, "interrupted"};
    if (!command.keep) return served;
  }
}

}  // namespace vfrail::pod
