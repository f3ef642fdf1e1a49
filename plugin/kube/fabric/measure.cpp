#include "plugin/kube/fabric/measure.h"

#include "common/json.h"

namespace vfrail::kube {

namespace {

struct Direction {
  std::optional<double> gbits;
  std::string failed;
  std::optional<RoundTrip> round_trip = {};
};

double number_of(const Json* value) {
  if (value == nullptr) return 0;
  if (value->as_double() != nullptr) return *value->as_double();
  return value->as_int() != nullptr ? static_cast<double>(*value->as_int()) : 0;
}

Result<std::optional<RoundTrip>> read_round_trip(ObjectReader& direction) {
  const Json::Object* object = TRY(direction.object("round_trip"));
  if (object == nullptr) return std::optional<RoundTrip>();
  ObjectReader reader(*object, direction.path("round_trip"));
  RoundTrip out{number_of(reader.value("typical_us")), {}};
  if (const double p99 = number_of(reader.value("p99_us")); p99 > 0) out.p99_us = p99;
  return out.typical_us > 0 ? std::optional(out) : std::nullopt;
}

Result<Direction> read_direction(ObjectReader& measured, const char* key) {
  const Json::Object* object = TRY(measured.object(key));
  if (object == nullptr) return Direction{{}, "not measured"};
  ObjectReader reader(*object, measured.path(key));
  const std::string failed = TRY(reader.text("failed")).value_or("");
  if (!failed.empty()) return Direction{{}, failed};
  const double gbits = number_of(reader.value("gbits"));
  if (gbits <= 0) return Direction{{}, "nothing arrived"};
  return Direction{gbits, {}, TRY(read_round_trip(reader))};
}

Result<RailMeasurement> read_rail(const Json& value, const std::string& path) {
  if (value.as_object() == nullptr) return Error{Errc::protocol, 0, path + ": must be an object"};
  ObjectReader reader(*value.as_object(), path);
  RailMeasurement out;
  out.rail = TRY(reader.text("name")).value_or("");
  out.peer_rail = TRY(reader.text("peer_name")).value_or("");
  out.port_gbits = number_of(reader.value("rate_gbits"));
  const Json::Object* alone = TRY(reader.object("alone"));
  if (alone == nullptr) return reader.error("alone", "missing");
  ObjectReader measured(*alone, reader.path("alone"));
  out.failed = TRY(measured.text("failed")).value_or("");
  if (!out.failed.empty()) return out;
  const Direction sent = TRY(read_direction(measured, "sent"));
  const Direction received = TRY(read_direction(measured, "received"));
  out.sent = sent.gbits;
  out.received = received.gbits;
  out.sent_round_trip = sent.round_trip;
  out.received_round_trip = received.round_trip;
  out.failed = !sent.failed.empty() ? sent.failed : received.failed;
  return out;
}

}  // namespace

Result<std::vector<RailMeasurement>> read_measurement(std::string_view json) {
  const Json value = TRY(Json::parse_object(json), "output of vfrail-check");
  ObjectReader reader(*value.as_object(), "");
  const Json::Object* traffic = TRY(reader.object("traffic"));
  if (traffic == nullptr) return Error{Errc::protocol, 0, "output of vfrail-check: no traffic in it"};
  ObjectReader inner(*traffic, "traffic");
  const Json::Array* rails = TRY(inner.array("rails"));
  std::vector<RailMeasurement> out;
  for (size_t i = 0; rails != nullptr && i < rails->size(); ++i)
    out.push_back(TRY(read_rail((*rails)[i], "traffic.rails[" + std::to_string(i) + "]")));
  if (out.empty()) return Error{Errc::protocol, 0, "output of vfrail-check: no rail was tested"};
  return out;
}

}  // namespace vfrail::kube
