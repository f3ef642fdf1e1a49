#include "plugin/kube/client/resource_type.h"

#include "plugin/kube/access/fields.h"

#include <cctype>

namespace vfrail::kube {

std::string ResourceType::api_version() const {
  return group.empty() ? std::string(version) : std::string(group) + "/" + std::string(version);
}

std::string ObjectName::text() const { return name_space.empty() ? name : name_space + "/" + name; }

ObjectName name_of(const Json& object) {
  return {text_at(object, {"metadata", "namespace"}), text_at(object, {"metadata", "name"})};
}

std::string uid_of(const Json& object) { return text_at(object, {"metadata", "uid"}); }

std::string version_of(const Json& object) { return text_at(object, {"metadata", "resourceVersion"}); }

std::string url_escape(std::string_view text) {
  static constexpr char kDigits[] = "0123456789ABCDEF";
  std::string out;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    const bool plain =
        byte < 0x80 && (std::isalnum(byte) != 0 || c == '-' || c == '.' || c == '_' || c == '~');
    if (plain)
      out += c;
    else
      out += {'%', kDigits[byte >> 4], kDigits[byte & 15]};
  }
  return out;
}

std::string path_of(const ResourceType& type, const ObjectName& object) {
  std::string out = (type.group.empty() ? "/api/" : "/apis/") + type.api_version();
  if (type.in_namespaces && !object.name_space.empty()) out += "/namespaces/" + url_escape(object.name_space);
  out += "/" + std::string(type.plural);
  if (!object.name.empty()) out += "/" + url_escape(object.name);
  return out;
}

}  // namespace vfrail::kube
