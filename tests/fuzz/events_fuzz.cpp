// Target: the kernel's notifications. The first byte of an input chooses the event source, the rest is a
// datagram. Names in it were given by others, and the device plugin reads them for as long as it lives.
#include "plugin/observe/events/kernel_message.h"
#include "tests/fuzz/checks.h"

using namespace vfrail;
using namespace vfrail::cni;
using namespace vfrail::plugin;
using namespace vfrail::fuzz;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const auto kind = static_cast<KernelSource>(data[0] % 4);
  const std::span<const std::byte> datagram(reinterpret_cast<const std::byte*>(data) + 1, size - 1);
  const auto what = read_kernel_message(kind, datagram);
  // It becomes one word of a line in the log: the subject of the event, and the reason of the rescan.
  if (what) {
    const std::string& words = what->words;
    MUST(!words.empty() && words.size() <= size + 40 && words.find('\0') == std::string::npos);
  }
  const auto again = read_kernel_message(kind, datagram);
  MUST(again.has_value() == what.has_value());
  if (what) MUST(again->words == what->words && again->changed == what->changed);
  return 0;
}
