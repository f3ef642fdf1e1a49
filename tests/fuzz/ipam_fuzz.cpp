// Target: what an IPAM plugin printed, and the same as the prevResult that a runtime hands back.
#include "cni/conf/result.h"
#include "tests/fuzz/checks.h"

#include <iterator>

using namespace vfrail;
using namespace vfrail::cni;
using namespace vfrail::fuzz;

namespace {

constexpr const char* kVersions[] = {"0.3.0", "0.3.1", "0.4.0", "1.0.0", "1.1.0"};
constexpr const char* kIfname = "net1";
constexpr const char* kSandbox = "/run/netns/x";
constexpr size_t kMaxOutput = 1 << 20;  // ipam.cpp
constexpr size_t kMaxEntries = 1024;    // result.cpp

AddResult result_of(const Assignment& assignment, const char* version) {
  AddResult out;
  out.cni_version = version;
  out.ifname = kIfname;
  out.sandbox = kSandbox;
  out.mac = "02:00:00:00:00:01";
  out.mtu = 9000;
  out.pci_id = "0000:03:02.1";
  out.assignment = assignment;
  return out;
}

void check_assignment(const Assignment& assignment) {
  MUST(assignment.ips.size() <= kMaxEntries && assignment.routes.size() <= kMaxEntries);
  for (const AssignedIp& ip : assignment.ips) {
    MUST(is_sound(ip.address));
    if (ip.gateway) MUST(is_sound(*ip.gateway));
  }
  for (const AssignedRoute& route : assignment.routes) {
    MUST(is_sound(route.destination));
    if (route.gateway) MUST(is_sound(*route.gateway));
  }
}

// What ADD prints is the prevResult of CHECK and DEL: it is read back, with every address of this interface.
void check_printed(const Assignment& assignment, const char* version) {
  const Json printed = format_result(result_of(assignment, version));
  check_json(printed);
  const auto mine = assignment_of(printed, kIfname, kSandbox);
  MUST(mine);
  MUST(mine->ips.size() == assignment.ips.size() && mine->routes.size() == assignment.routes.size());
  const auto again = parse_assignment(printed);
  MUST(again);
  MUST(format_result(result_of(*again, version)) == printed);
}

void check_chained(const Json& previous, const char* version) {
  AddResult result = result_of(Assignment{}, version);
  result.prev_result = previous;
  // Ours goes behind what was there, so it can be one level deeper than what Json::parse() reads.
  const Json out = format_result(result);
  MUST(out.find("interfaces")->as_array()->back().find("name")->text() == "\"net1\"");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto json = Json::parse(text_of(data, size), kMaxOutput);
  if (!json) {
    check_error(json.error());
    return 0;
  }
  if (is_due(size % 4 == 0)) check_json(*json);
  const auto assignment = parse_assignment(*json);
  if (!assignment) check_error(assignment.error());
  if (assignment) check_assignment(*assignment);
  const auto mine = assignment_of(*json, kIfname, kSandbox);
  if (!mine) check_error(mine.error());
  for (size_t i = 0; i < std::size(kVersions); ++i) {
    if (!is_due(i == size % std::size(kVersions))) continue;
    if (assignment && is_due(size % 2 == 0)) check_printed(*assignment, kVersions[i]);
    if (!assignment || is_due(size % 2 == 1)) check_chained(*json, kVersions[i]);
  }
  return 0;
}
