// Devlink: what vfrail needs from the kernel's devlink family (generic netlink): is RDMA enabled on a
// function, which DDP package does it run, and its eswitch mode, which can be set. Answers only for functions
// of the network namespace it was opened in; a kernel or driver without devlink is "not known", never an
// error.
#pragma once

#include "common/ids.h"
#include "common/kernel/eswitch.h"
#include "common/netlink/netlink.h"

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace vfrail::plugin {

// A device's name in devlink: "pci/0000:03:00.0", "auxiliary/mlx5_core.sf.4".
struct DevlinkHandle {
  std::string bus;
  std::string device;
};

// The health reporters in state "error" ("fw_fatal"), by the address of their PCI function.
using FailedReporters = std::map<std::string, std::vector<std::string>>;

class Devlink {
 public:
  // No value if the kernel has no devlink.
  static Result<std::optional<Devlink>> open();

  // The parameter enable_rdma; no value if the driver does not have it.
  Result<std::optional<bool>> enable_rdma(const DevlinkHandle& function);
  // A version of `devlink dev info`, "fw.app.name" for instance; empty if the driver does not report it.
  Result<std::optional<std::string>> version(const DevlinkHandle& function, std::string_view name);
  // Of the function's eswitch; no value if the driver has none, or none at the moment.
  Result<std::optional<EswitchMode>> eswitch_mode(const DevlinkHandle& function);
  // Removes and makes netdevs of the function, and takes seconds.
  Result<> set_eswitch_mode(const DevlinkHandle& function, EswitchMode mode);
  // Empty if none are in state "error", or the kernel does not know reporters.
  Result<FailedReporters> failed_reporters();

 private:
  Devlink(NlSocket socket, uint16_t family) : socket_(std::move(socket)), family_(family) {}
  NlMessage ask(uint8_t command, const DevlinkHandle& function) const;

  NlSocket socket_;
  uint16_t family_;
};

// The bytes of one answer, header included. Pure; no value if it does not contain what is searched.
std::optional<uint16_t> parse_family_id(std::span<const std::byte> message);
std::optional<EswitchMode> parse_eswitch_mode(std::span<const std::byte> message);
std::optional<bool> parse_enable_rdma(std::span<const std::byte> message);
struct FailedReporter {
  std::string device;    // "0000:03:00.0"
  std::string reporter;  // "fw_fatal"
};
std::optional<FailedReporter> parse_failed_reporter(std::span<const std::byte> message);
std::optional<std::string> parse_version(std::span<const std::byte> message, std::string_view name);

}  // namespace vfrail::plugin
