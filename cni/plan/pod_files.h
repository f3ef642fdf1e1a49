// The files that describe its networks to a pod's programs, made of the records of all its attachments.
// Pure; cni/steps/pod_files_step.cpp writes them.
#pragma once

#include "cni/conf/net_conf.h"
#include "common/node/attachment_record.h"

#include <string>
#include <vector>

namespace vfrail::cni {

// An attachment, and the variables of its network.
struct DescribedAttachment {
  Record record;  // with in_pod
  NcclVariables nccl = {};
};

struct PodFiles {
  std::string nccl_conf;
  std::string ucx_conf;
  std::string pod_json;  // cni/plan/pod_schema.json
  // Variables that two networks of the pod set differently, a sentence each: the first in PCI order counts.
  std::vector<std::string> conflicts = {};
};

PodFiles make_pod_files(const std::string& container_id, std::vector<DescribedAttachment> attachments);

}  // namespace vfrail::cni
