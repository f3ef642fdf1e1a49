#include "cni/in_pod/traffic/traffic_session.h"

#include "cni/in_pod/traffic/round_trips.h"
#include "cni/in_pod/traffic/traffic_message.h"

#include <algorithm>

namespace vfrail::pod {

namespace {

// Opening a rail includes the kernel's search for a neighbour, which gives up after a few seconds.
constexpr double kOpenSeconds = 10;
// To the listener, and from it.
constexpr size_t kStepsOfRail = 2;

// The longest that one side does something while the other waits for it.
double longest_step(TrafficSize size, size_t rails) {
  return static_cast<double>(size.seconds) + kDrainSeconds + kOpenSeconds * static_cast<double>(rails);
}

// The queue pairs of one step, by the number of the rail. Those of the step before are destroyed with it.
class OpenEnds {
 public:
  OpenEnds(const TrafficSide& side, TrafficSize size) : side_(side), size_(size) {}

  EndOrFailure open(uint32_t rail) {
    if (!side_.rails[rail].is_active) return TrafficFailure{TrafficStage::port, 0};
    auto opened = side_.devices.open(side_.rails[rail], end_size());
    if (const auto* failure = std::get_if<TrafficFailure>(&opened)) return *failure;
    const auto& end = ends_[rail] = std::move(*std::get_if<0>(&opened));
    return end->address();
  }

  std::optional<TrafficFailure> connect(uint32_t rail, const EndAddress& peer) {
    return ends_.at(rail)->connect(peer);
  }

  // On those that are open; the answer says which these were. Round trips are measured of a rail alone.
  WriteResults write(const WriteOrder& order) {
    std::vector<uint32_t> open;
    std::vector<TrafficEnd*> ends;
    for (const uint32_t rail : order.rails) {
      const auto at = ends_.find(rail);
      if (at == ends_.end()) continue;
      open.push_back(rail);
      ends.push_back(at->second.get());
    }
    std::optional<RoundTrips> round_trips;
    if (order.round_trips && ends.size() == 1) {
      const auto measured = measure_round_trips(*ends.front(), side_.clock);
      if (const auto* failure = std::get_if<TrafficFailure>(&measured))
        return {{open.front(), {0, 0, *failure, {}}}};
      if (const auto& value = *std::get_if<RoundTrips>(&measured); value.count > 0) round_trips = value;
    }
    const auto results = write_all(ends, {end_size(), static_cast<double>(size_.seconds)}, side_.clock);
    WriteResults out;
    for (size_t i = 0; i < open.size(); ++i) out[open[i]] = results[i];
    if (round_trips) out[open.front()].round_trips = round_trips;
    return out;
  }

 private:
  EndSize end_size() const { return {size_.message_bytes, depth_of(size_.message_bytes)}; }

  const TrafficSide& side_;
  const TrafficSize size_;
  std::map<uint32_t, std::unique_ptr<TrafficEnd>> ends_;
};

TrafficHello hello_of(const TrafficSide& side, TrafficSize size) {
  TrafficHello out{size.message_bytes, size.seconds, {}, side.test};
  for (const TrafficRail& rail : side.rails) out.rails.push_back({rail.name, rail.rate_gbits});
  return out;
}

std::string shown_test(const std::string& name) { return name.empty() ? "no name" : "\"" + name + "\""; }

class Caller {
 public:
  Caller(TrafficChannel& channel, const TrafficSide& side, TrafficSize size)
      : channel_(channel), side_(side), size_(size) {}

  Result<TrafficOutcome> run() {
    TRY(channel_.write(format_hello(hello_of(side_, size_)), kHelloSeconds));
    const TrafficHello peer = TRY(parse_hello(TRY(channel_.read_line(kHelloSeconds))));
    // A listener that knows names has compared them.
    if (peer.test != side_.test)
      return Error{Errc::peer, 0,
                   "the listener answers for a test of " + shown_test(peer.test) + ", and this one is of " +
                       shown_test(side_.test) +
                       ": use the same vfrail-check in both pods, or --test \"\" where it knows no --test"};
    TrafficOutcome out{{}, size_, {}, {}, {}};
    const size_t pairs = std::min(side_.rails.size(), peer.rails.size());
    for (size_t i = pairs; i < side_.rails.size(); ++i) out.unmatched.push_back(side_.rails[i].name);
    for (size_t i = pairs; i < peer.rails.size(); ++i) out.peer_unmatched.push_back(peer.rails[i].name);
    std::vector<uint32_t> all;
    for (uint32_t rail = 0; rail < pairs; ++rail) {
      auto alone = TRY(measure({rail}), side_.rails[rail].name);
      out.rails.push_back({side_.rails[rail], peer.rails[rail], alone.at(rail), std::nullopt});
      if (!alone.at(rail).failure) all.push_back(rail);
    }
    if (all.size() > 1) {
      for (auto& [rail, measured] : TRY(measure(all), "all rails at once"))
        out.rails[rail].together = measured;
    }
    TRY(channel_.write(format_order(EndOrder()), kHelloSeconds));
    return out;
  }

 private:
  using Measures = std::map<uint32_t, RailMeasure>;

  Result<std::string> ask(const TrafficOrder& order, size_t rails) {
    TRY(channel_.write(format_order(order), kHelloSeconds));
    return channel_.read_line(longest_step(size_, rails));
  }

  Result<Measures> measure(const std::vector<uint32_t>& rails) {
    Measures out;
    OpenEnds ends(side_, size_);
    const auto ready = TRY(connect(rails, ends, out));
    if (ready.empty()) return out;
    std::vector<uint32_t> good;
    const bool alone = rails.size() == 1;
    for (const auto& [rail, result] : ends.write({ready, alone})) {
      out[rail].sent = result;
      if (!result.failure) good.push_back(rail);
    }
    const auto received =
        TRY(parse_results(TRY(ask(WriteOrder{good, alone}, rails.size()))), "the peer's results");
    for (const uint32_t rail : good) {
      const auto at = received.find(rail);
      if (at == received.end()) return Error{Errc::protocol, 0, "the peer's results lack a rail"};
      out[rail].received = at->second;
    }
    return out;
  }

  // The rails on which both ends are connected; for the others, why not.
  Result<std::vector<uint32_t>> connect(const std::vector<uint32_t>& rails, OpenEnds& ends, Measures& out) {
    OpenOrder order;
    for (const uint32_t rail : rails) {
      out[rail] = {};
      EndOrFailure mine = ends.open(rail);
      if (const auto* failure = std::get_if<TrafficFailure>(&mine))
        out[rail].failure = *failure;
      else
        order.ends.emplace(rail, std::move(mine));
    }
    std::vector<uint32_t> ready;
    if (order.ends.empty()) return ready;
    const auto theirs = TRY(parse_ends(TRY(ask(order, rails.size()))), "the peer's queue pairs");
    for (const auto& [rail, mine] : order.ends) {
      const auto at = theirs.find(rail);
      if (at == theirs.end()) return Error{Errc::protocol, 0, "the peer's queue pairs lack a rail"};
      if (const auto* failure = std::get_if<TrafficFailure>(&at->second)) {
        out[rail].failure = *failure;
        out[rail].at_peer = true;
        continue;
      }
      out[rail].failure = ends.connect(rail, *std::get_if<EndAddress>(&at->second));
      if (!out[rail].failure) ready.push_back(rail);
    }
    return ready;
  }

  TrafficChannel& channel_;
  const TrafficSide& side_;
  const TrafficSize size_;
};

OfferedEnds answer_ends(const OpenOrder& order, const TrafficSide& side, OpenEnds& ends) {
  OfferedEnds out;
  for (const auto& [rail, theirs] : order.ends) {
    const auto* address = std::get_if<EndAddress>(&theirs);
    if (address == nullptr || rail >= side.rails.size()) continue;
    EndOrFailure mine = ends.open(rail);
    if (std::holds_alternative<EndAddress>(mine)) {
      if (const auto failure = ends.connect(rail, *address)) mine = *failure;
    }
    out.emplace(rail, std::move(mine));
  }
  return out;
}

}  // namespace

uint32_t depth_of(uint32_t message_bytes) {
  constexpr uint32_t kUnderWay = 16 << 20;
  return std::clamp<uint32_t>(kUnderWay / message_bytes, 4, 64);
}

Result<TrafficOutcome> call_for_traffic(TrafficChannel& channel, const TrafficSide& side, TrafficSize size) {
  return Caller(channel, side, size).run();
}

Result<TrafficSize> greet_caller(TrafficChannel& channel, const TrafficSide& side,
                                 const Result<std::string>& line) {
  auto hello = line ? parse_hello(*line) : Result<TrafficHello>(line.error());
  if (hello && hello->test != side.test)
    hello = Error{Errc::peer, 0,
                  "the listener's test has " + shown_test(side.test) + ", the caller's " +
                      shown_test(hello->test) + ": the same --test in both"};
  if (!hello) {
    // One that is gone does not matter.
    (void)channel.write(format_refusal(hello.error().text), kHelloSeconds);
    return std::move(hello).error();
  }
  const TrafficSize size{hello->message_bytes, hello->seconds};
  TRY(channel.write(format_hello(hello_of(side, size)), kHelloSeconds));
  return size;
}

Result<> serve_traffic(TrafficChannel& channel, const TrafficSide& side, TrafficSize size) {
  const double step = longest_step(size, side.rails.size());
  const double until =
      side.clock.seconds() + static_cast<double>(kStepsOfRail * (side.rails.size() + 1)) * step;
  std::optional<OpenEnds> ends;
  while (side.clock.seconds() < until) {
    const auto order = TRY(parse_order(TRY(channel.read_line(step))));
    if (std::holds_alternative<EndOrder>(order)) return {};
    std::string answer;
    if (const auto* open = std::get_if<OpenOrder>(&order)) {
      ends.reset();
      ends.emplace(side, size);
      answer = format_ends(answer_ends(*open, side, *ends));
    } else if (ends) {
      answer = format_results(ends->write(*std::get_if<WriteOrder>(&order)));
    } else {
      return Error{Errc::protocol, 0, "the peer orders writes before it has opened a queue pair"};
    }
    TRY(channel.write(answer, kHelloSeconds));
  }
  return Error{Errc::protocol, 0, "the peer does not end its test"};
}

TrafficOutcome loop_back(const TrafficSide& side, TrafficSize size) {
  TrafficOutcome out{{}, size, {}, {}, {}};
  // A rail is there twice: as its own and as its peer's.
  TrafficSide twice{{}, side.devices, side.clock};
  for (const TrafficRail& rail : side.rails) {
    twice.rails = {rail, rail};
    OpenEnds ends(twice, size);
    RailMeasure measured;
    const EndOrFailure one = ends.open(0), other = ends.open(1);
    for (const EndOrFailure* end : {&one, &other}) {
      if (const auto* failure = std::get_if<TrafficFailure>(end)) measured.failure = *failure;
    }
    if (!measured.failure) measured.failure = ends.connect(0, *std::get_if<EndAddress>(&other));
    if (!measured.failure) measured.failure = ends.connect(1, *std::get_if<EndAddress>(&one));
    if (!measured.failure) measured.sent = ends.write({{0}, true}).at(0);
    out.rails.push_back({rail, {rail.name, rail.rate_gbits}, measured, std::nullopt});
  }
  return out;
}

}  // namespace vfrail::pod
