#include "cni/conf/tuning.h"

#include "common/kernel/ethtool.h"
#include "common/one_of.h"

#include <algorithm>
#include <cctype>
#include <vector>

namespace vfrail::cni {

namespace {

constexpr size_t kMostSettings = 64;
constexpr size_t kLongestFeature = 31;  // ETH_GSTRING_LEN with its zero
constexpr int64_t kMostQueues = 1024;
constexpr size_t kLongestMask = 256;  // 1,024 CPUs and more

// As ethtool(8) writes them, too: "rx-usecs" is "rxUsecs".
std::string in_our_case(const std::string& key) {
  std::string out;
  for (size_t i = 0; i < key.size(); ++i) {
    const bool joint = key[i] == '-' && i + 1 < key.size();
    out += joint ? static_cast<char>(std::toupper(static_cast<unsigned char>(key[++i]))) : key[i];
  }
  return out;
}

Error too_many(ObjectReader& conf, std::string_view key, size_t count) {
  return conf.error(key, "at most " + std::to_string(kMostSettings) + " settings are allowed, this has " +
                             std::to_string(count));
}

Result<std::map<std::string, uint32_t>> read_numbers(ObjectReader& conf, const char* key,
                                                     EthtoolGroup group) {
  std::map<std::string, uint32_t> out;
  const Json::Object* object = TRY(conf.object(key));
  if (object == nullptr) return out;
  if (object->size() > kMostSettings) return too_many(conf, key, object->size());
  const auto names = number_names(group);
  ObjectReader reader(*object, conf.path(key));
  for (const auto& [written, value] : *object) {
    const std::string name = in_our_case(written);
    if (std::find(names.begin(), names.end(), name) == names.end())
      return reader.error(written.substr(0, kMostSettings), "unknown key; " + must_be_one_of(names, name));
    if (value == Json(true) || value == Json(false)) {
      out[name] = value == Json(true) ? 1 : 0;
      continue;
    }
    const auto number = TRY(reader.integer(written, 0, UINT32_MAX));
    if (!number) return reader.error(written, "must be a number or a flag, got null");
    out[name] = static_cast<uint32_t>(*number);
  }
  return out;
}

// Whether there is a feature of this name is the kernel's to say: they differ by version.
Result<std::map<std::string, bool>> read_features(ObjectReader& conf) {
  std::map<std::string, bool> out;
  const Json::Object* object = TRY(conf.object("features"));
  if (object == nullptr) return out;
  if (object->size() > kMostSettings) return too_many(conf, "features", object->size());
  ObjectReader reader(*object, conf.path("features"));
  for (const auto& [name, value] : *object) {
    if (name.empty() || name.size() > kLongestFeature)
      return reader.error(name.substr(0, kLongestFeature), "must be a name that ethtool -k lists (rx-gro)");
    const auto on = TRY(reader.boolean(name));
    if (!on) return reader.error(name, "must be true or false, got null");
    out[name] = *on;
  }
  return out;
}

// bitmap_parse() of the kernel: groups of up to eight hexadecimal digits, with commas between.
bool is_mask(const std::string& text) {
  size_t digits = 0;
  for (const char c : text) {
    if (c == ',' ? digits == 0 : std::isxdigit(static_cast<unsigned char>(c)) == 0) return false;
    digits = c == ',' ? 0 : digits + 1;
    if (digits > 8) return false;
  }
  return digits > 0;
}

Result<std::string> read_cpus(ObjectReader& conf, const char* key) {
  auto text = TRY(conf.text(key)).value_or("");
  if (text.empty() || text == kNumaCpus || (text.size() <= kLongestMask && is_mask(text))) return text;
  return conf.error(key,
                    "must be \"numa\" (the CPUs of the device's NUMA node) or a mask of CPUs (\"ff\"), "
                    "got \"" +
                        text.substr(0, 40) + "\"");
}

}  // namespace

Result<Tuning> read_tuning(ObjectReader& conf) {
  Tuning out;
  if (const auto queues = TRY(conf.integer("queues", 1, kMostQueues)))
    out.queues = static_cast<uint32_t>(*queues);
  out.rings = TRY(read_numbers(conf, "rings", EthtoolGroup::rings));
  out.coalesce = TRY(read_numbers(conf, "coalesce", EthtoolGroup::coalesce));
  out.features = TRY(read_features(conf));
  out.rps = TRY(read_cpus(conf, "rps"));
  out.xps = TRY(read_cpus(conf, "xps"));
  out.irqs = TRY(read_cpus(conf, "irqs"));
  return out;
}

}  // namespace vfrail::cni
