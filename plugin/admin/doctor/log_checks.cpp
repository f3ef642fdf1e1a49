// What the kernel has logged about devices since boot.
#include "common/escape.h"
#include "common/node/device_folder.h"
#include "common/text.h"
#include "plugin/admin/doctor/check.h"
#include "plugin/device/inventory/kernel_log.h"

#include <algorithm>
#include <cstdlib>
#include <set>

namespace vfrail::plugin {

namespace {

constexpr size_t kShownLines = 3;

struct TopicText {
  LogTopic topic;
  const char* what;
  const char* remedy;
};

constexpr TopicText kTopicTexts[] = {
    {LogTopic::device_health, "about the health of mlx5 devices",
     "devlink health show; a firmware update or reset, and the vendor's support if it returns"},
    {LogTopic::pcie_error, "about errors of PCIe",
     "reseat the card, and check the slot, riser and its link (VF-N23)"},
    {LogTopic::gid, "about GIDs that could not be set: RoCE does not work from these addresses",
     "check the MAC address (a multicast one is refused) and the number of addresses of the interface"},
    {LogTopic::iommu_fault, "about faults of the IOMMU",
     "the device or its driver used memory that it may not: see the messages around it, and VF-N05"}};

// "0000:17:00.0" of "mlx5_core 0000:17:00.0: ..." and of "Request device [17:00.0] fault addr".
std::vector<std::string> addresses_in(const std::string& text) {
  std::vector<std::string> out;
  for (std::string word : split(text, " []()=,")) {
    while (word.ends_with(":")) word.pop_back();
    for (const std::string& candidate : {word, "0000:" + word})
      if (PciAddress::parse(candidate)) out.push_back(candidate);
  }
  return out;
}

// The functions that pods can get, GPUs, and the bridges above them. Disks have errors, too.
std::set<std::string> known_addresses(const Inventory& inventory) {
  std::set<std::string> out;
  for (const DeviceFacts& function : inventory.functions) {
    out.insert(function.address.text());
    out.insert(function.pcie_path.begin(), function.pcie_path.end());
  }
  for (const Gpu& gpu : inventory.gpus) {
    out.insert(gpu.address.text());
    out.insert(gpu.pcie_path.begin(), gpu.pcie_path.end());
  }
  return out;
}

bool concerns(const std::set<std::string>& known, const std::string& text) {
  const auto named = addresses_in(text);
  return named.empty() || std::any_of(named.begin(), named.end(),
                                      [&](const std::string& address) { return known.contains(address); });
}

CheckResult as_result(const TopicText& topic, const std::vector<const LogLine*>& lines) {
  std::vector<std::string> shown;
  for (size_t at = lines.size() - std::min(lines.size(), kShownLines); at < lines.size(); ++at)
    shown.push_back("[" + std::to_string(lines[at]->microseconds / 1'000'000) + " s] " +
                    escaped(lines[at]->text));
  return {Finding::advice,
          "the kernel has logged " + counted(lines.size(), "message") + " " + topic.what +
              (lines.size() > kShownLines ? "; the last: " : ": ") + joined(shown, "; "),
          topic.remedy};
}

// Every process of the machine has one log: that of the container is the host's as well.
Result<std::optional<KernelLog>> read_log(const CheckedNode& node) {
  auto log = read_kernel_log(node.sys);
  const bool here = log && *log;
  if (here || node.sys.path("") == node.kernel.path("")) return log;
  return read_kernel_log(node.kernel);
}

// "TOTAL_ERR_COR 3" (aer_dev_correctable and the others,
// Documentation/ABI/testing/sysfs-bus-pci-devices-aer).
uint64_t total_errors(const std::string& counters) {
  for (const std::string& line : split(counters, "\n")) {
    const auto words = split(line, " ");
    if (words.size() == 2 && words[0].starts_with("TOTAL_ERR_"))
      return std::strtoull(words[1].c_str(), nullptr, 10);
  }
  return 0;
}

// What the kernel counts of PCIe says something where its log cannot be read.
Result<CheckResults> check_pcie_counters(const CheckedNode& node, const std::string& why) {
  CheckResults out;
  for (const std::string kind : {"fatal", "nonfatal", "correctable"}) {
    std::vector<std::string> counted_errors;
    for (const std::string& address : known_addresses(node.inventory)) {
      if (!PciAddress::parse(address)) continue;  // a host bridge
      const std::string file = std::string(kPciDevices) + "/" + address + "/aer_dev_" + kind;
      const uint64_t total = total_errors(TRY(node.sys.text(file)).value_or(""));
      if (total > 0) counted_errors.push_back(address + " (" + std::to_string(total) + ")");
    }
    if (!counted_errors.empty())
      out.push_back({kind == "correctable" ? Finding::note : Finding::advice,
                     "PCIe has counted " + kind + " errors since boot: " + first_few(counted_errors),
                     "reseat the card, and check the slot, riser and its link (VF-N23)"});
  }
  out.push_back({Finding::unknown, why});
  return out;
}

Result<CheckResults> check_log(const CheckedNode& node) {
  const auto found = read_log(node);
  if (!found) return check_pcie_counters(node, "read the kernel's log: " + found.error().text);
  const auto& log = *found;
  if (!log) return check_pcie_counters(node, node.sys.path(kKernelLog) + " is not there");
  const auto known = known_addresses(node.inventory);
  CheckResults out;
  for (const TopicText& topic : kTopicTexts) {
    std::vector<const LogLine*> lines;
    for (const LogLine& line : log->lines) {
      if (line.topic == topic.topic && concerns(known, line.text)) lines.push_back(&line);
    }
    if (!lines.empty()) out.push_back(as_result(topic, lines));
  }
  if (out.empty() && !log->complete)
    out.push_back({Finding::unknown,
                   "nothing in what is left of the kernel's log: its first messages have been "
                   "overwritten; a journal may have them (journalctl -k)"});
  return out;
}

}  // namespace

const NodeChecks& log_checks() {
  static const NodeChecks kChecks = {
      {"VF-N45", "kernel-log", "the kernel has logged no fault of these devices since boot", check_log,
       lacks_ports},
  };
  return kChecks;
}

}  // namespace vfrail::plugin
