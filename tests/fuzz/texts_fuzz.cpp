// Target: short texts: names and addresses in configurations, in sysfs, on the command line, and what is
// printed of them.
#include "common/ids.h"
#include "common/ip_address.h"
#include "common/pkey.h"
#include "common/text.h"
#include "plugin/device/config/config.h"
#include "plugin/device/config/device_range.h"
#include "plugin/device/config/names.h"
#include "plugin/observe/metrics/listen_address.h"
#include "tests/fuzz/checks.h"

using namespace vfrail;
using namespace vfrail::cni;
using namespace vfrail::plugin;
using namespace vfrail::fuzz;

namespace {

void check_ids(std::string_view text) {
  if (const auto id = DeviceId::parse(text))
    MUST(*DeviceId::parse(id->text()) == *id && is_file_name(id->text()));
  if (const auto mac = MacAddress::parse(text)) MUST(MacAddress::parse(mac->text()) == *mac);
  if (const auto address = IpAddress::parse_cidr(text)) {
    MUST(is_sound(*address) && IpAddress::parse_cidr(address->cidr()) == *address);
  }
  if (const auto listen = parse_listen_address(text)) {
    const auto again = parse_listen_address(listen->text());
    MUST(again && again->text() == listen->text() && again->local == listen->local);
  }
  if (const auto pkey = parse_pkey(text)) MUST(*pkey < 0x8000);
}

void check_ranges(const std::string& text) {
  const std::string fault = device_range_fault(text);
  MUST(is_utf8(fault) || !is_utf8(text));
  for (const int index : {-1, 0, 1, 127, INT32_MAX}) {
    const bool selects = device_range_selects(text, "eth0", index);
    MUST(device_ranges_select({text}, "eth0", index) == selects);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text = text_of(data, size);
  check_ids(text);
  check_ranges(std::string(text));
  MUST(is_utf8(well_formed(text)));
  MUST((well_formed(text) == text) == is_utf8(text));
  if (check_resource_name(text)) MUST(is_file_name(text));
  for (const std::string& part : split(text, ",; "))
    MUST(!part.empty() && part.find(',') == std::string::npos);
  return 0;
}
