// The table that both programs are held to (common/node/host_use.h): interfaces of a host, with what they
// carry, and what the host uses a device for then. A row is read by the device plugin from sysfs, by
// vfrail-cni by netlink, and by the rule itself without either.
#pragma once

#include "common/node/host_use.h"
#include "tests/support/fake_kernel.h"
#include "tests/support/temp_dir.h"

#include <ostream>
#include <string>
#include <vector>

namespace vfrail {

// For Catch's messages.
inline std::ostream& operator<<(std::ostream& out, const HostUseFact& fact) {
  return out << static_cast<int>(fact.kind) << " " << fact.what;
}

}  // namespace vfrail

namespace vfrail::test {

struct HostUseCase {
  struct Interface {
    std::string name;
    std::string kind = "";
    std::string on = "";      // the interface that a VLAN, macvlan, ... is on
    std::string master = "";  // what it is a member of
  };
  struct Carried {
    std::string interface;
    std::string destination = "0.0.0.0/0";
    uint32_t table = 254;
  };
  struct Address {
    std::string interface;
    std::string address;
  };

  std::string name;
  std::vector<Interface> interfaces;  // the device's is "vf0"
  std::vector<Carried> routes;
  std::vector<Address> addresses;
  std::vector<HostUseFact> uses;  // all of them, in their order
};

const std::vector<HostUseCase>& host_use_cases();

// The facts of a row, as if both readers saw all.
HostLinks links_of(const HostUseCase& row);

// A node that is so: a kernel, and the sysfs that shows it.
struct HostUseNode {
  static constexpr const char* kDevice = "0000:21:10.0";

  explicit HostUseNode(const HostUseCase& row);
  // For a plugin without netlink: the default routes of the main IPv4 table. False: the row has others.
  bool write_routes(const HostUseCase& row) const;

  TempDir dir;
  FakeWorld world;
};

}  // namespace vfrail::test
