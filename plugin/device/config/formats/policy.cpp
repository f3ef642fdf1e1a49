#include "plugin/device/config/formats/policy.h"

#include "common/one_of.h"
#include "common/text.h"

#include <initializer_list>
#include <optional>
#include <utility>

namespace vfrail::plugin {

namespace {

// A node or two beside the RDMA device's own are known (cxi, knem); this is not a way to mount all of /dev.
constexpr size_t kMaxExtraNodes = 16;

template <class Value>
using Words = std::initializer_list<std::pair<const char*, Value>>;

template <class Value>
Result<> read_word(ObjectReader& reader, const char* key, Words<Value> words, Value& out) {
  const auto text = TRY(reader.text(key));
  if (!text) return {};
  std::vector<std::string> allowed;
  for (const auto& [word, value] : words) {
    if (*text == word) {
      out = value;
      return {};
    }
    allowed.emplace_back(word);
  }
  return reader.error(key, must_be_one_of(allowed, *text));
}

Result<> read_flag(ObjectReader& reader, const char* key, bool& out) {
  out = TRY(reader.boolean(key)).value_or(out);
  return {};
}

Result<> read_health(ObjectReader& resource, HealthPolicy& out, ConfigWarnings& warnings) {
  const Json::Object* object = TRY(resource.object("health"));
  if (object == nullptr) return {};
  ObjectReader reader(*object, resource.path("health"), resource.value("health")->line());
  TRY(read_flag(reader, "port", out.port));
  TRY(read_flag(reader, "carrier", out.carrier));
  TRY(read_flag(reader, "guid", out.guid));
  TRY(read_flag(reader, "devlink", out.devlink));
  out.devlink_demanded = out.devlink && reader.value("devlink") != nullptr;
  return warnings.unknown_keys(reader, KeyPlace::health);
}

// "/dev/knem", or "cxi/*": the names in the device's folder cxi in sysfs.
bool good_extra_node(const std::string& text) {
  // A zero would end the path for the kernel, and hide the rest from these checks.
  if (has_control_characters(text) || text.find("..") != std::string::npos) return false;
  if (text.starts_with("/dev/")) return text.size() > 5 && text.back() != '/';
  return text.size() > 2 && text.ends_with("/*") && text.find('/') == text.size() - 2;
}

Result<> read_extra_nodes(ObjectReader& reader, std::vector<std::string>& out) {
  out = TRY(reader.texts("extraDeviceNodes")).value_or(std::move(out));
  for (const std::string& node : out) {
    if (good_extra_node(node)) continue;
    return reader.error("extraDeviceNodes", "\"" + node +
                                                "\" is neither a device node like \"/dev/knem\" nor a folder "
                                                "of the device in sysfs like \"cxi/*\"");
  }
  if (out.size() <= kMaxExtraNodes) return {};
  return reader.error("extraDeviceNodes", "more than " + std::to_string(kMaxExtraNodes) + " of them");
}

Error bad_pod_files(const ObjectReader& reader, const Json& value) {
  return reader.error("podFiles",
                      "must be false, or a list of \"nccl\" and \"ucx\", got " + value.text().substr(0, 60));
}

// A resource that a configuration of before has stays served, and NCCL keeps reading the files.
constexpr const char* kEnvIsNccl =
    "is read as [\"nccl\"], so /etc/nccl.conf of the image is not seen: write that; or, to keep the image's, "
    "[\"ucx\"], and NCCL_CONF_FILE=/run/vfrail/nccl.conf in the pods";

Result<> read_pod_files(ObjectReader& reader, ResourceConfig& out, ConfigWarnings& warnings) {
  const Json* value = reader.value("podFiles");
  if (value == nullptr || *value == Json(false)) return {};
  PodFileMounts& wanted = out.pod_files;
  if (*value == Json("env")) {
    warnings.remark(reader, "podFiles", kEnvIsNccl);
    wanted.nccl = true;
  } else if (value->as_array() == nullptr || value->as_array()->empty()) {
    return bad_pod_files(reader, *value);
  } else {
    for (const Json& one : *value->as_array()) {
      const std::string word = one.as_text() == nullptr ? "" : *one.as_text();
      if (word != "nccl" && word != "ucx") return bad_pod_files(reader, *value);
      (word == "nccl" ? wanted.nccl : wanted.ucx) = true;
    }
  }
  if (!shares(out)) return {};
  return reader.error(
      "podFiles",
      "vfrail-cni writes them when it attaches a device to a pod, and it attaches none of a shared "
      "pool; take podFiles out, or set NCCL_IB_HCA in the pods");
}

// No node has a number of bytes with more digits.
constexpr size_t kMaxLockDigits = 18;

bool is_lock_amount(const std::string& text) {
  if (text == "unlimited") return true;
  return !text.empty() && text.size() <= kMaxLockDigits && text.front() != '0' &&
         text.find_first_not_of("0123456789") == std::string::npos;
}

Result<> read_memlock(ObjectReader& reader, std::optional<std::string>& out) {
  const Json* value = reader.value("memlock");
  if (value == nullptr) return {};
  const bool* flag = value->as_bool();
  const std::string* text = value->as_text();
  if (flag != nullptr && !*flag) out.reset();
  if (flag != nullptr && *flag) out.emplace();
  if (text != nullptr && is_lock_amount(*text)) out = *text;
  if (flag != nullptr || (text != nullptr && is_lock_amount(*text))) return {};
  return reader.error("memlock",
                      "must be true, false, \"unlimited\", or a number of bytes as a string: "
                      "\"67108864\"");
}

}  // namespace

Result<> read_policy(ObjectReader& reader, ResourceConfig& out, ConfigWarnings& warnings) {
  TRY(read_word<HostUse>(reader, "hostUse",
                         {{"refuse", HostUse::refuse}, {"warn", HostUse::warn}, {"allow", HostUse::allow}},
                         out.host_use));
  TRY(read_word<Preference>(reader, "preferredAllocation",
                            {{"none", Preference::none},
                             {"numa", Preference::numa},
                             {"pcie", Preference::pcie},
                             {"pack", Preference::pack},
                             {"spread", Preference::spread},
                             {"distinctPF", Preference::distinct_pf},
                             {"rail", Preference::rail}},
                            out.preference));
  TRY(read_health(reader, out.health, warnings));
  TRY(read_extra_nodes(reader, out.extra_nodes));
  TRY(read_pod_files(reader, out, warnings));
  TRY(read_memlock(reader, out.memlock));
  TRY(read_flag(reader, "mountCheck", out.mount_check));
  return read_flag(reader, "registerEmpty", out.register_empty);
}

}  // namespace vfrail::plugin
