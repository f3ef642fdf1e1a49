// Target: what a runtime hands to the program. An input is an environment as /proc/PID/environ shows it
// (NAME=VALUE, each with a zero behind it), an empty entry, and then stdin.
#include "cni/conf/result.h"
#include "cni/plan/plan.h"
#include "common/text.h"
#include "tests/fuzz/checks.h"

#include <filesystem>

using namespace vfrail;
using namespace vfrail::cni;
using namespace vfrail::fuzz;

namespace {

struct Input {
  Environment environment;
  std::string config;
};

Input split(std::string_view data) {
  Input out;
  while (!data.empty()) {
    const std::string_view entry = data.substr(0, data.find('\0'));
    data.remove_prefix(std::min(entry.size() + 1, data.size()));
    if (entry.empty()) break;
    const size_t equals = std::min(entry.find('='), entry.size() - 1);
    out.environment.emplace(entry.substr(0, equals), entry.substr(equals + 1));
  }
  out.config = data;
  return out;
}

Link host_link() {
  Link out;
  out.index = 7;
  out.name = "eth7";
  out.altnames = {"enp3s2f1", "net1"};
  out.mac = *MacAddress::parse("02:00:00:00:00:01");
  out.mtu = 1500;
  out.min_mtu = 68;
  out.max_mtu = 9216;
  out.parent_device = "0000:03:02.1";
  return out;
}

// A VF with netdev and RDMA device, one in the hands of vfio, a mere netdev; and what each refusal is about.
std::vector<State> states() {
  State whole;
  whole.device.id = *DeviceId::parse("0000:03:02.1");
  whole.device.driver = Driver("mlx5_core");
  whole.device.netdevs = {{.name = "eth7"}};
  whole.device.rdma = {{.name = "mlx5_4"}};
  whole.device.verbs_nodes = {"uverbs4"};
  whole.device.mad_nodes = {"umad4"};
  whole.link = host_link();
  whole.rdma_mode = RdmaNetnsMode::exclusive;
  whole.rdma = {{4, "mlx5_4", 0}};
  State vfio;
  vfio.device.id = whole.device.id;
  vfio.device.driver = Driver("vfio-pci");
  State away = whole;
  away.device.netdevs.clear();
  away.device.rdma.front().ports = {{.link_layer = "Ethernet"}};
  away.link.reset();
  State half_away = whole;
  half_away.rdma.clear();
  State several = whole;
  several.device.netdevs.push_back({.name = "eth8"});
  State member = whole;
  member.link->master = 3;
  State occupied = whole;
  occupied.occupant = host_link();
  State own = whole;
  own.same_netns = true;
  State infiniband = whole;
  infiniband.link->mac.bytes.resize(20);
  State netdev;
  netdev.device.netdevs = {{.name = "eth7"}};
  netdev.link = host_link();
  return {whole, vfio, netdev, away, half_away, several, member, occupied, own, infiniband};
}

void check_request(const Request& request) {
  const bool on_attachment =
      request.command == Command::add || request.command == Command::del || request.command == Command::check;
  if (on_attachment) {
    MUST(valid_container_id(request.container_id) && is_file_name(request.container_id));
    MUST(IfName::parse(request.ifname) && is_file_name(request.ifname) && request.ifname.text().size() < 16);
    MUST(!request.netns.empty() || request.command == Command::del);
    MUST(request.netns.empty() || request.netns[0] == '/');
    MUST(request.netns.size() < 4096);
  }
  for (const std::string& folder : request.path) MUST(folder[0] == '/');
  for (const auto& [key, value] : request.args) MUST(!key.empty() && value.find('=') == std::string::npos);
}

bool can_be_set(const MacAddress& mac) {
  return mac.bytes.size() == 6 && !mac.all_zero() && (mac.bytes[0] & 1) == 0;
}

void check_device(const DeviceSelector& device) {
  if (device.id) MUST(is_file_name(device.id->text()) && device.id->text().size() < 64);
  if (device.id) MUST(*DeviceId::parse(device.id->text()) == *device.id);
  // Also an alternative name, and the address of an IPoIB interface.
  const std::string& name = device.name;
  if (!name.empty()) MUST(is_file_name(name) && name.size() < 128 && !has_control_characters(name));
  const bool sound =
      device.mac && !device.mac->all_zero() && (device.mac->ipoib() || can_be_set(*device.mac));
  if (device.mac) MUST(sound && MacAddress::parse(device.mac->text()) == device.mac);
  if (device.kernel_path.empty()) return;
  // As the kernel would read it: the string ends at the first zero, and ".." goes up.
  const std::filesystem::path path = (device.kernel_path + "/net").c_str();
  MUST(path.lexically_normal().string().starts_with("/sys/devices/"));
  MUST(path.filename() == "net");
}

void check_conf(const NetConf& conf) {
  MUST(is_file_name(conf.entry.network) && !has_control_characters(conf.entry.network));
  MUST(conf.entry.ipam_type.empty() ||
       (is_file_name(conf.entry.ipam_type) && !has_control_characters(conf.entry.ipam_type)));
  check_device(conf.device);
  if (conf.link.mac.network) MUST(can_be_set(*conf.link.mac.network));
  if (conf.link.mac.runtime) MUST(can_be_set(*conf.link.mac.runtime));
  if (conf.link.mtu) MUST(*conf.link.mtu >= 68 && *conf.link.mtu <= 65535);
  if (!conf.log.file.empty()) MUST(conf.log.file[0] == '/' && !has_control_characters(conf.log.file));
  if (conf.entry.prev_result) MUST(conf.entry.prev_result->as_object() != nullptr);
}

void check_plan(const Request& request, const NetConf& conf, const State& state) {
  const auto plan = plan_attach(request, conf, state);
  if (!plan) return check_error(plan.error());
  MUST(plan->ifname == request.ifname);
  if (plan->mac) MUST(can_be_set(*plan->mac) && plan->mac->bytes.size() == state.link->mac.bytes.size());
  if (plan->mtu) MUST(*plan->mtu >= state.link->min_mtu && *plan->mtu <= state.link->max_mtu);
  check_record(make_record(request, conf.entry.network, state, *plan));
}

// What ADD would print, and what CHECK would compare.
void check_result(const Request& request, const NetConf& conf) {
  AddResult result;
  result.ifname = request.ifname;
  result.sandbox = request.netns;
  result.cni_version = conf.entry.cni_version;
  result.assignment.dns = conf.entry.dns;
  result.prev_result = conf.entry.prev_result;
  check_json(format_result(result));
  if (!conf.entry.prev_result) return;
  const auto mine = assignment_of(*conf.entry.prev_result, request.ifname, request.netns);
  if (!mine) check_error(mine.error());
}

// Printed by another program on the way (Multus does so), a configuration still means the same.
void check_printed(const Request& request, const NetConf& conf, const State& state) {
  const auto again = parse_net_conf(Json::parse(request.config.text())->text());
  MUST(again);
  const auto plan = plan_attach(request, conf, state);
  const auto plan_again = plan_attach(request, *again, state);
  MUST(static_cast<bool>(plan) == static_cast<bool>(plan_again));
  if (!plan) return;
  MUST(make_record(request, conf.entry.network, state, *plan) ==
       make_record(request, again->entry.network, state, *plan_again));
}

void check_version(const std::string& version) {
  check_json(format_error(version, 1, Error{Errc::invalid, 0, "cniVersion " + version}));
  MUST(version_supported(version) == (compare_versions(version, "0.1.0") >= 0));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const std::vector<State> kStates = states();
  Input input = split(text_of(data, size));
  const Configuration config(std::move(input.config));
  check_version(config.version());
  const auto& conf = config.conf();
  if (!conf) check_error(conf.error());
  if (conf) check_conf(*conf);
  const auto request = read_request(input.environment, config);
  if (!request) check_error(request.error());
  if (request && request->never_attached.empty()) check_request(*request);
  if (!request || !conf || request->command != Command::add) return 0;
  const auto mac = wanted_mac(*request, conf->link.mac);
  if (!mac) check_error(mac.error());
  // One of the states, and one of the ways back, for each new input.
  for (size_t i = 0; i < kStates.size(); ++i) {
    if (!is_due(i == config.text().size() % kStates.size())) continue;
    check_plan(*request, *conf, kStates[i]);
    if (is_due(size % 2 == 0)) check_printed(*request, *conf, kStates[i]);
  }
  if (is_due(size % 2 == 1)) check_result(*request, *conf);
  return 0;
}
