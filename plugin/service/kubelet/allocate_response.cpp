#include "plugin/service/kubelet/allocate_response.h"

#include "plugin/device/allocate/cdi.h"

namespace vfrail::plugin {

// The CDI names are there twice, because kubelet reads cdi_devices since 1.28 only; containerd and CRI-O use
// a repeated name once.
Result<> to_response(const ResourceConfig& resource, const ContainerEdits& edits,
                     v1beta1::ContainerAllocateResponse& out) {
  if (!edits.hooks.empty()) {
    return Error{Errc::unsupported, 0,
                 resource.resource() + ": kubelet passes no hooks to containers (" +
                     edits.hooks.front().name + " " + edits.hooks.front().path +
                     "); CDI does: start vfrail with --use-cdi"};
  }
  out.mutable_envs()->insert(edits.env.begin(), edits.env.end());
  for (const DeviceNode& node : edits.nodes) {
    v1beta1::DeviceSpec& spec = *out.add_devices();
    spec.set_host_path(node.host_path);
    spec.set_container_path(node.container_path);
    spec.set_permissions(node.permissions);
  }
  for (const Mount& mount : edits.mounts) {
    v1beta1::Mount& one = *out.add_mounts();
    one.set_host_path(mount.host_path);
    one.set_container_path(mount.container_path);
    one.set_read_only(mount.read_only);
  }
  for (const std::string& name : edits.cdi_devices) out.add_cdi_devices()->set_name(name);
  const auto annotations = cdi_annotations(resource, edits.cdi_devices);
  out.mutable_annotations()->insert(annotations.begin(), annotations.end());
  return {};
}

}  // namespace vfrail::plugin
