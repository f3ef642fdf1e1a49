// Texts of the daemon's log about a configuration and pools. Pure.
#pragma once

#include "plugin/config/config.h"
#include "plugin/match/pools.h"
#include "plugin/match/published_pool.h"

#include <string>
#include <vector>

namespace vfrail::plugin {

// The resources of `here` that `other` does not have.
std::vector<std::string> names_missing_in(const Config& other, const Config& here);

// The functions that a selector names, but the host uses, a sentence each.
std::vector<std::string> find_refusals(const Pools& pools);

// The bundles that lack a device, as match/units.h says it.
std::vector<std::string> find_incomplete(const std::vector<PublishedPool>& pools);

// The warning that no container runtime has read the CDI spec of that name.
std::string unread_spec_text(const std::string& name);

// What is attached, and to whom (empty: that is not known), although kubelet has given it to no pod.
std::string orphan_text(const std::string& what, const std::string& owner);

// The unreadable devices and the reasons, the first few.
std::string unread_text(const std::vector<UnreadDevice>& unread);

}  // namespace vfrail::plugin
