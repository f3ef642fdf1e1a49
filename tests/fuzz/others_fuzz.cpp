// Target: a file of another plugin, or of libcni's cache. Each text goes through all of their readers; what
// is accepted becomes a record, names of files and of interfaces.
#include "cni/adopt.h"
#include "tests/fuzz/checks.h"

using namespace vfrail;
using namespace vfrail::fuzz;

namespace {

void check_state(const Result<OtherState>& state) {
  if (!state) return check_error(state.error());
  MUST(state->device && is_file_name(state->device->text()));
  MUST(state->host_name.empty() || valid_ifname(state->host_name));
  for (const std::string& name : state->rdma) MUST(is_file_name(name) && !has_control_characters(name));
  MUST(!state->vf.vlan || (state->vf.vlan->id <= 4095 && state->vf.vlan->priority <= 7));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text = text_of(data, size);
  check_state(parse_sriov_state(text));
  check_state(parse_ib_sriov_state(text));
  if (const auto name = parse_rdma_state(text); !name) check_error(name.error());
  const auto cached = parse_cni_cache(text);
  if (!cached) {
    check_error(cached.error());
    return 0;
  }
  MUST(is_file_name(cached->name.container_id) && valid_ifname(cached->name.ifname));
  for (const Json& plugin : cached->plugins) check_json(plugin);
  return 0;
}
