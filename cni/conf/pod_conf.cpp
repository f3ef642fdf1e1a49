// The part of the network configuration about what the pod gets beside its interface: the keys of the tuning
// and sbr plugins.
#include "cni/conf/net_conf.h"
#include "common/one_of.h"

#include <algorithm>

namespace vfrail::cni {

namespace {

constexpr size_t kMaxSysctls = 128;
constexpr size_t kMaxSysctlBytes = 255;
// A page: the kernel does not accept more.
constexpr size_t kMaxValueBytes = 4096;
constexpr std::string_view kPlaceholder = "IFNAME";

bool valid_part(std::string_view part) {
  const auto printable = [](unsigned char c) { return c > 0x20 && c != 0x7f; };
  return !part.empty() && part != "." && part != ".." && std::all_of(part.begin(), part.end(), printable);
}

bool valid_path(std::string_view path) {
  for (size_t start = 0;;) {
    const size_t slash = path.find('/', start);
    if (!valid_part(path.substr(start, slash - start))) return false;
    if (slash == std::string_view::npos) return true;
    start = slash + 1;
  }
}

// The first separator decides which one it is; the other one is literal then, but a slash in the dotted form
// is a dot of a name: "net.ipv4.conf.eth0/100.arp_notify" (sysctl(8)).
std::string in_slash_form(std::string key) {
  const size_t first = key.find_first_of("./");
  if (first == std::string::npos || key[first] == '/') return key;
  for (char& c : key) c = c == '.' ? '/' : c == '/' ? '.' : c;
  return key;
}

// tuning takes every dot for a separator, so that both may be in one key: "net/ipv4.conf.IFNAME.arp_notify".
// Only an interface's name has a dot of its own, which stands below conf or neigh, and before the setting.
std::string with_slashes(const std::string& key) {
  std::string out = in_slash_form(key);
  std::string_view parent;
  for (size_t start = 0; start < out.size();) {
    const size_t slash = out.find('/', start);
    const size_t end = std::min(slash, out.size());
    const std::string_view part = std::string_view(out).substr(start, end - start);
    const bool is_link = (parent == "conf" || parent == "neigh") && slash != std::string::npos;
    if (!is_link)
      std::replace(out.begin() + static_cast<ptrdiff_t>(start), out.begin() + static_cast<ptrdiff_t>(end),
                   '.', '/');
    parent = part.substr(part.rfind('/') + 1);
    start = end + 1;
  }
  return out;
}

Result<SysctlSetting> read_sysctl(ObjectReader& sysctls, const std::string& key) {
  const std::string path = with_slashes(key);
  if (key.size() > kMaxSysctlBytes || !path.starts_with("net/") || !valid_path(path)) {
    return sysctls.error(key.substr(0, kMaxSysctlBytes),
                         "must be a setting below net (net.ipv4.conf.IFNAME.arp_notify)");
  }
  const auto value = TRY(sysctls.text(key));
  if (!value) return sysctls.error(key, "must be a string, got null");
  const bool bad = value->size() > kMaxValueBytes ||
                   value->find_first_of(std::string_view("\n\0", 2)) != std::string::npos;
  if (bad) {
    return sysctls.error(key, "must be a value of one line, up to " + std::to_string(kMaxValueBytes) +
                                  " bytes, this has " + std::to_string(value->size()));
  }
  return SysctlSetting{key, path.substr(4), *value};
}

Result<std::vector<SysctlSetting>> read_sysctls(ObjectReader& conf) {
  std::vector<SysctlSetting> out;
  const Json::Object* object = TRY(conf.object("sysctl"));
  if (object == nullptr) return out;
  if (object->size() > kMaxSysctls) {
    return conf.error("sysctl", "at most " + std::to_string(kMaxSysctls) +
                                    " settings are allowed, this has " + std::to_string(object->size()));
  }
  ObjectReader reader(*object, conf.path("sysctl"));
  for (const auto& [key, value] : *object) {
    SysctlSetting one = TRY(read_sysctl(reader, key));
    const auto same = std::find_if(out.begin(), out.end(),
                                   [&](const SysctlSetting& other) { return other.path == one.path; });
    if (same != out.end()) return reader.error(key, "it is set as " + same->key + ", too");
    // Nothing is written then, which is what tuning does with it.
    if (!one.value.empty()) out.push_back(std::move(one));
  }
  return out;
}

// Tables that have a meaning already: unspecified, default, main, local (linux/rtnetlink.h).
bool reserved_table(int64_t table) { return table == 0 || (table >= 253 && table <= 255); }

Result<std::optional<SourceRouting>> read_source_routing(ObjectReader& conf) {
  const Json* value = conf.value("sourceRouting");
  if (value == nullptr || *value == Json(false)) return std::optional<SourceRouting>();
  if (*value == Json(true)) return std::optional<SourceRouting>(SourceRouting{});
  if (value->as_object() == nullptr) {
    return conf.error("sourceRouting", std::string("must be true, false or {\"table\": NUMBER}, got ") +
                                           value->type_name() + " (" + value->text().substr(0, 40) + ")");
  }
  ObjectReader reader(*value->as_object(), conf.path("sourceRouting"));
  SourceRouting out;
  if (const auto table = TRY(reader.integer("table", 1, kMaxOwnTable))) {
    if (reserved_table(*table)) {
      return reader.error("table",
                          std::to_string(*table) + " is the kernel's own (253 default, 254 main, 255 local)");
    }
    out.table = static_cast<uint32_t>(*table);
  }
  if (const auto unread = reader.unread(); !unread.empty()) {
    return reader.error(unread.front(), "unknown key; " + must_be_one_of({"table"}, unread.front()));
  }
  return std::optional<SourceRouting>(out);
}

// Those of the pod's annotation replace those of the network, whichever way the keys are written.
void override_sysctls(std::vector<SysctlSetting>& sysctls, const std::vector<SysctlSetting>& with) {
  for (const SysctlSetting& one : with) {
    std::erase_if(sysctls, [&](const SysctlSetting& other) { return other.path == one.path; });
    sysctls.push_back(one);
  }
}

}  // namespace

std::string SysctlSetting::path_for(std::string_view ifname) const {
  std::string out = path;
  for (size_t at = out.find(kPlaceholder); at != std::string::npos;
       at = out.find(kPlaceholder, at + ifname.size())) {
    out.replace(at, kPlaceholder.size(), ifname);
  }
  return out;
}

namespace {

// Those of tuning.
Result<PodSettings> read_link_settings(ObjectReader& conf) {
  PodSettings out;
  out.link = TRY(LinkSettings::parse(conf));
  out.sysctls = TRY(read_sysctls(conf));
  return out;
}

}  // namespace

Result<PodSettings> read_pod_settings(ObjectReader& conf) {
  PodSettings out = TRY(read_link_settings(conf));
  out.source_routing = TRY(read_source_routing(conf));
  return out;
}

namespace {

Result<> read_args_of_tuning(ObjectReader& conf, NetConf& out) {
  const Json::Object* cni = TRY(read_args_cni(conf));
  if (cni == nullptr) return {};
  ObjectReader reader(*cni, "args.cni");
  out.link.mac.args = TRY(read_settable_mac(reader, "mac"));
  if (const auto mtu = TRY(read_mtu(reader))) out.link.mtu = mtu;
  const PodSettings settings = TRY(read_link_settings(reader));
  out.pod.link.override_by(settings.link);
  override_sysctls(out.pod.sysctls, settings.sysctls);
  return {};
}

}  // namespace

Result<> read_pod_args(ObjectReader& conf, NetConf& out) {
  auto read = read_args_of_tuning(conf, out);
  if (read || !is_peer(out.entry.type)) return read;
  // The plugin of that name reads none of them, so a pod that has another one wrong was attached
  // nevertheless.
  out.warnings.push_back(read.error().text + "; it is ignored, as " + out.entry.type + " ignores it");
  return {};
}

}  // namespace vfrail::cni
