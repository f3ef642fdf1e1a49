#include "cni/verbs/status.h"

#include "cni/ipam/ipam.h"
#include "cni/node/boot.h"
#include "cni/node/device.h"
#include "cni/plan/plan.h"
#include "cni/verbs/verbs.h"
#include "common/errors/error_id.h"

#include <algorithm>
#include <cerrno>
#include <sys/statvfs.h>

namespace vfrail::cni {

namespace {

// A record contains its configuration, so most have a few KiB; a whole node's pods may come at once.
constexpr uint64_t kRoomBytes = 1 << 20;

// The records of this network whose pods still exist.
Result<std::vector<Record>> active_records(const std::string& network, World& world) {
  std::vector<Record> out;
  for (const AttachmentName& name : TRY(world.store.list())) {
    auto record = world.store.load(name);
    if (!record || !*record) continue;  // damaged: its ADD or DEL reports it
    if ((*record)->network != network || !TRY(from_this_boot(**record, world))) continue;
    const auto pod = TRY(world.open_netns((*record)->netns));
    if (pod && pod->netns_id() == (*record)->netns_id) out.push_back(std::move(**record));
  }
  return out;
}

// What a pod has lost; empty if nothing.
Result<std::string> lost_part(const Record& record, const SysRoot& sys) {
  if (!record.device) return std::string();
  const auto now = TRY(read_device(sys, *record.device, Facts::driver | Facts::pf));
  if (!now) return std::string("the device is gone (its PF was removed, or its VFs were created again)");
  if (now->pf && !TRY(read_device(sys, DeviceId(*now->pf), Facts())))
    return std::string("the PF of the device is gone");
  const bool has_parts = record.link || !record.rdma.empty();
  return std::string(has_parts && !now->driver.is_bound() ? "no driver is bound to the device any more" : "");
}

// A device that the configuration itself names, without a scheduler.
Result<std::optional<std::string>> missing_device(const DeviceSelector& selector,
                                                  const std::vector<Record>& active, World& world) {
  // A device in a pod cannot be found by its name in the host, but is not missing.
  if (selector.empty() || !active.empty()) return std::optional<std::string>();
  const auto device = find_device(world.sys, world.host, selector);
  if (device) return std::optional<std::string>();
  if (device.error().code != Errc::not_found) return device.error();
  return std::optional<std::string>(device.error().text +
                                    "; name another device in the network configuration, or bring it back");
}

Result<> ask_ipam(const Request& request, const std::string& type, const World& world) {
  if (!TRY(knows_newer_verbs(request, type, world.ipam_timeout))) return {};
  TRY(run_ipam(request, Command::status, type, world.ipam_timeout));
  return {};
}

}  // namespace

Result<std::optional<std::string>> missing_room(const std::string& state_folder) {
  struct statvfs info {};
  if (::statvfs(state_folder.c_str(), &info) != 0)
    return Error::from_errno(errno, "read the file system of " + state_folder);
  std::string problem;
  if ((info.f_flag & ST_RDONLY) != 0) problem = "is read-only; mount it writable";
  const uint64_t room = uint64_t{info.f_bavail} * info.f_frsize;
  if (problem.empty() && room < kRoomBytes) problem = "is full; make room on it";
  // Some file systems (btrfs) have no inode count and report 0 of 0.
  if (problem.empty() && info.f_files != 0 && info.f_favail == 0)
    problem = "has no inode left; remove files from it";
  if (problem.empty()) return std::optional<std::string>();
  return std::optional<std::string>("the file system of the state folder " + state_folder + " " + problem);
}

Error with_remedy(Error error) {
  const char* remedy = error.sys == EROFS                          ? "mount its file system writable"
                       : error.sys == ENOSPC                       ? "make room on its file system"
                       : error.sys == ENOTDIR                      ? "remove the file that has its name"
                       : error.sys == EACCES || error.sys == EPERM ? "vfrail-cni must run as root"
                                                                   : nullptr;
  if (remedy != nullptr) error.text += std::string("; ") + remedy;
  return std::move(error).with_id(ErrorId::state_folder);
}

Result<StatusAnswer> status(const Request& request, World& world) {
  const NetConf conf = TRY(request.config.conf(), "network configuration");
  StatusAnswer out;
  const auto note = [&out](std::vector<std::string>& list, std::optional<std::string> text, ErrorId id) {
    if (!text) return;
    list.push_back(std::move(*text));
    if (!out.id) out.id = id;
  };
  note(out.missing, TRY(missing_room(world.store.folder())), ErrorId::state_folder);
  if (isolation_key(conf.rdma) != nullptr)
    note(out.missing, missing_isolation(conf.rdma, TRY(world.host.rdma_netns_mode())),
         ErrorId::rdma_shared_mode);
  const auto active =
      TRY(active_records(conf.claims ? network_of_claims(conf.entry.network) : conf.entry.network, world));
  note(out.missing, TRY(missing_device(conf.device, active, world)), ErrorId::device_not_on_node);
  for (const Record& record : active) {
    const std::string lost = TRY(lost_part(record, world.sys));
    if (lost.empty()) continue;
    note(out.degraded,
         record.attachment.ifname + " of container " + record.attachment.container_id + " (" +
             record.device_key + "): " + lost + "; delete the pod, so that it gets another",
         ErrorId::device_lost);
  }
  if (conf.entry.ipam_type.empty()) return out;
  auto ipam = ask_ipam(request, conf.entry.ipam_type, world);
  if (ipam) return out;
  Error& error = ipam.error();
  const bool limited = error.code == Errc::peer && error.sys == static_cast<int>(CniCode::degraded);
  if (!limited && out.missing.empty() && out.degraded.empty()) return std::move(error);  // with its own code
  const ErrorId id = error.id();
  note(limited ? out.degraded : out.missing, std::move(error.text), id);
  return out;
}

}  // namespace vfrail::cni
