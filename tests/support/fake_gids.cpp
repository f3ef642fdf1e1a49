#include "tests/support/fake_gids.h"

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>

namespace vfrail::test {

namespace fs = std::filesystem;

namespace {

std::string gid_text(const IpAddress& address) {
  std::vector<uint8_t> bytes = address.bytes;
  if (!address.v6()) {
    bytes = std::vector<uint8_t>(10, 0);
    bytes.insert(bytes.end(), {0xff, 0xff});
    bytes.insert(bytes.end(), address.bytes.begin(), address.bytes.end());
  }
  std::string out;
  for (size_t i = 0; i < bytes.size(); i += 2) {
    char group[8];
    std::snprintf(group, sizeof group, "%s%02x%02x", i == 0 ? "" : ":", bytes[i], bytes[i + 1]);
    out += group;
  }
  return out;
}

}  // namespace

IpAddress FakeGids::default_gid(const MacAddress& mac) {
  IpAddress out;
  out.bytes = {0xfe, 0x80, 0, 0, 0, 0, 0, 0};
  out.bytes.insert(out.bytes.end(), mac.bytes.begin(), mac.bytes.begin() + 3);
  out.bytes.insert(out.bytes.end(), {0xff, 0xfe});
  out.bytes.insert(out.bytes.end(), mac.bytes.begin() + 3, mac.bytes.end());
  out.bytes[8] ^= 2;
  out.prefix = 64;
  return out;
}

bool FakeGids::has(const IpAddress& address) const {
  return std::any_of(entries_.begin(), entries_.end(),
                     [&](const auto& one) { return one && one->address.bytes == address.bytes; });
}

void FakeGids::occupy(const IpAddress& address, const std::string& netdev) {
  for (int type = 3 - types_; type <= 2; ++type) {
    const auto free = std::find(entries_.begin() + types_, entries_.end(), std::nullopt);
    *free = Entry{address, type, netdev, true};
  }
}

void FakeGids::follow(const MacAddress& mac, const std::string& netdev,
                      const std::vector<IpAddress>& addresses) {
  if (mac != mac_) entries_.assign(entries_.size(), std::nullopt);
  mac_ = mac;
  for (int i = 0; i < types_; ++i)
    entries_[static_cast<size_t>(i)] = Entry{default_gid(mac), 3 - types_ + i, netdev};
  for (size_t i = static_cast<size_t>(types_); i < entries_.size(); ++i) {
    if (!entries_[i] || entries_[i]->foreign) continue;
    const bool stays = std::any_of(addresses.begin(), addresses.end(), [&](const IpAddress& one) {
      return one.bytes == entries_[i]->address.bytes;
    });
    if (stays) {
      entries_[i]->netdev = netdev;
    } else {
      entries_[i].reset();
    }
  }
  for (const IpAddress& address : addresses) {
    if (has(address)) continue;
    occupy(address, netdev);
    for (auto& one : entries_) {
      if (one && one->address == address) one->foreign = false;
    }
  }
}

void FakeGids::write(const std::string& port_folder) const {
  const fs::path port = port_folder;
  for (const char* part : {"gids", "gid_attrs/types", "gid_attrs/ndevs"}) {
    fs::remove_all(port / part);
    fs::create_directories(port / part);
  }
  // A few that are not in use behind the last that is: tests write tables thousands of times.
  size_t end = entries_.size();
  while (end > 4 && !entries_[end - 3]) --end;
  for (size_t i = 0; i < end; ++i) {
    const auto& entry = entries_[i];
    const std::string number = std::to_string(i);
    std::ofstream(port / "gids" / number)
        << (entry ? gid_text(entry->address) : "0000:0000:0000:0000:0000:0000:0000:0000") << "\n";
    // The kernel answers EINVAL for an entry that is not in use, which readers take for a missing file.
    if (!entry) continue;
    std::ofstream(port / "gid_attrs/types" / number) << (entry->type == 1 ? "IB/RoCE v1" : "RoCE v2") << "\n";
    std::ofstream(port / "gid_attrs/ndevs" / number) << entry->netdev << "\n";
  }
}

}  // namespace vfrail::test
