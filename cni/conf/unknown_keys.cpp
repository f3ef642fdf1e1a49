// Keys of a network configuration that nobody reads: the effect of a misspelt key would silently be missing
// in the pod.
#include "cni/conf/net_conf.h"

#include <algorithm>
#include <array>
#include <cctype>

namespace vfrail::cni {

namespace {

constexpr size_t kMaxWarnings = 16;
constexpr size_t kMaxKeyBytes = 60;

// The keys of vfrail, for suggestions.
constexpr std::array kOurs = {
    "cniVersion",    "name",         "type",       "ipam",      "dns",           "prevResult",
    "args",          "capabilities", "deviceID",   "pciBusID",  "device",        "hwaddr",
    "kernelpath",    "mode",         "master",     "port",      "hostUse",       "hostConfig",
    "reset",         "mac",          "mtu",        "rdma",      "rdmaName",      "rdmaIsolation",
    "vlan",          "vlanQoS",      "vlanProto",  "vlanTrunk", "min_tx_rate",   "max_tx_rate",
    "spoofchk",      "trust",        "link_state", "guid",      "pkey",          "sysctl",
    "sourceRouting", "vfioPciMode",  "logLevel",   "logFile",   "runtimeConfig", "ibKubernetesEnabled",
    "queues",        "rings",        "coalesce",   "features",  "rps",           "xps",
    "irqs",          "nccl",         "rails",      "claims",    "podNetAdmin",   "searchTimeoutSeconds",
};

// Keys of others (libcni, Multus, operators), which are not for this plugin.
constexpr std::array kOthers = {
    "cniVersions", "capabilities",           "disableCheck", "disableGC",
    "plugins",     "loadOnlyInlinedPlugins", "resourceName", "ipMasq",
};

bool same_letters(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](unsigned char x, unsigned char y) { return std::tolower(x) == std::tolower(y); });
}

// A name with a dot has an owner ("cni.dev/attachments"); '_' and '/' begin comments.
bool is_anothers(const std::string& key) {
  if (key.find('.') != std::string::npos || key.starts_with("_") || key.starts_with("/")) return true;
  return std::any_of(kOthers.begin(), kOthers.end(),
                     [&](const char* known) { return same_letters(key, known); });
}

}  // namespace

std::vector<std::string> unknown_keys(const std::vector<std::string>& unread) {
  if (unread.empty()) return {};
  static const std::vector<std::string> kKnown = [] {
    std::vector<std::string> out(kOurs.begin(), kOurs.end());
    for (const LinkSetting& row : kLinkSettings) out.emplace_back(row.key);
    return out;
  }();
  std::vector<std::string> out;
  for (const std::string& whole : unread) {
    if (is_anothers(whole)) continue;
    if (out.size() == kMaxWarnings) break;
    const std::string key = whole.substr(0, kMaxKeyBytes);
    const std::string meant = nearest_name(key, kKnown);
    out.push_back("\"" + key + "\" is not a key of vfrail, and is ignored" +
                  (meant.empty() ? "" : "; \"" + meant + "\" is probably meant"));
  }
  return out;
}

}  // namespace vfrail::cni
