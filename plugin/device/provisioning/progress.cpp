#include "plugin/device/provisioning/progress.h"

#include "common/container/held_folder.h"
#include "common/files.h"
#include "common/json.h"
#include "common/node/sys_root.h"

#include <array>
#include <cerrno>
#include <ctime>

namespace vfrail::plugin {

namespace {

constexpr size_t kMaxBytes = 16384;
constexpr int64_t kSchema = 1;
constexpr size_t kMostText = 4096;

constexpr std::array kStates{ProgressState::awaited, ProgressState::running, ProgressState::draining,
                             ProgressState::done,    ProgressState::refused, ProgressState::needs_reboot,
                             ProgressState::failed};

std::optional<ProgressState> state_of(const Json* name) {
  for (const ProgressState state : kStates) {
    if (name != nullptr && *name == Json(name_of(state))) return state;
  }
  return std::nullopt;
}

std::string text_of(const Json& json, const char* key) {
  const Json* value = json.find(key);
  return value != nullptr && value->as_text() != nullptr ? *value->as_text() : std::string();
}

std::optional<Progress> parse(const std::string& text, const std::string& boot) {
  const auto json = Json::parse_object(text, kMaxBytes);
  if (!json || text_of(*json, "boot_id") != boot) return std::nullopt;
  const auto state = state_of(json->find("state"));
  const Json* at = json->find("at");
  if (!state || at == nullptr || at->as_int() == nullptr) return std::nullopt;
  return Progress{*state, text_of(*json, "entry"), text_of(*json, "text"),
                  std::chrono::seconds(*at->as_int())};
}

constexpr const char* kAwaited = "awaited";
constexpr const char* kProgress = "progress";

// The container of the device plugin can write below `folder`, and provision is root of the host: no link
// there is followed.
Result<std::optional<HeldFolder>> find_folder(const std::string& folder, const char* name) {
  const auto all = TRY(HeldFolder::open(folder));
  return all ? all->enter(name) : Result<std::optional<HeldFolder>>(std::nullopt);
}

std::string file_of(const PciAddress& pf) { return pf.text() + ".json"; }

}  // namespace

const char* name_of(ProgressState state) {
  switch (state) {
    case ProgressState::awaited:
      return "awaited";
    case ProgressState::running:
      return "running";
    case ProgressState::draining:
      return "draining";
    case ProgressState::done:
      return "done";
    case ProgressState::refused:
      return "refused";
    case ProgressState::needs_reboot:
      return "needs-reboot";
    case ProgressState::failed:
      break;
  }
  return "failed";
}

std::optional<std::chrono::seconds> Progress::withheld_until() const {
  switch (state) {
    case ProgressState::awaited:
    case ProgressState::running:
    case ProgressState::draining:
      return at + kProvisionPatience;
    default:
      return std::nullopt;
  }
}

std::chrono::seconds boot_time() {
  timespec now{};
  ::clock_gettime(CLOCK_BOOTTIME, &now);
  return std::chrono::seconds(now.tv_sec);
}

std::string progress_folder(const std::string& folder) { return folder + "/" + kProgress; }

Result<std::optional<Progress>> ProgressRecords::load(const PciAddress& pf) const {
  for (const char* name : {kProgress, kAwaited}) {
    const auto folder = TRY(find_folder(folder_, name));
    const auto text = folder ? TRY(read_file(folder->at(file_of(pf)), kMaxBytes),
                                   "read how far provision is with " + pf.text())
                             : std::nullopt;
    if (auto progress = text ? parse(*text, boot_) : std::nullopt) return progress;
  }
  return std::optional<Progress>();
}

Result<> ProgressRecords::save(const PciAddress& pf, const Progress& progress) const {
  TRY(make_folder(folder_, 0700), "make " + folder_);
  const auto all = TRY(HeldFolder::open(folder_));
  if (!all) return Error{Errc::not_found, ENOENT, folder_ + " is not there"};
  const char* name = progress.state == ProgressState::awaited ? kAwaited : kProgress;
  const HeldFolder folder = TRY(all->make(name, 0700), "make " + folder_ + "/" + name);
  const Json json = Json::object()
                        .set("schema", kSchema)
                        .set("boot_id", boot_)
                        .set("state", name_of(progress.state))
                        .set("entry", progress.entry)
                        .set("text", progress.text.substr(0, kMostText))
                        .set("at", int64_t{progress.at.count()});
  return write_file(folder.at(file_of(pf)), json.text() + "\n", 0600, Durability::renamed);
}

Result<std::vector<PciAddress>> ProgressRecords::known() const {
  constexpr std::string_view kEnd = ".json";
  std::vector<PciAddress> out;
  for (const char* name : {kAwaited, kProgress}) {
    const auto folder = TRY(find_folder(folder_, name));
    if (!folder) continue;
    const auto files = TRY(SysRoot(folder->at("")).list(""), "list " + folder->path());
    for (const std::string& file : files.value_or(std::vector<std::string>())) {
      if (!file.ends_with(kEnd)) continue;
      const auto pf = PciAddress::parse(std::string_view(file).substr(0, file.size() - kEnd.size()));
      if (pf) out.push_back(*pf);
    }
  }
  return out;
}

Result<> ProgressRecords::remove(const PciAddress& pf) const {
  for (const char* name : {kProgress, kAwaited}) {
    const auto folder = TRY(find_folder(folder_, name));
    if (folder) TRY(remove_file(folder->at(file_of(pf))));
  }
  return {};
}

}  // namespace vfrail::plugin
