// The GID table of a port, filled as ib_core's cache.c and roce_gid_mgmt.c fill it: default GIDs of the MAC
// in front, one for each RoCE type; every other address in the first free entry, once for each type.
#pragma once

#include "common/ids.h"
#include "common/ip_address.h"

#include <optional>
#include <string>
#include <vector>

namespace vfrail::test {

class FakeGids {
 public:
  // 2: RoCE v1 and v2, as mlx5 has them; 1: v2 alone, as rxe.
  explicit FakeGids(int types = 2) : types_(types), entries_(32) {}

  // The interface is what `mac` and `addresses` say, in the order in which it got them.
  void follow(const MacAddress& mac, const std::string& netdev, const std::vector<IpAddress>& addresses);
  // Below the folder of a port: gids, gid_attrs/types, gid_attrs/ndevs.
  void write(const std::string& port_folder) const;
  // Takes the first free entry, as an address of a VLAN upon the interface does.
  void occupy(const IpAddress& address, const std::string& netdev);

  // fe80:: and the MAC in EUI-64.
  static IpAddress default_gid(const MacAddress& mac);

 private:
  struct Entry {
    IpAddress address;
    int type = 2;
    std::string netdev;
    bool foreign = false;  // not of the interface itself
  };
  bool has(const IpAddress& address) const;

  int types_;
  MacAddress mac_;
  std::vector<std::optional<Entry>> entries_;
};

}  // namespace vfrail::test
