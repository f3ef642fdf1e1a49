// Target: a CDI spec, as it lies in a folder that other programs write to. The CNI plugin, which is root on
// the node, reads the file that the device plugin's container wrote.
#include "common/container/cdi_spec.h"
#include "tests/fuzz/checks.h"

#include <algorithm>

using namespace vfrail;
using namespace vfrail::cni;
using namespace vfrail::fuzz;

namespace {

// Of the brackets alone, also of those in texts.
int nesting(std::string_view text) {
  int now = 0, most = 0;
  for (const char c : text) {
    now += (c == '[' || c == '{') - (c == ']' || c == '}');
    most = std::max(most, now);
  }
  return most;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto spec = parse_cdi_spec(text_of(data, size));
  if (!spec) {
    check_error(spec.error());
    return 0;
  }
  // Such a one prints as a hundred times its size, of which most is blanks.
  if (!is_due(nesting(text_of(data, size)) < 12 || size % 16 == 0)) return 0;
  const std::string printed = format_cdi_spec(*spec);
  // One that has grown (numbers are printed in full: 1e9) is not written, so nobody reads it.
  if (printed.size() > kMaxCdiSpecBytes) return 0;
  const auto again = parse_cdi_spec(printed);
  MUST(again && *again == *spec && format_cdi_spec(*again) == printed);
  MUST(is_file_name(spec->file_name()));
  CdiSpec moved = *spec;
  const bool changed = replace_rdma_nodes(moved, {"uverbs7", "umad7"});
  MUST(changed == (moved != *spec));
  // What is not about these nodes is as it was.
  const std::string moved_text = format_cdi_spec(moved);
  if (moved_text.size() > kMaxCdiSpecBytes) return 0;
  auto rewritten = parse_cdi_spec(moved_text);
  MUST(rewritten && *rewritten == moved);
  MUST(!replace_rdma_nodes(moved, {"uverbs7", "umad7"}));
  return 0;
}
