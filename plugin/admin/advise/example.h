// The YAML of a pod or job that has devices of a configured resource. Pure.
#pragma once

#include "common/result.h"
#include "plugin/device/config/config.h"

#include <cstdint>
#include <string>
#include <vector>

namespace vfrail::plugin {

struct ExampleRequest {
  std::string resource = {};  // "rdma/ib_pf"
  std::string kind = "pod";   // of job_kinds()
  uint32_t gpus = 0;          // of a pod
  std::vector<std::string> networks =
      {};  // one for each device; none: one that the text defines, where it needs one
};

// Whether Multus passes each unit of such a resource to a network. Shared devices are device nodes alone.
bool needs_network(const ResourceConfig& resource);

// Errors: the configuration has no such resource; the request contradicts it.
Result<std::string> make_example(const Config& config, const ExampleRequest& request);

}  // namespace vfrail::plugin
