#include "plugin/pools.h"

#include "plugin/selector_match.h"

#include <algorithm>

namespace vfrail {

namespace {

// Reasons of one function that are shown; a node with more resources than that has a clear enough picture.
constexpr size_t kMaxReasons = 8;

// Why the function can be in no pool whatever the configuration says.
std::vector<std::string> find_exclusions(const Function& function) {
  std::vector<std::string> out;
  if (function.num_vfs > 0) {
    out.push_back("has " + std::to_string(function.num_vfs) + (function.num_vfs == 1 ? " VF" : " VFs") +
                  " enabled: " + (function.num_vfs == 1 ? "it is" : "its VFs are") +
                  " handed out, not itself");
  }
  if (function.driver.empty()) out.push_back("no driver is bound");
  return out;
}

bool refuses(HostUse policy, HostUseFact::Kind kind) {
  if (policy == HostUse::allow) return false;
  return policy == HostUse::refuse || kind != HostUseFact::Kind::address;
}

const char* policy_name(HostUse policy) {
  if (policy == HostUse::refuse) return "refuse";
  return policy == HostUse::warn ? "warn" : "allow";
}

std::string say_refusal(const ResourceConfig& resource, const HostUseFact& fact) {
  return resource.resource() + ": the host uses it: " + fact.what + " (hostUse is \"" +
         policy_name(resource.host_use) + "\")";
}

std::string say_risk(const ResourceConfig& resource, const Function& function, const HostUseFact& fact) {
  return resource.resource() + " offers " + function.address.text() + ", which the host uses: " + fact.what +
         "; a pod that gets it takes it away from the host";
}

std::map<std::string, std::string> merge_extra(const ResourceConfig& resource, const Function& function) {
  std::map<std::string, std::string> out;
  for (const std::string& key : {std::string("*"), function.address.text()}) {
    const auto found = resource.additional_info.find(key);
    if (found == resource.additional_info.end()) continue;
    for (const auto& [name, value] : found->second) out[name] = value;
  }
  return out;
}

PoolDevice make_device(const ResourceConfig& resource, const Selector& selector, const Function& function) {
  PoolDevice out;
  out.facts = function;
  out.rdma = selector.is_rdma;
  out.vhost_net = selector.need_vhost_net;
  out.vdpa_type = selector.vdpa_type;
  out.extra = merge_extra(resource, function);
  return out;
}

// What one resource says to one function.
struct Verdict {
  const Selector* selector = nullptr;  // the one that matched; null: none, or the host's use forbids it
  std::vector<std::string> reasons;    // when null
};

Verdict judge(const ResourceConfig& resource, const Function& function) {
  Verdict out;
  for (size_t i = 0; i < resource.selectors.size(); ++i) {
    const auto mismatch = find_mismatch(resource.selectors[i], function);
    if (!mismatch) {
      out.selector = &resource.selectors[i];
      out.reasons.clear();
      break;
    }
    const std::string which = resource.selectors.size() > 1 ? "selectors[" + std::to_string(i) + "]." : "";
    out.reasons.push_back(resource.resource() + ": " + which + *mismatch);
  }
  if (out.selector == nullptr) return out;
  for (const HostUseFact& fact : function.host_use) {
    if (refuses(resource.host_use, fact.kind)) out.reasons.push_back(say_refusal(resource, fact));
  }
  if (!out.reasons.empty()) out.selector = nullptr;
  return out;
}

// Puts the function into the first pool that takes it, or says why none does.
std::vector<std::string> place(const Config& config, const Function& function, Pools& out) {
  std::vector<std::string> reasons = find_exclusions(function);
  if (!reasons.empty()) return reasons;
  for (size_t i = 0; i < config.resources.size(); ++i) {
    const ResourceConfig& resource = config.resources[i];
    const Verdict verdict = judge(resource, function);
    if (verdict.selector == nullptr) {
      reasons.insert(reasons.end(), verdict.reasons.begin(), verdict.reasons.end());
      continue;
    }
    for (const HostUseFact& fact : function.host_use)
      out.warnings.push_back(say_risk(resource, function, fact));
    out.pools[i].devices.push_back(make_device(resource, *verdict.selector, function));
    return {};
  }
  if (reasons.empty()) reasons.emplace_back("the configuration has no resource");
  if (reasons.size() > kMaxReasons) {
    const size_t more = reasons.size() - kMaxReasons + 1;
    reasons.resize(kMaxReasons - 1);
    reasons.push_back("and " + std::to_string(more) + " more selectors that do not match");
  }
  return reasons;
}

LeftOut::Kind kind_of(const Config& config, const Function& function) {
  if (function.num_vfs > 0) return LeftOut::Kind::has_vfs;
  if (function.driver.empty()) return LeftOut::Kind::no_driver;
  for (const ResourceConfig& resource : config.resources) {
    for (const Selector& selector : resource.selectors) {
      if (!find_mismatch(selector, function)) return LeftOut::Kind::host_use;
    }
  }
  return LeftOut::Kind::not_selected;
}

void warn_about_vhost(const Config& config, const Inventory& inventory, Pools& out) {
  if (inventory.vhost_net) return;
  for (const ResourceConfig& resource : config.resources) {
    const bool wanted = std::any_of(resource.selectors.begin(), resource.selectors.end(),
                                    [](const Selector& selector) { return selector.need_vhost_net; });
    if (!wanted) continue;
    out.warnings.push_back(
        resource.resource() +
        " has needVhostNet, but /dev/vhost-net or /dev/net/tun is not there, so neither is handed "
        "out (modprobe vhost_net tun)");
  }
}

}  // namespace

const PoolDevice* Pool::find(const std::string& id) const {
  const auto at = std::find_if(devices.begin(), devices.end(),
                               [&](const PoolDevice& device) { return device.id() == id; });
  return at == devices.end() ? nullptr : &*at;
}

Pools match(const Config& config, const Inventory& inventory) {
  Pools out;
  for (const ResourceConfig& resource : config.resources) {
    out.pools.push_back({.config = resource, .devices = {}});
  }
  // The inventory is sorted by address, so devices and left-outs come out sorted by id.
  for (const Function& function : inventory.functions) {
    auto reasons = place(config, function, out);
    if (!reasons.empty()) {
      out.left_out.push_back({function.address.text(), std::move(reasons), kind_of(config, function)});
    }
  }
  warn_about_vhost(config, inventory, out);
  return out;
}

}  // namespace vfrail
