#include "cni/node/link_differences.h"

#include <algorithm>
#include <iterator>

namespace vfrail::cni {

namespace {

template <class T>
void compare(const char* what, const T& now, const T& before, std::vector<std::string>& out) {
  if (now != before)
    out.push_back(std::string(what) + " is " + std::to_string(now) + ", was " + std::to_string(before));
}

}  // namespace

std::vector<std::string> link_differences(const LinkBefore& before, const Link& now) {
  std::vector<std::string> out;
  if (now.mac != before.mac) out.push_back("its address is " + now.mac.text() + ", was " + before.mac.text());
  if (before.has_other_broadcast(now))
    out.push_back("its broadcast address is " + now.broadcast.text() + ", was " + before.broadcast.text());
  compare("its MTU", now.mtu, before.mtu, out);
  compare("its queue length", now.tx_queue_len, before.tx_queue_len, out);
  if (now.alias != before.alias)
    out.push_back("its alias is \"" + now.alias + "\", was \"" + before.alias + "\"");
  compare("promisc", int{now.promisc_set()}, int{before.promisc}, out);
  compare("allmulti", int{now.allmulti_set()}, int{before.allmulti}, out);
  const LinkOptions other = before.options.differing_from(now.options);
  for (const auto& row : LinkOptions::kRows) {
    const auto& value = now.options.*row.value;
    if (other.*row.value) compare(row.name, value.value_or(0), *(before.options.*row.value), out);
  }
  // Kernels that lack 8e15aee62161 (Linux 6.6) lose their way to the names of a netdev whose namespace has
  // ended, and damage their memory when it is unregistered; 5.10 has crashed so.
  const auto names = foreign_altnames(before, now);
  if (!names.empty())
    out.push_back(
        "it has " + std::to_string(names.size()) + " alternative names, such as " + names.front() +
        ", which this kernel cannot remove, and can crash over when the driver is unbound: reboot the node");
  return out;
}

std::vector<std::string> foreign_altnames(const LinkBefore& before, const Link& now) {
  std::vector<std::string> out;
  std::copy_if(
      now.altnames.begin(), now.altnames.end(), std::back_inserter(out), [&](const std::string& name) {
        return std::find(before.altnames.begin(), before.altnames.end(), name) == before.altnames.end();
      });
  return out;
}

}  // namespace vfrail::cni
