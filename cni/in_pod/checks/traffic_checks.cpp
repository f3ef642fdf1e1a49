// What a test of traffic (traffic/traffic_session.h) says about the rails.
#include "cni/in_pod/checks/pod_check.h"
#include "cni/in_pod/traffic/round_trips.h"
#include "common/escape.h"

#include <algorithm>
#include <cstdio>

namespace vfrail::pod {

namespace {

constexpr double kGoodShare = 90;  // percent of the port's rate

std::string gbits_text(double gbits) {
  char out[32];
  std::snprintf(out, sizeof out, "%.*f Gbit/s", gbits < 10 ? 2 : 1, gbits);
  return out;
}

// "; a write of 8 bytes is acknowledged in 2.1 us, 99 % in 3.4 us". Empty: not measured.
std::string round_trip_text(const WriteResult& writes) {
  if (!writes.round_trips) return "";
  const auto micros = [](uint64_t ns) {
    char out[32];
    std::snprintf(out, sizeof out, "%.*f us", ns < 100'000 ? 1 : 0, static_cast<double>(ns) / 1000);
    return std::string(out);
  };
  return "; a write of " + std::to_string(kSmallWrite) + " bytes is acknowledged in " +
         micros(writes.round_trips->typical_ns) +
         (writes.round_trips->p99_ns ? ", 99 % in " + micros(*writes.round_trips->p99_ns) : "");
}

// "mlx5_2 and mlx5_4 of 10.244.1.7", "mlx5_2 with itself".
std::string pair_text(const RailOutcome& rail, const TrafficOutcome& outcome) {
  if (outcome.peer.empty()) return rail.rail.name + " with itself";
  return rail.rail.name + " and " + rail.peer.name + " of " + outcome.peer;
}

// The slower one is the fabric's limit. 0: unknown.
double rate_of(const RailOutcome& rail) {
  return rail.peer.rate_gbits > 0 ? std::min(rail.rail.rate_gbits, rail.peer.rate_gbits)
                                  : rail.rail.rate_gbits;
}

CheckResult failed(const std::string& what, const TrafficFailure& failure) {
  FailureText text = failure_text(failure);
  return {Finding::fault, what + ": " + text.text, std::move(text.remedy)};
}

// Of one step of a test: alone, or with all others.
CheckResult evaluate(const std::string& what, const RailMeasure& measured, const RailOutcome& rail,
                     const TrafficOutcome& outcome) {
  if (measured.failure) return failed(what + (measured.at_peer ? ": at the peer" : ""), *measured.failure);
  if (measured.sent.failure) return failed(what + ": sending", *measured.sent.failure);
  if (measured.received.failure) return failed(what + ": the peer's sending", *measured.received.failure);
  const bool both = !outcome.peer.empty();
  const double sent = measured.sent.gbits(), received = measured.received.gbits();
  if (measured.sent.bytes == 0 || (both && measured.received.bytes == 0))
    return {Finding::fault, what + ": no write has completed", "the kernel log of both nodes"};
  std::string text =
      what + ": " + gbits_text(sent) + (both ? " sent, " + gbits_text(received) + " received" : "");
  const double rate = rate_of(rail);
  if (rate <= 0) return {Finding::good, text + round_trip_text(measured.sent)};
  const double share = 100 * (both ? std::min(sent, received) : sent) / rate;
  char percent[32];
  std::snprintf(percent, sizeof percent, ": %.0f %% of ", share);
  text += percent + gbits_text(rate) + round_trip_text(measured.sent);
  if (share >= kGoodShare) return {Finding::good, std::move(text)};
  // A device that talks to itself reads and writes over one slot.
  if (!both) return {Finding::note, std::move(text), "the other way is over the fabric: --listen and --to"};
  return {
      Finding::advice, std::move(text),
      "other traffic on the ports or on VFs of the same PF; PCIe slot and MTU: on the node vfrail doctor; "
      "here VF-P15, VF-P22 and vfrail-check --top"};
}

Result<CheckResults> check_traffic(const CheckedPod& pod) {
  if (!pod.traffic) return Error{Errc::unsupported, 0, "vfrail-check --listen in one pod, --to in the other"};
  const TrafficOutcome& outcome = *pod.traffic;
  CheckResults out;
  for (const RailOutcome& rail : outcome.rails)
    out.push_back(evaluate(pair_text(rail, outcome), rail.alone, rail, outcome));
  for (const RailOutcome& rail : outcome.rails) {
    if (rail.together)
      out.push_back(
          evaluate(pair_text(rail, outcome) + ", all rails at once", *rail.together, rail, outcome));
  }
  for (const auto& [where, names] :
       {std::pair("this pod", &outcome.unmatched), std::pair("the peer", &outcome.peer_unmatched)}) {
    for (const std::string& name : *names)
      out.push_back({Finding::advice, name + " of " + where + " has no rail to be tested with",
                     "the same number of rails in both pods"});
  }
  return out;
}

// Of writes of 8 bytes, one at a time, from posting to the completion.
Json round_trip_json(const RoundTrips& measured) {
  const auto micros = [](uint64_t ns) { return Json(static_cast<double>(ns) / 1000); };
  return Json::object()
      .set("typical_us", micros(measured.typical_ns))
      .set("p99_us", measured.p99_ns ? micros(*measured.p99_ns) : Json())
      .set("count", measured.count);
}

Json writes_json(const WriteResult& result) {
  return Json::object()
      .set("bytes", static_cast<int64_t>(result.bytes))
      .set("seconds", result.seconds)
      .set("gbits", result.gbits())
      .set("round_trip", result.round_trips ? round_trip_json(*result.round_trips) : Json())
      .set("failed", result.failure ? Json(failure_text(*result.failure).text) : Json());
}

Json measure_json(const RailMeasure& measured, bool both) {
  Json out = Json::object();
  out.set("failed", measured.failure ? Json(failure_text(*measured.failure).text) : Json());
  if (measured.failure) out.set("at_peer", measured.at_peer);
  out.set("sent", writes_json(measured.sent));
  if (both) out.set("received", writes_json(measured.received));
  return out;
}

}  // namespace

const PodChecks& traffic_checks() {
  static const PodChecks kChecks = {
      {"VF-P24", "traffic", "RDMA writes to the other pod reach 90 % of the port's rate, both ways",
       check_traffic},
  };
  return kChecks;
}

Json traffic_json(const TrafficOutcome& outcome) {
  const bool both = !outcome.peer.empty();
  Json rails = Json::array();
  for (const RailOutcome& rail : outcome.rails) {
    Json one = Json::object();
    one.set("name", rail.rail.name)
        .set("peer_name", rail.peer.name)
        .set("gid_index", rail.rail.gid_index ? Json(*rail.rail.gid_index) : Json())
        .set("rate_gbits", rate_of(rail))
        .set("alone", measure_json(rail.alone, both))
        .set("together", rail.together ? measure_json(*rail.together, both) : Json());
    rails.push(std::move(one));
  }
  return Json::object()
      .set("peer", both ? Json(outcome.peer) : Json())
      .set("message_bytes", outcome.size.message_bytes)
      .set("seconds", outcome.size.seconds)
      .set("rails", std::move(rails));
}

}  // namespace vfrail::pod
