// Target: a CDI spec, as it lies in a folder that other programs write to. The CNI plugin, which is root on
// the node, reads the file that the device plugin's container wrote.
#include "common/container/cdi_spec.h"
#include "tests/fuzz/checks.h"

using namespace vfrail;
using namespace vfrail::cni;
using namespace vfrail::fuzz;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto spec = parse_cdi_spec(text_of(data, size));
  if (!spec) {
    check_error(spec.error());
    return 0;
  }
  const std::string printed = format_cdi_spec(*spec);
  const auto again = parse_cdi_spec(printed);
  MUST(again && *again == *spec && format_cdi_spec(*again) == printed);
  MUST(is_file_name(spec->file_name()));
  CdiSpec moved = *spec;
  const bool changed = replace_rdma_nodes(moved, {"uverbs7", "umad7"});
  MUST(changed == (moved != *spec));
  // What is not about these nodes is as it was.
  auto rewritten = parse_cdi_spec(format_cdi_spec(moved));
  MUST(rewritten && *rewritten == moved);
  MUST(!replace_rdma_nodes(moved, {"uverbs7", "umad7"}));
  return 0;
}
