// `vfrail explain [ID]`: what an id such as VF-DEVICE-IN-USE means and what to do. It knows the reasons of
// metrics and of `vfrail inspect`, too. Reads nothing.
#pragma once

#include "common/result.h"

#include <string>
#include <vector>

namespace vfrail::plugin {

struct ExplainIdOptions {
  std::string id;  // empty: all of them
  bool json = false;
};

// "port_down", the value of a label or a state, is as good as the id. Errc::not_found for another word.
Result<std::string> explain_id(const ExplainIdOptions& options, size_t width);

// The ids that it knows, in the order of its list; checks of the node behind errors.
std::vector<std::string> explained_ids();

// Exit code: 0 done, 1 there is no such id.
int explain(const ExplainIdOptions& options);

// All error ids, as manifests/TROUBLESHOOTING.md has them.
std::string errors_document();

}  // namespace vfrail::plugin
