#include "cni/in_pod/traffic/traffic_message.h"

#include "common/escape.h"
#include "common/ip_address.h"
#include "common/json.h"
#include "common/one_of.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <limits>

namespace vfrail::pod {

namespace {

constexpr const char* kVersionKey = "vfrail_traffic";
constexpr size_t kMaxName = 64;      // IB_DEVICE_NAME_MAX
constexpr size_t kMaxRefusal = 200;  // of a text that is shown
constexpr int64_t kMaxMbits = 10'000'000;
constexpr int64_t kMaxErrno = 4095;
constexpr int64_t kMaxInt32 = std::numeric_limits<uint32_t>::max();
constexpr int64_t kMaxInt64 = std::numeric_limits<int64_t>::max();
constexpr int64_t kMicros = 1'000'000;
constexpr int64_t kMaxNanos = 3600 * 1'000'000'000LL;

std::string line_of(const Json& json) { return json.text() + "\n"; }

// The object of a line, unless it is a refusal.
Result<Json> parse_line(std::string_view line) {
  Json json = TRY(Json::parse_object(line, kMaxTrafficLine), "a line of the peer");
  ObjectReader reader(*json.as_object(), "");
  if (const auto refusal = TRY(reader.text("error")))
    return Error{Errc::peer, 0, "the peer: " + escaped(refusal->substr(0, kMaxRefusal))};
  return json;
}

// Of a key that has to be there.
Result<int64_t> number(ObjectReader& reader, const char* key, int64_t min, int64_t max) {
  const auto read = TRY(reader.integer(key, min, max));
  if (!read) return reader.error(key, "is missing");
  return *read;
}

Result<uint32_t> number32(ObjectReader& reader, const char* key, int64_t max, int64_t min = 0) {
  return static_cast<uint32_t>(TRY(number(reader, key, min, max)));
}

// A list of objects, with a reader for each.
template <class Each>
Result<> for_each_object(ObjectReader& reader, const char* key, Each each) {
  const Json::Array* list = TRY(reader.array(key));
  if (list == nullptr) return reader.error(key, "is missing");
  if (list->size() > kMaxTrafficRails) return reader.error(key, "is too long");
  for (const Json& one : *list) {
    if (one.as_object() == nullptr) return reader.error(key, "must have objects");
    ObjectReader inner(*one.as_object(), key);
    TRY(each(inner));
  }
  return {};
}

Result<uint32_t> rail_number(ObjectReader& reader) { return number32(reader, "rail", kMaxTrafficRails - 1); }

Json failure_json(const TrafficFailure& failure) {
  return Json::object().set("stage", name_of(failure.stage)).set("error", failure.error);
}

Result<std::optional<TrafficFailure>> parse_failure(ObjectReader& reader) {
  const Json::Object* object = TRY(reader.object("failed"));
  if (object == nullptr) return std::optional<TrafficFailure>();
  ObjectReader inner(*object, "failed");
  const auto stage = parse_traffic_stage(TRY(inner.text("stage")).value_or(""));
  if (!stage)
    return inner.error("stage", "must be a stage of this version's test; use one version in both pods");
  return std::optional(TrafficFailure{*stage, static_cast<int>(TRY(number(inner, "error", 0, kMaxErrno)))});
}

Json round_trips_json(const RoundTrips& measured) {
  Json out = Json::object();
  out.set("count", measured.count).set("typical_ns", static_cast<int64_t>(measured.typical_ns));
  if (measured.p99_ns) out.set("p99_ns", static_cast<int64_t>(*measured.p99_ns));
  return out;
}

Result<std::optional<RoundTrips>> parse_round_trips(ObjectReader& reader) {
  const Json::Object* object = TRY(reader.object("round_trips"));
  if (object == nullptr) return std::optional<RoundTrips>();
  ObjectReader inner(*object, "round_trips");
  RoundTrips out;
  out.count = TRY(number32(inner, "count", kMaxInt32, 1));
  out.typical_ns = static_cast<uint64_t>(TRY(number(inner, "typical_ns", 0, kMaxNanos)));
  if (const auto p99 = TRY(inner.integer("p99_ns", 0, kMaxNanos))) out.p99_ns = static_cast<uint64_t>(*p99);
  return std::optional(out);
}

std::string gid_text(const std::array<uint8_t, 16>& gid) {
  return IpAddress{{gid.begin(), gid.end()}, 128}.text();
}

Json end_json(uint32_t rail, const EndOrFailure& end) {
  Json out = Json::object();
  out.set("rail", rail);
  if (const auto* failure = std::get_if<TrafficFailure>(&end)) {
    out.set("failed", failure_json(*failure));
    return out;
  }
  const EndAddress& address = *std::get_if<EndAddress>(&end);
  out.set("queue_pair", address.queue_pair)
      .set("lid", address.lid)
      .set("mtu", address.mtu)
      .set("gid", gid_text(address.gid))
      .set("key", address.key)
      .set("memory", static_cast<int64_t>(address.memory));
  return out;
}

Json ends_json(const OfferedEnds& ends) {
  Json list = Json::array();
  for (const auto& [rail, end] : ends) list.push(end_json(rail, end));
  return list;
}

Result<EndAddress> parse_address(ObjectReader& reader) {
  EndAddress out;
  out.queue_pair = TRY(number32(reader, "queue_pair", 0xffffff));
  out.lid = TRY(number32(reader, "lid", 0xffff));
  out.mtu = TRY(number32(reader, "mtu", 4096, 256));
  out.key = TRY(number32(reader, "key", kMaxInt32));
  out.memory = static_cast<uint64_t>(TRY(number(reader, "memory", 0, kMaxInt64)));
  const auto gid = IpAddress::parse(TRY(reader.text("gid")).value_or(""));
  if (!gid || !gid->v6()) return reader.error("gid", "is not a GID");
  std::copy(gid->bytes.begin(), gid->bytes.end(), out.gid.begin());
  return out;
}

Result<OfferedEnds> ends_of(ObjectReader& reader) {
  OfferedEnds out;
  TRY(for_each_object(reader, "ends", [&out](ObjectReader& one) -> Result<> {
    const uint32_t rail = TRY(rail_number(one));
    if (const auto failure = TRY(parse_failure(one)))
      out[rail] = *failure;
    else
      out[rail] = TRY(parse_address(one));
    return {};
  }));
  return out;
}

Result<std::vector<uint32_t>> rails_of(ObjectReader& reader) {
  const Json::Array* list = TRY(reader.array("rails"));
  if (list == nullptr || list->size() > kMaxTrafficRails)
    return reader.error("rails", "is not a list of rails");
  std::vector<uint32_t> out;
  for (const Json& one : *list) {
    const int64_t* rail = one.as_int();
    if (rail == nullptr || *rail < 0 || *rail >= int64_t{kMaxTrafficRails})
      return reader.error("rails", "has no such rail");
    out.push_back(static_cast<uint32_t>(*rail));
  }
  // A rail that is named twice would be used twice at once.
  std::sort(out.begin(), out.end());
  out.erase(std::unique(out.begin(), out.end()), out.end());
  return out;
}

}  // namespace

bool is_test_name(std::string_view text) {
  return text.size() <= kMaxTestName && std::all_of(text.begin(), text.end(), [](unsigned char c) {
           return std::isalnum(c) != 0 || c == '-' || c == '_' || c == '.';
         });
}

std::string format_hello(const TrafficHello& hello) {
  Json rails = Json::array();
  for (const OfferedRail& rail : hello.rails)
    rails.push(Json::object()
                   .set("name", rail.name)
                   .set("rate_mbits", static_cast<int64_t>(std::llround(rail.rate_gbits * 1000))));
  Json out = Json::object();
  out.set(kVersionKey, kTrafficVersion)
      .set("message_bytes", hello.message_bytes)
      .set("seconds", hello.seconds)
      .set("rails", std::move(rails));
  if (!hello.test.empty()) out.set("test", hello.test);
  return line_of(out);
}

std::string format_order(const TrafficOrder& order) {
  if (const auto* open = std::get_if<OpenOrder>(&order))
    return line_of(Json::object().set("order", "open").set("ends", ends_json(open->ends)));
  if (const auto* write = std::get_if<WriteOrder>(&order)) {
    Json rails = Json::array();
    for (const uint32_t rail : write->rails) rails.push(rail);
    Json out = Json::object();
    out.set("order", "write").set("rails", std::move(rails));
    if (write->round_trips) out.set("round_trips", true);
    return line_of(out);
  }
  return line_of(Json::object().set("order", "end"));
}

std::string format_ends(const OfferedEnds& ends) {
  return line_of(Json::object().set("ends", ends_json(ends)));
}

std::string format_results(const WriteResults& results) {
  Json list = Json::array();
  for (const auto& [rail, result] : results) {
    Json one = Json::object();
    one.set("rail", rail)
        .set("bytes", static_cast<int64_t>(result.bytes))
        .set("micros", static_cast<int64_t>(std::llround(result.seconds * kMicros)));
    if (result.round_trips) one.set("round_trips", round_trips_json(*result.round_trips));
    if (result.failure) one.set("failed", failure_json(*result.failure));
    list.push(std::move(one));
  }
  return line_of(Json::object().set("results", std::move(list)));
}

std::string format_refusal(const std::string& text) {
  return line_of(Json::object().set("error", text.substr(0, kMaxRefusal)));
}

Result<TrafficHello> parse_hello(std::string_view line) {
  const Json json = TRY(parse_line(line));
  ObjectReader reader(*json.as_object(), "");
  const auto version = TRY(reader.integer(kVersionKey));
  if (!version) return reader.error(kVersionKey, "is missing: the peer is not a vfrail-check");
  if (*version != kTrafficVersion)
    return Error{Errc::protocol, 0,
                 "the peer speaks version " + std::to_string(*version) + ", and this program " +
                     std::to_string(kTrafficVersion) + ": use the same vfrail-check in both pods"};
  TrafficHello out;
  out.message_bytes = TRY(number32(reader, "message_bytes", kMaxMessage, kMinMessage));
  out.seconds = TRY(number(reader, "seconds", 1, kMaxSeconds));
  TRY(for_each_object(reader, "rails", [&out](ObjectReader& one) -> Result<> {
    OfferedRail rail;
    rail.name = TRY(one.text("name")).value_or("");
    if (rail.name.empty() || rail.name.size() > kMaxName)
      return one.error("name", "is not the name of a device");
    rail.rate_gbits = static_cast<double>(TRY(number(one, "rate_mbits", 0, kMaxMbits))) / 1000;
    out.rails.push_back(std::move(rail));
    return {};
  }));
  out.test = TRY(reader.text("test")).value_or("");
  if (!is_test_name(out.test)) return reader.error("test", "is not the name of a test");
  return out;
}

Result<TrafficOrder> parse_order(std::string_view line) {
  const Json json = TRY(parse_line(line));
  ObjectReader reader(*json.as_object(), "");
  const std::string word = TRY(reader.text("order")).value_or("");
  if (word == "open") return TrafficOrder(OpenOrder{TRY(ends_of(reader))});
  if (word == "write") {
    WriteOrder out{TRY(rails_of(reader))};
    out.round_trips = TRY(reader.boolean("round_trips")).value_or(false);
    return TrafficOrder(std::move(out));
  }
  if (word == "end") return TrafficOrder(EndOrder());
  return reader.error("order", must_be_one_of({"open", "write", "end"}, word));
}

Result<OfferedEnds> parse_ends(std::string_view line) {
  const Json json = TRY(parse_line(line));
  ObjectReader reader(*json.as_object(), "");
  return ends_of(reader);
}

Result<WriteResults> parse_results(std::string_view line) {
  const Json json = TRY(parse_line(line));
  ObjectReader reader(*json.as_object(), "");
  WriteResults out;
  TRY(for_each_object(reader, "results", [&out](ObjectReader& one) -> Result<> {
    const uint32_t rail = TRY(rail_number(one));
    WriteResult result;
    result.bytes = static_cast<uint64_t>(TRY(number(one, "bytes", 0, kMaxInt64)));
    result.seconds = static_cast<double>(TRY(number(one, "micros", 0, 3600 * kMicros))) / kMicros;
    result.round_trips = TRY(parse_round_trips(one));
    result.failure = TRY(parse_failure(one));
    out[rail] = result;
    return {};
  }));
  return out;
}

}  // namespace vfrail::pod
