// Tuning: what a network configuration changes of a device beyond its link: queues, rings, coalescing of
// interrupts, features, packet steering. Off by default; the baseline restores it. Parsed here, and pure.
#pragma once

#include "common/json.h"
#include "common/result.h"

#include <cstdint>
#include <map>
#include <optional>
#include <string>

namespace vfrail::cni {

// Instead of a mask of CPUs: those of the device's NUMA node.
inline constexpr const char* kNumaCpus = "numa";

struct Tuning {
  std::optional<uint32_t> queues;            // of each kind that the driver has
  std::map<std::string, uint32_t> rings;     // "rx" -> 4096, by the names of EthtoolSettings
  std::map<std::string, uint32_t> coalesce;  // "rxUsecs" -> 8
  std::map<std::string, bool> features;      // "rx-gro" -> false, by the kernel's names (ethtool -k)
  // Receive and transmit packet steering: kNumaCpus, or the CPUs as sysfs takes them ("ff", "3,ffffffff").
  std::string rps;
  std::string xps;
  std::string irqs;  // the CPUs of its interrupts: kNumaCpus, or a mask as sysfs takes it

  bool empty() const { return *this == Tuning(); }
  bool operator==(const Tuning&) const = default;
};

// Errc::invalid names the key.
Result<Tuning> read_tuning(ObjectReader& conf);

}  // namespace vfrail::cni
