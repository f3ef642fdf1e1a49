#include "plugin/kube/node/device_check.h"

#include "common/text.h"
#include "plugin/kube/access/api_time.h"
#include "plugin/kube/access/fields.h"

#include <algorithm>
#include <set>

namespace vfrail::kube {

namespace {

// Limits of resource.k8s.io/v1 (api/resource/v1/types.go).
constexpr size_t kMaxLabel = 63;
constexpr size_t kMaxDomain = 63;
constexpr size_t kMaxIdentifier = 32;
constexpr size_t kMaxValue = 64;
constexpr size_t kMaxProperties = 32;  // attributes and capacities of a device together
constexpr size_t kMaxTaints = 16;

bool is_lower(char c) { return c >= 'a' && c <= 'z'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_letter(char c) { return is_lower(c) || (c >= 'A' && c <= 'Z'); }

bool all_of(std::string_view text, bool (*is_valid)(char)) {
  return std::all_of(text.begin(), text.end(), is_valid);
}

// "a.b" -> "a", and "b" is left.
std::string_view take_until(std::string_view& text, char separator) {
  const std::string_view out = text.substr(0, text.find(separator));
  text.remove_prefix(std::min(text.size(), out.size() + 1));
  return out;
}

// [domain "/"] C identifier.
bool is_property_name(std::string_view name) {
  const size_t slash = name.find('/');
  if (slash != std::string_view::npos) {
    if (!is_dns_subdomain(name.substr(0, slash), kMaxDomain)) return false;
    name.remove_prefix(slash + 1);
  }
  return !name.empty() && name.size() <= kMaxIdentifier && !is_digit(name.front()) &&
         all_of(name, [](char c) { return is_letter(c) || is_digit(c) || c == '_'; });
}

// A value of a label, or the last part of its key; a value may be empty.
bool is_label_part(std::string_view text) {
  const auto is_end = [](char c) { return is_letter(c) || is_digit(c); };
  return text.empty() ||
         (text.size() <= kMaxLabel && is_end(text.front()) && is_end(text.back()) && all_of(text, [](char c) {
            return is_letter(c) || is_digit(c) || c == '-' || c == '_' || c == '.';
          }));
}

bool is_label_key(std::string_view key) {
  const size_t slash = key.find('/');
  if (slash != std::string_view::npos) {
    if (!is_dns_subdomain(key.substr(0, slash), 253)) return false;
    key.remove_prefix(slash + 1);
  }
  return !key.empty() && is_label_part(key);
}

std::string quoted(std::string_view text) { return "\"" + well_formed(text.substr(0, 100)) + "\""; }

// Why the API server would refuse the value of an attribute; empty: it would not.
std::string fault_of_attribute(const Json& value) {
  const Json::Object* fields = value.as_object();
  if (fields == nullptr || fields->size() != 1)
    return "its value must be exactly one of int, bool, string and version";
  const auto& [type, inner] = fields->front();
  if (type == "int") return inner.as_int() != nullptr ? "" : "its int must be a whole number of 64 bits";
  if (type == "bool") return inner.as_bool() != nullptr ? "" : "its bool must be true or false";
  const std::string* text = inner.as_text();
  if (type != "string" && type != "version")
    return "a value of the type " + quoted(type) + " is not published: not every API server has it";
  if (text == nullptr) return "its " + type + " must be a text";
  if (text->size() > kMaxValue) return quoted(*text) + " has more than 64 bytes";
  if (!is_utf8(*text)) return quoted(*text) + " is not UTF-8";
  if (type == "version" && !is_semantic_version(*text))
    return quoted(*text) + " is not a semantic version 2.0 such as 20.39.1002";
  return "";
}

std::string fault_of_capacity(const Json& value) {
  const Json* amount = value.find("value");
  if (amount == nullptr) return "it has no value";
  if (amount->as_int() != nullptr) return "";
  const std::string* text = amount->as_text();
  if (text == nullptr) return "its value must be a quantity";
  return is_quantity(*text) ? "" : quoted(*text) + " is not a quantity such as 200G";
}

std::string fault_of_taint(const Json& taint) {
  if (!is_label_key(text_at(taint, {"key"}))) return "its key must be that of a label";
  if (!is_label_part(text_at(taint, {"value"}))) return "its value must be that of a label";
  const std::string effect = text_at(taint, {"effect"});
  if (effect != "None" && effect != "NoSchedule" && effect != "NoExecute")
    return quoted(effect) + " is not one of the effects None, NoSchedule and NoExecute";
  const Json* added = value_at(taint, {"timeAdded"});
  if (added != nullptr && (added->as_text() == nullptr || !parse_api_time(*added->as_text())))
    return "its timeAdded must be a time";
  return "";
}

// One device after another; what they lack is gathered by reason.
class Check {
 public:
  explicit Check(LeftOut& left_out) : left_out_(left_out) {}

  // Null: not a device.
  Json device(const Json& device) {
    name_ = text_at(device, {"name"});
    if (device.as_object() == nullptr || !is_dns_label(name_)) {
      leave_out("the device: its name " + quoted(name_) +
                " must be a DNS label: at most 63 of a-z, 0-9 and -");
      return {};
    }
    if (!names_.insert(name_).second) {
      leave_out("the device: another device has the same name");
      return {};
    }
    properties_ = 0;
    Json out = Json::object();
    for (const auto& [key, value] : *device.as_object()) {
      Json kept = part(device, key, value);
      if (!is_empty(kept)) out.set(key, std::move(kept));
    }
    return out;
  }

 private:
  static bool is_empty(const Json& value) {
    return value.is_null() || (value.as_object() != nullptr && value.as_object()->empty()) ||
           (value.as_array() != nullptr && value.as_array()->empty());
  }

  void leave_out(const std::string& what) { left_out_[what].push_back(name_); }

  Json part(const Json& device, const std::string& key, const Json& value) {
    if (key == "attributes") return properties("attribute", value, fault_of_attribute);
    if (key == "capacity") {
      Json out = properties("capacity", value, fault_of_capacity);
      return is_true_at(device, {"allowMultipleAllocations"}) ? out : without_policies(out);
    }
    if (key == "taints") return taints(value);
    return value;
  }

  Json properties(const char* kind, const Json& value, std::string (*fault_of)(const Json&)) {
    Json out = Json::object();
    for (const auto& [name, property] : value.as_object() == nullptr ? Json::Object() : *value.as_object()) {
      const std::string title = std::string(kind) + " " + name + ": ";
      if (!is_property_name(name)) {
        leave_out(title + "its name must be an identifier, with or without a domain before it");
      } else if (const std::string fault = fault_of(property); !fault.empty()) {
        leave_out(title + fault);
      } else if (properties_ == kMaxProperties) {
        leave_out(title + "a device may have 32 attributes and capacities");
      } else {
        ++properties_;
        out.set(name, property);
      }
    }
    return out;
  }

  // A policy of a device that is allocated once is refused.
  Json without_policies(const Json& capacities) {
    Json out = Json::object();
    for (const auto& [name, capacity] : *capacities.as_object()) {
      Json kept = capacity;
      if (const size_t policies = std::erase_if(
              *kept.as_object(), [](const auto& field) { return field.first == "requestPolicy"; });
          policies != 0)
        leave_out("capacity " + name + ": a requestPolicy needs allowMultipleAllocations");
      out.set(name, std::move(kept));
    }
    return out;
  }

  Json taints(const Json& value) {
    Json out = Json::array();
    for (const Json& taint : value.as_array() == nullptr ? Json::Array() : *value.as_array()) {
      const std::string title = "taint " + quoted(text_at(taint, {"key"})) + ": ";
      if (const std::string fault = fault_of_taint(taint); !fault.empty())
        leave_out(title + fault);
      else if (out.as_array()->size() == kMaxTaints)
        leave_out(title + "a device may have 16 taints");
      else
        out.push(taint);
    }
    return out;
  }

  LeftOut& left_out_;
  std::set<std::string> names_;
  std::string name_;
  size_t properties_ = 0;
};

// The parts of a pre-release (without leading zeros in numbers), or of build metadata.
bool are_version_parts(std::string_view text, bool leading_zeros) {
  if (text.empty() || text.back() == '.') return false;
  while (!text.empty()) {
    const std::string_view part = take_until(text, '.');
    if (part.empty() || !all_of(part, [](char c) { return is_letter(c) || is_digit(c) || c == '-'; }))
      return false;
    if (!leading_zeros && part.size() > 1 && part.front() == '0' && all_of(part, is_digit)) return false;
  }
  return true;
}

}  // namespace

CheckedDevices check_devices(const Json::Array& devices) {
  CheckedDevices out;
  Check check(out.left_out);
  for (const Json& device : devices) {
    if (Json checked = check.device(device); !checked.is_null()) out.devices.push_back(std::move(checked));
  }
  return out;
}

bool is_semantic_version(std::string_view text) {
  if (const size_t plus = text.find('+'); plus != std::string_view::npos) {
    if (!are_version_parts(text.substr(plus + 1), true)) return false;
    text = text.substr(0, plus);
  }
  if (const size_t dash = text.find('-'); dash != std::string_view::npos) {
    if (!are_version_parts(text.substr(dash + 1), false)) return false;
    text = text.substr(0, dash);
  }
  if (text.empty() || text.back() == '.') return false;
  int numbers = 0;
  while (!text.empty()) {
    const std::string_view part = take_until(text, '.');
    // The API server's parser keeps a number in 64 bits.
    if (part.empty() || part.size() > 19 || !all_of(part, is_digit) ||
        (part.size() > 1 && part.front() == '0'))
      return false;
    ++numbers;
  }
  return numbers == 3;
}

bool is_quantity(std::string_view text) {
  if (!text.empty() && (text.front() == '+' || text.front() == '-')) text.remove_prefix(1);
  size_t digits = 0;
  size_t points = 0;
  size_t at = 0;
  for (; at < text.size() && (is_digit(text[at]) || text[at] == '.'); ++at)
    ++(text[at] == '.' ? points : digits);
  if (digits == 0 || points > 1) return false;
  const std::string_view suffix = text.substr(at);
  static const std::set<std::string_view> kSuffixes = {"",  "n", "u",  "m",  "k",  "M",  "G",  "T",
                                                       "P", "E", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"};
  if (kSuffixes.contains(suffix)) return true;
  if (suffix.front() != 'e' && suffix.front() != 'E') return false;
  std::string_view exponent = suffix.substr(1);
  if (!exponent.empty() && (exponent.front() == '+' || exponent.front() == '-')) exponent.remove_prefix(1);
  return !exponent.empty() && exponent.size() <= 2 && all_of(exponent, is_digit);
}

}  // namespace vfrail::kube
