#include "plugin/provision/autoprobe_record.h"

#include "common/files.h"
#include "common/json.h"

namespace vfrail::plugin {

namespace {

constexpr size_t kMaxBytes = 4096;
constexpr int kSchema = 1;

}  // namespace

Result<std::optional<bool>> AutoprobeRecords::load(const PciAddress& pf) const {
  const auto text = TRY(read_file(path(pf), kMaxBytes), "read the record of " + pf.text());
  if (!text) return std::optional<bool>();
  const auto json = Json::parse_object(*text);
  if (!json) return std::optional(true);
  const Json* boot = json->find("boot_id");
  const Json* before = json->find("autoprobe");
  if (boot != nullptr && *boot != Json(boot_)) return std::optional<bool>();
  return std::optional(before == nullptr || *before != Json(false));
}

Result<> AutoprobeRecords::save(const PciAddress& pf, bool autoprobe) const {
  TRY(make_folder(folder_, 0700), "make " + folder_);
  const Json json = Json::object().set("schema", kSchema).set("boot_id", boot_).set("autoprobe", autoprobe);
  return write_file(path(pf), json.text() + "\n", 0600, Durability::synced);
}

Result<> AutoprobeRecords::remove(const PciAddress& pf) const { return remove_file(path(pf)); }

}  // namespace vfrail::plugin
