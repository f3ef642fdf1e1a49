#include "plugin/observe/status/counters.h"

#include <algorithm>
#include <numeric>

namespace vfrail::plugin {

void Durations::add(std::chrono::duration<double> took) {
  const auto bound = std::lower_bound(kBounds.begin(), kBounds.end(), took.count());
  ++counts[static_cast<size_t>(bound - kBounds.begin())];
  sum += took.count();
}

uint64_t Durations::count() const { return std::accumulate(counts.begin(), counts.end(), uint64_t{0}); }

void Counters::allocated(const std::string& resource, Outcome outcome, Start began) {
  const auto took = start() - began;
  const std::lock_guard lock(mutex_);
  now_.resources[resource].allocations.add(outcome);
  now_.allocation_seconds.add(took);
}

void Counters::preferred(const std::string& resource) {
  const std::lock_guard lock(mutex_);
  ++now_.resources[resource].preferred_allocations;
}

void Counters::registered(const std::string& resource, Outcome outcome) {
  const std::lock_guard lock(mutex_);
  now_.resources[resource].registrations.add(outcome);
}

void Counters::scanned(Outcome outcome, Start began) {
  const auto took = start() - began;
  const std::lock_guard lock(mutex_);
  now_.scans.add(outcome);
  now_.scan_seconds.add(took);
  if (outcome == Outcome::ok) now_.last_good_scan = std::chrono::system_clock::now();
}

void Counters::config_reloaded(Outcome outcome) {
  const std::lock_guard lock(mutex_);
  now_.config_reloads.add(outcome);
}

namespace {

void count(const std::string& failure, std::chrono::duration<double> took, Counters::Outcomes& outcomes,
           Durations& durations, std::map<std::string, uint64_t>& failures) {
  outcomes.add(failure.empty() ? Outcome::ok : Outcome::failed);
  durations.add(took);
  if (!failure.empty()) ++failures[failure];
}

}  // namespace

void Counters::claim_prepared(const std::string& failure, Start began) {
  const auto took = start() - began;
  const std::lock_guard lock(mutex_);
  if (!now_.claims) now_.claims = OfClaims();
  OfClaims& of = *now_.claims;
  count(failure, took, of.prepares, of.prepare_seconds, of.prepare_failures);
}

void Counters::claim_unprepared(const std::string& failure, Start began) {
  const auto took = start() - began;
  const std::lock_guard lock(mutex_);
  if (!now_.claims) now_.claims = OfClaims();
  OfClaims& of = *now_.claims;
  count(failure, took, of.unprepares, of.unprepare_seconds, of.unprepare_failures);
}

void Counters::claims_there(uint64_t number) {
  const std::lock_guard lock(mutex_);
  if (!now_.claims) now_.claims = OfClaims();
  now_.claims->prepared = number;
}

Counters::Content Counters::get() const {
  const std::lock_guard lock(mutex_);
  return now_;
}

}  // namespace vfrail::plugin
