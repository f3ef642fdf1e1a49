#include "plugin/device/provisioning/withheld.h"

#include "common/errors/error_id.h"
#include "common/node/device_folder.h"
#include "common/node/netdevs.h"
#include "common/text.h"

#include <algorithm>
#include <fnmatch.h>
#include <map>

namespace vfrail::plugin {

namespace {

bool matches(const VfsEntry& entry, const PciAddress& pf, const std::string& name,
             const std::string& serial) {
  if (std::find(entry.devices.begin(), entry.devices.end(), pf) != entry.devices.end()) return true;
  if (!serial.empty() && std::find(entry.serials.begin(), entry.serials.end(), serial) != entry.serials.end())
    return true;
  return std::any_of(entry.names.begin(), entry.names.end(), [&](const std::string& pattern) {
    return !name.empty() && ::fnmatch(pattern.c_str(), name.c_str(), 0) == 0;
  });
}

std::string place_of(const Progress& progress) { return progress.entry.empty() ? "vfs" : progress.entry; }

// Why its VFs are withheld: the same text for as long as they are.
std::string reason_of(const PciAddress& pf, const Progress& progress) {
  switch (progress.state) {
    case ProgressState::awaited:
      return "`vfrail provision` has not begun with its PF " + pf.text() + " (" + place_of(progress) + ")";
    case ProgressState::draining:
      return "all VFs of its PF " + pf.text() + " are removed as soon as no pod has one (" +
             place_of(progress) + ")";
    default:
      return "`vfrail provision` makes the VFs of its PF " + pf.text() + " (" + place_of(progress) + ")";
  }
}

std::string patience() { return std::to_string(kProvisionPatience.count()) + " s"; }

Warning remark_on_withheld(const PciAddress& pf, const Progress& progress, std::chrono::seconds now) {
  const std::string subject = pf.text() + " (" + place_of(progress) + "): ";
  if (*progress.withheld_until() <= now)
    return {
        subject + "`vfrail provision` has not done with it in " + patience() +
            ", so its VFs are allocated as they are: does it run, by the chart's provision.enabled, a unit "
            "of systemd or by hand?",
        ErrorId::provision_pending};
  switch (progress.state) {
    case ProgressState::draining:
      return {subject + "its VFs are not allocated any more: " + progress.text, ErrorId::provision_pending};
    case ProgressState::awaited:
      return {subject + "its VFs are not allocated before `vfrail provision` has made them, for " +
                  patience() + " at most",
              ErrorId::provision_pending};
    default:
      return {subject + "`vfrail provision` makes its VFs, which are not allocated before, for " +
                  patience() + " at most",
              ErrorId::provision_pending};
  }
}

std::optional<Warning> remark_on(const PciAddress& pf, const Progress& progress, std::chrono::seconds now) {
  switch (progress.state) {
    case ProgressState::done:
      return std::nullopt;
    case ProgressState::refused:
      return Warning{progress.text, ErrorId::provision_refused};
    case ProgressState::needs_reboot:
      return Warning{progress.text, ErrorId::provision_firmware};
    case ProgressState::failed:
      return Warning{progress.text, ErrorId::provision_failed};
    default:
      return remark_on_withheld(pf, progress, now);
  }
}

Result<std::string> serial_of(const SysRoot& sys, const VfsConfig& config, const PciAddress& pf) {
  const bool wanted = std::any_of(config.entries.begin(), config.entries.end(),
                                  [](const VfsEntry& entry) { return !entry.serials.empty(); });
  if (!wanted) return std::string();
  return parse_vpd_serial(TRY(DeviceFolder(sys, DeviceId(pf)).text_of_firmware("vpd")));
}

bool withholds(const Progress& progress, std::chrono::seconds now) {
  const auto until = progress.withheld_until();
  return progress.state != ProgressState::awaited && until && *until > now;
}

}  // namespace

const VfsEntry* entry_of(const VfsConfig& config, const PciAddress& pf, const std::string& name,
                         const std::string& serial) {
  const auto at = std::find_if(config.entries.begin(), config.entries.end(),
                               [&](const VfsEntry& one) { return matches(one, pf, name, serial); });
  return at == config.entries.end() ? nullptr : &*at;
}

std::string parse_vpd_serial(std::string_view vpd) {
  // Large resource types are 0x80 and more, with a length of two bytes; 0x90 is the part that is read only
  // (PCI Local Bus Specification 3.0, appendix I).
  const auto byte = [&](size_t at) { return static_cast<unsigned char>(vpd[at]); };
  for (size_t at = 0; at + 3 <= vpd.size() && byte(at) >= 0x80;) {
    const size_t end = std::min(vpd.size(), at + 3 + byte(at + 1) + (size_t{byte(at + 2)} << 8U));
    for (size_t field = at + 3; byte(at) == 0x90 && field + 3 <= end;) {
      const std::string_view value =
          vpd.substr(field + 3, std::min<size_t>(byte(field + 2), end - field - 3));
      if (vpd.substr(field, 2) == "SN") {
        const auto words = split(value, std::string_view(" \0", 2));
        return words.empty() ? "" : words.front();
      }
      field += 3 + byte(field + 2);
    }
    at = end;
  }
  return "";
}

Result<std::optional<std::chrono::seconds>> add_withheld(const ProgressRecords& records,
                                                         std::chrono::seconds now, Inventory& inventory) {
  std::optional<std::chrono::seconds> out;
  std::map<std::string, std::string> reasons;  // by the PF
  for (const DeviceFacts& function : inventory.functions) {
    if (!function.is_pf()) continue;
    const auto progress = TRY(records.load(function.address));
    const auto until = progress ? progress->withheld_until() : std::nullopt;
    if (!until || *until <= now) continue;
    reasons[function.address.text()] = reason_of(function.address, *progress);
    out = std::min(out.value_or(*until), *until);
  }
  if (reasons.empty()) return out;
  for (DeviceFacts& function : inventory.functions) {
    if (!function.pf || function.attached || (function.driver.is_bound() && function.partly_away())) continue;
    const auto found = reasons.find(function.pf->text());
    if (found != reasons.end()) function.provisioning = found->second;
  }
  return out;
}

Result<std::vector<Warning>> provision_remarks(const ProgressRecords& records, std::chrono::seconds now,
                                               const Inventory& inventory) {
  std::vector<Warning> out;
  for (const DeviceFacts& function : inventory.functions) {
    if (!function.is_pf()) continue;
    const auto progress = TRY(records.load(function.address));
    if (!progress) continue;
    if (auto remark = remark_on(function.address, *progress, now)) out.push_back(*std::move(remark));
  }
  return out;
}

Result<std::vector<Warning>> await_provision(const VfsConfig& config, const ProgressRecords& records,
                                             const SysRoot& sys, std::chrono::seconds now,
                                             const Inventory& inventory) {
  std::vector<Warning> out;
  if (config.entries.empty()) return out;
  for (const DeviceFacts& function : inventory.functions) {
    if (!function.is_pf()) continue;
    const std::string name = TRY(choose_uplink(sys, function.netdev_names()));
    const std::string serial = TRY(serial_of(sys, config, function.address));
    const VfsEntry* entry = entry_of(config, function.address, name, serial);
    if (entry == nullptr) continue;
    auto progress = TRY(records.load(function.address));
    if (!progress) {
      progress = Progress{ProgressState::awaited, entry->place, "", now};
      TRY(records.save(function.address, *progress));
    }
    if (auto remark = remark_on(function.address, *progress, now)) out.push_back(*std::move(remark));
  }
  return out;
}

Result<> forget_progress(const ProgressRecords& records, std::chrono::seconds now) {
  for (const PciAddress& pf : TRY(records.known())) {
    const auto progress = TRY(records.load(pf));
    if (!progress || !withholds(*progress, now)) TRY(records.remove(pf));
  }
  return {};
}

}  // namespace vfrail::plugin
