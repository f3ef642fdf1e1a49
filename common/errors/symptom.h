// Symptom: what programs print whose RDMA fails (NCCL, UCX, perftest, libibverbs, kubelet, container
// runtimes, Multus), with the cause, the remedy and the ids that say more. Pure data; symptom_search.h finds
// them.
//
// A new one is an enumerator here, and a row at the same place in symptom.cpp.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>

namespace vfrail {

// What says most about the cause comes first: a line of a log is that of the first row that has it.
enum class SymptomId : uint8_t {
  gpu_memory_unusable,
  memory_refused,
  retries_exceeded,
  not_connected,
  port_down,
  no_device,
  no_library,
  node_denied,
  node_gone,
  no_cm_node,
  wrong_network,
  no_bootstrap,
  shared_memory_full,
  killed_for_memory,
  peer_memory_module,
  tcp_used,
  nothing_free,
  topology_refused,
  not_admitted,
  cdi_device_unknown,
  plugin_missing,
  network_missing,
  no_resource_named,
  addresses_used_up,
  attach_failed,
  nccl_ended,
  peer_ended,
};
inline constexpr SymptomId kLastSymptomId = SymptomId::peer_ended;

struct Symptom {
  SymptomId id;
  std::string_view of;  // "NCCL, perftest": whose messages they are
  // As they are printed; "*" is whatever stands there in the line. Those that are not used are empty.
  std::array<std::string_view, 8> messages;
  // One to three sentences each, as those of errors.
  std::string_view cause;
  std::string_view remedy;
  std::string_view ids;  // of errors and of checks, with a blank between them
  // Follows from another failure, and says nothing where that one is seen.
  bool is_consequence = false;
};

std::span<const Symptom> all_symptoms();
const Symptom& symptom_of(SymptomId id);

}  // namespace vfrail
