// What a container gets, in kubelet's answer to Allocate: ContainerEdits in Protobuf.
#pragma once

#include "common/container/container_edits.h"
#include "common/result.h"
#include "plugin/device/config/config.h"
#include "proto/deviceplugin_v1beta1.pb.h"

namespace vfrail::plugin {

// Errc::unsupported for edits that kubelet's answer has no field for.
Result<> to_response(const ResourceConfig& resource, const ContainerEdits& edits,
                     v1beta1::ContainerAllocateResponse& out);

}  // namespace vfrail::plugin
