#include "common/traffic/watch_traffic.h"

#include "common/escape.h"
#include "common/text.h"

#include <cmath>
#include <csignal>
#include <cstdio>
#include <ctime>

namespace vfrail {

namespace {

std::string time_now() {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  ::localtime_r(&now, &parts);
  char out[16];
  std::strftime(out, sizeof out, "%H:%M:%S", &parts);
  return out;
}

bool wait_unless_signalled(const sigset_t& signals, double seconds) {
  const double whole = std::floor(seconds);
  const timespec wait{.tv_sec = static_cast<time_t>(whole),
                      .tv_nsec = static_cast<long>((seconds - whole) * 1e9)};
  return ::sigtimedwait(&signals, nullptr, &wait) < 0;
}

std::string seconds_text(double seconds) {
  char out[32];
  std::snprintf(out, sizeof out, "%.1f s", seconds);
  return out;
}

}  // namespace

std::string rate_lines(const std::vector<DeviceRates>& rates, const std::string& time) {
  std::string out;
  for (const DeviceRates& one : rates) {
    out += time + " " + escaped(one.device.id);
    if (!one.device.pod.empty()) out += " pod=" + escaped(one.device.pod);
    if (!one.device.claim.empty()) out += " claim=" + escaped(one.device.claim);
    for (size_t i = 0; i < kCounts; ++i) {
      if (one.rates[i])
        out += " " + std::string(name_of(static_cast<Count>(i))) + "=" +
               std::to_string(std::llround(*one.rates[i]));
    }
    out += "\n";
  }
  return out;
}

std::string summary_lines(const Summary& summary) {
  std::string out;
  for (const auto& [id, line] : summary.lines()) {
    for (size_t i = 0; i < kCounts; ++i) {
      const auto& range = line.counts[i];
      if (!range || range->total <= 0) continue;
      out += escaped(id) + " " + name_of(static_cast<Count>(i));
      for (const auto& [word, value] :
           {std::pair(" total=", range->total), std::pair(" most=", range->most),
            std::pair(" average=", range->average()), std::pair(" least=", range->least)})
        out += word + std::to_string(std::llround(value));
      out += "\n";
    }
  }
  const std::string time = "In " + seconds_text(summary.seconds());
  return out.empty() ? time + " no device had traffic.\n" : time + ":\n" + out;
}

Json rates_json(const std::vector<DeviceRates>& rates, double seconds, int schema_version) {
  Json list = Json::array();
  for (const DeviceRates& one : rates) {
    Json counts = Json::object();
    for (size_t i = 0; i < kCounts; ++i) {
      if (one.rates[i])
        counts.set(name_of(static_cast<Count>(i)), static_cast<int64_t>(std::llround(*one.rates[i])));
    }
    const auto percent = one.percent();
    list.push(Json::object()
                  .set("id", one.device.id)
                  .set("names", one.device.names)
                  .set("pod", one.device.pod)
                  .set("claim", one.device.claim)
                  .set("speed_mbps", one.device.speed_mbps ? Json(int64_t{*one.device.speed_mbps}) : Json())
                  .set("percent", percent ? Json(static_cast<int64_t>(std::lround(*percent))) : Json())
                  .set("per_second", std::move(counts)));
  }
  return Json::object()
      .set("schema_version", schema_version)
      .set("interval_ms", static_cast<int64_t>(std::llround(seconds * 1000)))
      .set("traffic", std::move(list));
}

Result<> watch_traffic(const WatchOptions& options, const WatchWorld& world) {
  Reading before = TRY(world.read());
  Summary summary;
  Result<> out;
  for (unsigned done = 0; options.count == 0 || done < options.count; ++done) {
    if (!world.wait(options.interval)) break;
    auto now = world.read();
    if (!now) {
      out = std::move(now.error());
      break;
    }
    const double seconds = std::chrono::duration<double>(now->time - before.time).count();
    const auto rates = rates_between(before, *now);
    summary.add(rates, seconds);
    if (options.json)
      world.print(well_formed(rates_json(rates, seconds, options.schema_version).text()) + "\n");
    else if (world.draw)
      world.print(world.draw(rates));
    else
      world.print(rate_lines(rates, time_now()));
    before = *std::move(now);
  }
  if (!options.json) world.print("\n" + world.summarise(summary));
  return out;
}

std::function<bool(double seconds)> wait_until_signal() {
  sigset_t signals;
  ::sigemptyset(&signals);
  for (const int signal : {SIGINT, SIGTERM}) ::sigaddset(&signals, signal);
  ::sigprocmask(SIG_BLOCK, &signals, nullptr);
  return [signals](double seconds) { return wait_unless_signalled(signals, seconds); };
}

}  // namespace vfrail
