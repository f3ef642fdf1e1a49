// ErrorId: what a refusal, a failure or an unhealthy device is about, under a name that stays; and the table
// of all of them with symptom, cause and remedy. Pure, decides nothing.
//
// A new one is an enumerator here, a row at the same place in one of the error_*.cpp, and a use. Names stay
// as they are from version to version.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace vfrail {

enum class ErrorId : uint8_t {
  // error_general.cpp: those of Errc, for an error that has none of its own.
  invalid_input,
  not_found,
  already_there,
  netns_gone,
  busy,
  permission_denied,
  not_supported,
  timed_out,
  malformed,
  refused_by_peer,
  system_call,
  // What both programs meet.
  config_syntax,
  lock_held,
  state_folder,
  record_damaged,
  cdi_spec,
  rdma_not_loaded,
  device_not_on_node,
  device_not_in_host,
  no_driver,
  host_uses_device,
  device_unclean,

  // error_attach.cpp: of vfrail-cni, up to the pod's interface.
  network_config,
  vlan_trunk,
  cni_version,
  cni_environment,
  log_file,
  no_device_named,
  device_conflict,
  chain_conflict,
  device_in_use,
  attached_already,
  several_interfaces,
  interface_not_movable,
  master_unusable,
  no_interface,
  interface_name_taken,
  host_netns,
  mtu_out_of_range,
  mac_invalid,
  mac_in_use,
  link_setting_refused,
  no_pf,
  vf_setting_refused,
  not_infiniband,
  guid_missing,
  ib_kubernetes_pending,
  not_vfio,
  no_rdma_device,
  rdma_shared_mode,
  rdma_nodes_changed,
  rdma_name_taken,
  network_key_ignored,

  // error_address.cpp: of vfrail-cni, from the address on.
  ipam_not_found,
  ipam_is_vfrail,
  ipam_failed,
  ipam_timeout,
  ipam_answer,
  address_in_use,
  no_ipv6,
  sysctl_not_allowed,
  sysctl_unknown,
  routing_table_taken,
  gid_missing,
  gid_index_moved,
  pod_files,
  unit_unknown,
  prev_result_missing,
  not_attached,
  check_mismatch,
  device_lost,
  device_not_returned,
  uppers_unknown,
  pod_changes_undone,
  host_name_taken,
  host_config_lost,
  orphaned_attachment,
  attachments_left,

  // error_plugin.cpp: of vfrail.
  option_invalid,
  config_not_read,
  config_invalid,
  config_unknown_key,
  config_empty,
  config_mistake,
  network_resource,
  host_not_visible,
  node_not_read,
  device_not_read,
  endpoint_taken,
  kubelet_not_reached,
  registration_refused,
  resource_contested,
  pod_resources,
  cdi_not_supported,
  not_advertised,
  bundle_incomplete,
  no_iommu_group,
  extra_node_missing,
  config_doubtful,
  host_device_offered,
  host_routes_unknown,
  port_offered_twice,
  rdma_exclusive_mode,
  devlink_not_asked,
  node_labels,
  claim_refused,
  not_offered,
  provision_refused,
  provision_firmware,
  provision_failed,
  provision_pending,

  // error_health.cpp: why a device is unhealthy, or in no resource.
  port_down,
  admin_down,
  no_carrier,
  guid_unset,
  devlink_error,
  device_gone,
  no_longer_selected,
  not_selected,
  other_device_type,
  claimed_before,
  pf_has_vfs,
  manages_nvlink,
};
inline constexpr ErrorId kLastErrorId = ErrorId::manages_nvlink;

// Each text is one to three sentences. A remedy may name commands, in backquotes.
struct ErrorRow {
  ErrorId id;
  std::string_view name;     // "VF-DEVICE-IN-USE"
  std::string_view symptom;  // the first sentence stands for all of it in a list
  std::string_view cause;
  std::string_view remedy;
};

// The parts of the table, in the order of the enumerators.
std::span<const ErrorRow> general_errors();
std::span<const ErrorRow> attach_errors();
std::span<const ErrorRow> address_errors();
std::span<const ErrorRow> plugin_errors();
std::span<const ErrorRow> health_errors();

const ErrorRow& row_of(ErrorId id);
std::string id_text(ErrorId id);  // "VF-DEVICE-IN-USE"
// "the reason [VF-DEVICE-IN-USE]".
std::string text_with_id(const std::string& text, ErrorId id);
std::vector<const ErrorRow*> all_errors();

// "VF-DEVICE-IN-USE" of "vf_device_in_use".
std::string upper_id(std::string_view text);
// By its name, also without "VF-", in whatever case, with "_" for "-". Nothing for another text.
std::optional<ErrorId> parse_error_id(std::string_view text);

}  // namespace vfrail
