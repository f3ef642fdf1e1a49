#include "tests/netns/snapshot.h"

#include "common/netlink/netlink_kernel.h"

#include <algorithm>
#include <filesystem>
#include <set>
#include <sstream>
#include <vector>

namespace vfrail::test {

namespace fs = std::filesystem;

namespace {

std::string line_of(const Link& link) {
  // IFF_RUNNING, IFF_LOWER_UP, IFF_DORMANT: the carrier, which comes some time after `up`.
  const uint32_t carrier = 0x40U | 0x10000U | 0x20000U;
  std::ostringstream out;
  out << "link " << link.name.text() << ' ' << link.mac.text() << ' ' << link.permanent_mac.text() << " mtu "
      << link.mtu << " txqlen " << link.tx_queue_len << " flags " << (link.flags & ~carrier) << " promisc "
      << link.promiscuity << " allmulti " << link.allmulti << " master " << link.master << " kind "
      << link.kind << " alias '" << link.alias << "' altnames";
  std::vector<std::string> altnames = link.altnames;
  std::sort(altnames.begin(), altnames.end());
  for (const std::string& name : altnames) out << ' ' << name;
  return out.str();
}

std::string line_of(const Route& route, const std::string& link) {
  std::ostringstream out;
  out << "route " << route.destination.cidr() << " via " << (route.gateway ? route.gateway->text() : "-")
      << " dev " << link << " table " << route.table << " metric " << route.priority.value_or(0);
  return out.str();
}

bool says_nothing(const std::string& name) { return name == "lock" || name.starts_with("last_reserved_ip"); }

}  // namespace

std::unique_ptr<Kernel> kernel_at(const std::string& path) {
  auto netns = must_read(Netns::open(path), "open namespace");
  if (!netns) throw std::runtime_error(path + " is no namespace");
  return must_read(NetlinkKernel::open(std::move(*netns)), "open namespace");
}

std::string snapshot(Kernel& kernel) {
  std::set<std::string> lines;
  const auto links = must_read(kernel.links(), "list links");
  for (const Link& link : links) {
    lines.insert(line_of(link));
    for (const LinkAddress& address : must_read(kernel.addresses(link.index), "list addresses"))
      lines.insert("address " + address.address.cidr() + " on " + link.name);
  }
  for (const Route& route : must_read(kernel.routes(0), "list routes")) {
    const auto of =
        std::find_if(links.begin(), links.end(), [&](const Link& l) { return l.index == route.link; });
    lines.insert(line_of(route, of == links.end() ? "-" : of->name));
  }
  for (const RdmaDevice& device : must_read(kernel.rdma_devices(), "list RDMA devices"))
    lines.insert("rdma " + device.name);
  std::string out;
  for (const std::string& line : lines) out += line + "\n";
  return out;
}

std::string files_below(const std::string& folder) {
  std::set<std::string> lines;
  std::error_code ignored;
  for (const auto& entry : fs::recursive_directory_iterator(folder, ignored)) {
    if (says_nothing(entry.path().filename().string())) continue;
    // What a device was before its first attachment is kept until the next boot.
    if (entry.path().parent_path().filename() == "baselines") continue;
    std::string line = "file " + entry.path().string();
    if (entry.is_symlink()) line += " -> " + fs::read_symlink(entry.path()).string();
    if (!entry.is_directory() || entry.is_symlink()) lines.insert(line);
  }
  std::string out;
  for (const std::string& line : lines) out += line + "\n";
  return out;
}

std::string difference(const std::string& before, const std::string& after) {
  const auto lines = [](const std::string& text) {
    std::set<std::string> out;
    std::istringstream in(text);
    for (std::string line; std::getline(in, line);) out.insert(line);
    return out;
  };
  const auto had = lines(before);
  const auto has = lines(after);
  std::string out;
  for (const std::string& line : had) {
    if (!has.contains(line)) out += "    - " + line + "\n";
  }
  for (const std::string& line : has) {
    if (!had.contains(line)) out += "    + " + line + "\n";
  }
  return out;
}

}  // namespace vfrail::test
