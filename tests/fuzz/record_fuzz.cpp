// Target: a record file. Only root writes them, but a crash can tear one, and an admin can edit one; what is
// accepted decides which device moves and which files are removed.
#include "cni/conf/net_conf.h"
#include "cni/conf/request.h"
#include "tests/fuzz/checks.h"

using namespace vfrail;
using namespace vfrail::cni;
using namespace vfrail::fuzz;

namespace {

// GC asks as the runtime would have asked: with the variables that the record kept.
void check_request(const Record& record) {
  const Environment environment{{"CNI_COMMAND", "DEL"},
                                {"CNI_CONTAINERID", record.attachment.container_id},
                                {"CNI_IFNAME", record.attachment.ifname},
                                {"CNI_NETNS", record.netns},
                                {"CNI_ARGS", record.cni_args},
                                {"CNI_PATH", record.cni_path}};
  const auto request = read_request(environment, record.config);
  if (!request) return check_error(request.error());
  // "all" and "default", which no interface can have: GC goes by the record's name (request_of()).
  if (!request->never_attached.empty()) return;
  MUST(request->container_id == record.attachment.container_id);
  MUST(request->ifname == record.attachment.ifname);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text = text_of(data, size);
  const auto record = parse_record(text);
  if (!record) {
    check_error(record.error());
    return 0;
  }
  check_record(*record);
  check_request(*record);
  const auto conf = parse_net_conf(record->config);
  if (!conf) check_error(conf.error());
  return 0;
}
