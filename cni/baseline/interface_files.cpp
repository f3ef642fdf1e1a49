#include "cni/baseline/interface_files.h"

#include "common/files.h"

#include <array>
#include <cerrno>
#include <optional>

namespace vfrail::cni {

namespace {

// Documentation/ABI/testing/sysfs-class-net and sysfs-class-net-queues.
constexpr std::array kOfInterface{"gro_flush_timeout", "napi_defer_hard_irqs", "threaded"};
constexpr std::array kOfReceiveQueue{"rps_cpus", "rps_flow_cnt"};
constexpr std::array kOfSendQueue{"xps_cpus",
                                  "xps_rxqs",
                                  "tx_maxrate",
                                  "byte_queue_limits/limit_max",
                                  "byte_queue_limits/limit_min",
                                  "byte_queue_limits/hold_time"};

std::string folder_of(const std::string& interface) { return "sys/class/net/" + interface; }

// An unreadable file of this interface is treated as missing: XPS of an interface with one queue
// (xps_cpus_show() answers ENOENT), a rate that the driver cannot limit.
Result<std::optional<std::string>> read_one(const SysRoot& folder, const std::string& file) {
  auto text = folder.text(file);
  return !text && text.error().sys == ENOENT ? std::optional<std::string>() : std::move(text);
}

template <class Names>
Result<> read_all(const SysRoot& folder, const std::string& below, const Names& names, InterfaceFiles& out) {
  for (const char* name : names) {
    const std::string file = below + name;
    if (auto text = TRY(read_one(folder, file))) out[file] = std::move(*text);
  }
  return {};
}

// Empty: the file is unchanged.
std::string restore_one(const SysRoot& sys, const SysRoot& folder, const std::string& interface,
                        const std::string& file, const std::string& before) {
  auto now = read_one(folder, file);
  if (now && *now == before) return "";
  const auto written = write_attribute(sys.path(folder_of(interface) + "/" + file), before);
  now = read_one(folder, file);
  if (now && *now == before) return "";
  std::string out = file + " is ";
  out += !now ? "not known (" + now.error().text + ")" : *now ? "\"" + **now + "\"" : "no longer there";
  out += ", was \"" + before + "\"";
  return written ? out : out + ": " + written.error().text;
}

}  // namespace

Result<InterfaceFiles> read_interface_files(const SysRoot& sys, const std::string& interface) {
  InterfaceFiles out;
  const SysRoot folder = sys.at(folder_of(interface));
  TRY(read_all(folder, "", kOfInterface, out));
  const auto queues = TRY(folder.list("queues"));
  for (const std::string& queue : queues.value_or(SysRoot::Names())) {
    const std::string below = "queues/" + queue + "/";
    if (queue.starts_with("rx-")) TRY(read_all(folder, below, kOfReceiveQueue, out));
    if (queue.starts_with("tx-")) TRY(read_all(folder, below, kOfSendQueue, out));
  }
  return out;
}

std::vector<std::string> restore_interface_files(const SysRoot& sys, const std::string& interface,
                                                 const InterfaceFiles& before) {
  std::vector<std::string> out;
  const SysRoot folder = sys.at(folder_of(interface));
  for (const auto& [file, text] : before) {
    std::string reason = restore_one(sys, folder, interface, file, text);
    if (!reason.empty()) out.push_back(std::move(reason));
  }
  return out;
}

}  // namespace vfrail::cni
