// `vfrail explain [TEXT]`: what an id such as VF-DEVICE-IN-USE means and what to do, that of a check too; the
// reasons of metrics and of `vfrail inspect`; else what a message of another program is about, or a part of a
// log. Reads stdin alone, for "-".
#pragma once

#include "common/result.h"

#include <string>
#include <vector>

namespace vfrail::plugin {

struct ExplainIdOptions {
  std::string id;  // or another text; empty: all ids of errors
  bool json = false;
};

// "port_down", the value of a label or a state, is as good as the id. Errc::not_found: nothing is known of
// it.
Result<std::string> explain_id(const ExplainIdOptions& options, size_t width);

// The ids that it knows: those of errors, then those of checks of nodes and of pods.
std::vector<std::string> explained_ids();

// Exit code: 0 done, 1 nothing is known of the text.
int explain(ExplainIdOptions options);

// All error ids, as manifests/TROUBLESHOOTING.md has them.
std::string errors_document();
// All messages of other programs, as it has them too.
std::string symptoms_document();

}  // namespace vfrail::plugin
