#include "tests/fuzz/checks.h"

#include "cni/conf/request.h"
#include "cni/conf/result.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>

// The sanitizer's queue of freed memory and the call stacks of allocations took half of the time: memory that
// was just freed is in no cache. Without the queue freed memory is poisoned until it is taken again, and
// tests/fuzz/run has what was found run again with both, by ASAN_OPTIONS, which win over these.
extern "C" const char* __asan_default_options() {
  return "quarantine_size_mb=0:thread_local_quarantine_size_kb=0:malloc_context_size=0:max_malloc_fill_size="
         "0";
}

namespace vfrail::fuzz {
using namespace cni;

namespace {

// libFuzzer has one hook for its arguments, which json_mutator.cpp has.
bool has_limit_of_new_inputs() {
  std::ifstream arguments("/proc/self/cmdline");
  for (std::string argument; std::getline(arguments, argument, '\0');) {
    const bool is_limit = argument.starts_with("-runs=") || argument.starts_with("-max_total_time=");
    if (is_limit && !argument.ends_with("=0")) return true;
  }
  return false;
}

constexpr size_t kMaxText = 16 << 20;  // more than any input here can become
constexpr size_t kMaxDepth = 64;       // json.h

size_t depth(const Json& json) {
  size_t below = 0;
  if (const Json::Array* list = json.as_array()) {
    for (const Json& item : *list) below = std::max(below, depth(item));
    return below + 1;
  }
  if (const Json::Object* object = json.as_object()) {
    for (const auto& member : *object) below = std::max(below, depth(member.second));
    return below + 1;
  }
  return 0;
}

}  // namespace

void fail(const char* file, int line, const char* condition) {
  std::fprintf(stderr, "%s:%d: this does not hold: %s\n", file, line, condition);
  std::abort();
}

std::string_view text_of(const uint8_t* data, size_t size) {
  return {reinterpret_cast<const char*>(data), size};
}

bool tries_new_inputs() {
  static const bool limited = has_limit_of_new_inputs();
  return limited;
}

bool is_file_name(std::string_view name) {
  return !name.empty() && name.size() <= 255 && name != "." && name != ".." &&
         name.find('/') == std::string_view::npos && name.find('\0') == std::string_view::npos;
}

bool is_sound(const IpAddress& address) {
  const size_t width = address.bytes.size();
  return (width == 4 || width == 16) && address.prefix <= width * 8;
}

void check_error(const Error& error) {
  MUST(!error.text.empty());
  const uint16_t code = cni_code(error, CniCode::invalid_config);
  MUST(code > 0);                                   // 0 is success
  if (!is_due(error.text.size() % 8 == 0)) return;  // what follows is about JSON more than about this error
  const std::string printed = format_error("1.1.0", code, error).pretty();
  const auto read = Json::parse(printed, kMaxText);
  MUST(read);
  MUST(read->find("code") != nullptr && *read->find("code") == Json(int{code}));
  MUST(read->pretty() == printed);
}

void check_json(const Json& json) {
  MUST(depth(json) <= kMaxDepth);
  const std::string text = json.text();
  for (const bool pretty : {false, true}) {
    if (!is_due(pretty == (text.size() % 2 == 1))) continue;
    const auto same = Json::parse(pretty ? json.pretty() : text, kMaxText);
    MUST(same && *same == json);
  }
  if (!is_due(text.size() % 3 == 0)) return;
  const std::string sorted = json.text(Json::Order::sorted);
  const auto again = Json::parse(sorted, kMaxText);
  MUST(again && again->text(Json::Order::sorted) == sorted);
}

void check_record(const Record& record) {
  const std::string text = format_record(record);
  const auto again = parse_record(text);
  MUST(again);
  MUST(*again == record);
  MUST(format_record(*again) == text);
  MUST(valid_container_id(record.attachment.container_id));
  MUST(IfName::parse(record.attachment.ifname));
  // The longest name that record.cpp and files.cpp make of it is a temporary file's.
  MUST(is_file_name(record.attachment.container_id + ":" + record.attachment.ifname + ".json.new.4194304"));
  MUST(is_file_name(record.device_key + ".new.4194304"));
  if (record.device) MUST(is_file_name(record.device->text() + ".json.new.4194304"));
  if (record.link) MUST(IfName::parse(record.link->name));
}

}  // namespace vfrail::fuzz
