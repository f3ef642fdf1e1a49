// What CNI prints: results and errors as JSON, and what an IPAM plugin printed, parsed.
// Versions 0.1.0 to 1.1.0 (CNI specification 1.1, "Section 5: Result Types").
#pragma once

#include "cni/conf/net_conf.h"
#include "common/ip_address.h"
#include "common/json.h"
#include "common/result.h"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace vfrail::cni {

struct AssignedIp {
  IpAddress address;
  std::optional<IpAddress> gateway;
};

struct AssignedRoute {
  IpAddress destination;
  std::optional<IpAddress> gateway;
  std::optional<uint32_t> mtu;
  std::optional<uint32_t> advmss;
  std::optional<uint32_t> priority;
  std::optional<uint32_t> table;
  std::optional<uint8_t> scope;
  // Of the host's routes alone (hostConfig): no IPAM plugin has them.
  std::optional<IpAddress> source = {};
  bool onlink = false;
};

// The DNS of a result: each field as the configuration has it, else as the IPAM plugin has it.
Dns merged_dns(Dns configured, const Dns& assigned);

// What an IPAM plugin assigned.
struct Assignment {
  std::vector<AssignedIp> ips;
  std::vector<AssignedRoute> routes;
  Dns dns;
};

struct AddResult {
  std::string ifname;       // empty: nothing to add to prev_result
  std::string mac;          // empty: unknown
  uint32_t mtu = 0;         // 0: unknown
  std::string sandbox;      // path of the pod's namespace
  bool mtu_in_1_0 = false;  // sriov-cni reports it in a result of 1.0.0, too, which has no such field
  std::string pci_id;       // empty for what is not a PCI function
  Assignment assignment;
  std::optional<Json> prev_result;
  std::string cni_version;
};

inline constexpr std::string_view kNewestVersion = "1.1.0";
bool version_supported(std::string_view version);
// Orders two versions: -1, 0, 1; unknown texts are below all others.
int compare_versions(std::string_view a, std::string_view b);

// Reads what an IPAM plugin assigned. Errc::protocol when it is not a result, or an address cannot be read.
Result<Assignment> parse_assignment(const Json& json);
// The addresses, routes and DNS of this interface in a prevResult.
Result<Assignment> assignment_of(const Json& prev_result, std::string_view ifname, std::string_view sandbox);

// The interface of that name in a result. No value if it is not listed.
struct ResultInterface {
  std::string mac;  // empty: unknown
};
std::optional<ResultInterface> interface_of(const Json& prev_result, std::string_view ifname,
                                            std::string_view sandbox);

Json format_result(const AddResult& result);
Json format_versions();
std::string version_list();  // "0.1.0, 0.2.0, ... and 1.1.0", for messages

// result_old.cpp: converts a result of any version to the newest one, and back. The old formats have fewer
// fields, so the rest is left out.
Json current_result(const Json& result);
Json result_in_version(Json current, std::string_view version);
// A result as a strict reader of 1.0.0 wants it.
Json without_fields_of_1_1(Json result);
// Whether a result of that version is addresses and nothing else: before 0.3.0.
bool is_without_interfaces(std::string_view version);

// CNI error codes (specification 1.1, "Error"; 100 and above are vfrail's own).
enum class CniCode : uint16_t {
  incompatible_version = 1,
  unsupported_field = 2,
  invalid_environment = 4,
  io_failure = 5,
  decode_failure = 6,
  invalid_config = 7,
  invalid_netns = 8,
  try_again_later = 11,
  not_available = 50,
  degraded = 51,  // not available, and attached pods have lost something
  device_not_found = 100,
  name_taken = 101,
  permission_denied = 102,
  kernel_refused = 103,
};

// The code for an error; `invalid` is what Errc::invalid means at that point (the environment, the
// configuration).
uint16_t cni_code(const Error& error, CniCode invalid);
// An error as CNI prints it. Its id is in `details`, which runtimes show behind the message in a pod's event
// (libcni, types.Error).
Json format_error(std::string_view version, uint16_t code, const Error& error);

}  // namespace vfrail::cni
