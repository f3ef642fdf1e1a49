// Target: a file of another plugin, or of libcni's cache. The first byte of an input chooses the reader: s
// sriov-cni, i ib-sriov-cni, r rdma-cni, all else libcni. What is accepted becomes a record, names of files
// and of interfaces.
#include "cni/sweep/adopt.h"
#include "common/text.h"
#include "tests/fuzz/checks.h"

using namespace vfrail;
using namespace vfrail::cni;
using namespace vfrail::fuzz;

namespace {

void check_state(const Result<OtherState>& state) {
  if (!state) return check_error(state.error());
  MUST(state->device && is_file_name(state->device->text()));
  MUST(state->host_name.empty() || IfName::parse(state->host_name));
  for (const std::string& name : state->rdma) MUST(is_file_name(name) && !has_control_characters(name));
  MUST(!state->vf.vlan || (state->vf.vlan->id <= 4095 && state->vf.vlan->priority <= 7));
}

void check_cache(std::string_view text) {
  const auto cached = parse_cni_cache(text);
  if (!cached) return check_error(cached.error());
  MUST(is_file_name(cached->name.container_id) && IfName::parse(cached->name.ifname));
  for (const Json& plugin : cached->plugins) check_json(plugin);
}

void check_rdma(std::string_view text) {
  if (const auto name = parse_rdma_state(text); !name) check_error(name.error());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const std::string_view text = text_of(data, size).substr(1);
  switch (data[0]) {
    case 's':
      check_state(parse_sriov_state(text));
      break;
    case 'i':
      check_state(parse_ib_sriov_state(text));
      break;
    case 'r':
      check_rdma(text);
      break;
    default:
      check_cache(text);
      break;
  }
  return 0;
}
