#include "cni/conf/net_conf.h"

#include "cni/conf/vf_conf.h"
#include "common/container/allocated_unit.h"
#include "common/errors/error_id.h"
#include "common/one_of.h"
#include "common/text.h"

#include <algorithm>
#include <cctype>

namespace vfrail::cni {

namespace {

constexpr size_t kMaxConfigBytes = 1 << 20;
// libcni sends what the network definition has: "" or null where it names no version.
constexpr const char* kVersionIfNone = "0.1.0";

// libcni and IPAM plugins make file names of it, so a longer one never worked.
bool valid_network_name(std::string_view name) {
  if (name.empty() || name.size() > 255 || std::isalnum(static_cast<unsigned char>(name[0])) == 0)
    return false;
  return std::all_of(name.begin(), name.end(), [](unsigned char c) {
    return std::isalnum(c) != 0 || c == '_' || c == '.' || c == '-';
  });
}

// A name that becomes the file name of an executable below CNI_PATH. A zero in it would cut the path.
bool valid_program_name(std::string_view name) {
  return !name.empty() && name.size() <= 255 && !has_control_characters(name) &&
         name.find('/') == std::string_view::npos && name.find('\\') == std::string_view::npos &&
         name != "." && name != "..";
}

// Ignored, it would leave a pod in the wrong networks.
Result<> refuse_vlan_trunk(ObjectReader& conf) {
  const Json* value = conf.value("vlanTrunk");
  // These ask for nothing, and operators write them explicitly.
  const bool nothing = value == nullptr || *value == Json(false) || *value == Json("") ||
                       *value == Json::array() || *value == Json::object();
  if (nothing) return {};
  return Error{Errc::unsupported, 0,
               "vlanTrunk: the kernel has no way to give a VF a trunk of VLANs (value " + value->text() +
                   "); take it out of the network configuration, and set vlan if one is enough",
               ErrorId::vlan_trunk};
}

Result<> add_device_id(ObjectReader& reader, std::string_view key, DeviceSelector& out,
                       std::string& first_key) {
  const auto text = TRY(reader.text(key));
  if (!text || text->empty()) return {};
  const bool unit = is_unit(*text);
  std::optional<DeviceId> id;
  if (!unit) id = TRY(DeviceId::parse(*text), reader.path(key));
  const std::string name = unit ? *text : id->text();
  const std::string before = out.id ? out.id->text() : out.unit;
  if (!before.empty() && before != name) {
    return reader.error(key, "it names " + name + ", but " + first_key + " names " + before +
                                 "; one attachment has one device");
  }
  out.id = id;
  out.unit = unit ? name : "";
  first_key = reader.path(key);
  return {};
}

// Also an alternative name: ALTIFNAMSIZ of linux/if.h is 128, with the terminating zero.
bool valid_device_name(std::string_view name) {
  const bool plain = std::all_of(name.begin(), name.end(), [](unsigned char c) {
    return c > ' ' && c != 0x7f && c != '/' && c != ':' && c != '%';
  });
  return plain && (IfName::parse(name) || (name.size() > 15 && name.size() < 128));
}

// To find an interface by; one of IPoIB has 20 bytes.
Result<std::optional<MacAddress>> read_hwaddr(ObjectReader& conf) {
  const auto text = TRY(conf.text("hwaddr"));
  const auto mac = text ? MacAddress::parse(*text) : std::nullopt;
  return mac && mac->ipoib() && !mac->all_zero() ? mac : TRY(read_settable_mac(conf, "hwaddr"));
}

Result<> read_device(ObjectReader& conf, ObjectReader* runtime, DeviceSelector& out) {
  std::string first_key;
  if (runtime != nullptr) TRY(add_device_id(*runtime, "deviceID", out, first_key));
  TRY(add_device_id(conf, "deviceID", out, first_key));
  TRY(add_device_id(conf, "pciBusID", out, first_key));
  out.name = TRY(conf.text("device")).value_or("");
  if (!out.name.empty() && !valid_device_name(out.name)) {
    return conf.error("device", "\"" + out.name.substr(0, 40) + "\" is not an interface name");
  }
  if (out.name == "lo") {
    return conf.error("device",
                      "lo is the loopback interface, of which every network namespace has its own; name the "
                      "interface of a device");
  }
  out.mac = TRY(read_hwaddr(conf));
  out.kernel_path = TRY(conf.text("kernelpath")).value_or("");
  const bool leaves = out.kernel_path.find("/../") != std::string::npos || out.kernel_path.ends_with("/..");
  // A zero would end the path for the kernel, and hide the rest from the check of its end.
  const bool odd = leaves || has_control_characters(out.kernel_path);
  if (!out.kernel_path.empty() && (!out.kernel_path.starts_with("/sys/devices/") || odd)) {
    return conf.error("kernelpath", "must be a path below /sys/devices/");
  }
  // An unsigned short in the kernel (struct net_device).
  if (const auto port = TRY(conf.integer("port", 0, 65535))) out.port = static_cast<uint32_t>(*port);
  return {};
}

// Under the name of rdma-cni, which fails without an RDMA device and does nothing else, one is required.
Result<RdmaPolicy> read_rdma(ObjectReader& conf, const std::string& type) {
  const auto word = TRY(conf.text("rdma")).value_or(type == "rdma" ? "require" : "auto");
  if (word == "auto") return RdmaPolicy::automatic;
  if (word == "require") return RdmaPolicy::require;
  if (word == "off") return RdmaPolicy::off;
  return conf.error("rdma", must_be_one_of({"auto", "require", "off"}, word));
}

Result<bool> read_host_use_allowed(ObjectReader& conf) {
  const auto word = TRY(conf.text("hostUse")).value_or("");
  if (!word.empty() && word != "refuse" && word != "allow")
    return conf.error("hostUse", must_be_one_of({"refuse", "allow"}, word));
  return word == "allow";
}

Result<HostConfigUse> read_host_config_use(ObjectReader& conf) {
  const auto word = TRY(conf.text("hostConfig")).value_or("");
  if (!word.empty() && word != "keep" && word != "move")
    return conf.error("hostConfig", must_be_one_of({"keep", "move"}, word));
  return word == "move" ? HostConfigUse::move : HostConfigUse::keep;
}

// What an entry behind the plugin that has created the interface must leave to that plugin.
Result<std::string> find_interface_key(ObjectReader& conf, const NetConf& own) {
  if (!own.entry.ipam_type.empty()) return std::string("ipam");
  if (own.link.mac.network) return std::string("mac");
  if (own.link.mtu) return std::string("mtu");
  if (!own.vf.settings.empty()) return std::string("settings of the VF");
  if (own.safety.reset) return std::string("reset");
  if (own.pod.need_link() || !own.link.tuning.empty()) return std::string("settings of the interface");
  return std::string(TRY(conf.text("guid")).value_or("").empty() ? "" : "guid");
}

// 63 bytes (IB_DEVICE_NAME_MAX), of which "_NN" may be appended.
Result<std::string> read_rdma_name(ObjectReader& conf, RdmaPolicy policy) {
  auto name = TRY(conf.text("rdmaName")).value_or("");
  const bool plain = std::all_of(name.begin(), name.end(), [](unsigned char c) {
    return std::isalnum(c) != 0 || c == '_' || c == '-' || c == '.';
  });
  if (name.size() > 60 || !plain || name.starts_with(".")) {
    return conf.error("rdmaName",
                      "\"" + name.substr(0, 60) +
                          "\" is not a name of an RDMA device (at most 60 letters, digits, '_', '-', '.')");
  }
  if (!name.empty() && policy == RdmaPolicy::off)
    return conf.error("rdmaName", "with \"rdma\": \"off\" there is no RDMA device to name");
  return name;
}

std::string lowered(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return text;
}

// As with sriov-cni, no word about the log fails a pod.
Result<LogConf> read_logging(ObjectReader& conf, std::vector<std::string>& warnings) {
  LogConf out;
  const std::string level = lowered(TRY(conf.text("logLevel")).value_or(""));
  const auto parsed = level == "verbose" ? LogLevel::debug : parse_log_level(level);
  out.level = parsed.value_or(LogLevel::info);
  if (!level.empty() && !parsed)
    warnings.push_back("logLevel: info is used, because it " +
                       must_be_one_of({"panic", "error", "warning", "info", "debug"}, level));
  out.file = TRY(conf.text("logFile")).value_or("");
  if (has_control_characters(out.file)) return conf.error("logFile", "must be an absolute path");
  if (!out.file.empty() && out.file[0] != '/') {
    out.file.clear();
    warnings.push_back("logFile: must be an absolute path, stderr is used instead");
  }
  return out;
}

Result<std::optional<std::vector<AttachmentName>>> read_valid_attachments(ObjectReader& conf) {
  const Json::Array* list = TRY(conf.array("cni.dev/valid-attachments"));
  if (list == nullptr) return std::optional<std::vector<AttachmentName>>();
  std::vector<AttachmentName> out;
  for (size_t i = 0; i < list->size(); ++i) {
    const std::string path = "cni.dev/valid-attachments[" + std::to_string(i) + "]";
    const Json::Object* object = (*list)[i].as_object();
    // A list that cannot be read completely must not make an active attachment look stale.
    if (object == nullptr)
      return Error{Errc::invalid, 0,
                   path + ": must be an object with containerID and ifname, got " + (*list)[i].type_name()};
    ObjectReader reader(*object, path);
    const std::string id = TRY(reader.text("containerID")).value_or("");
    const std::string ifname = TRY(reader.text("ifname")).value_or("");
    if (id.empty() || ifname.empty()) {
      return Error{
          Errc::invalid, 0,
          path + ": must have containerID and ifname, has no " + (ifname.empty() ? "ifname" : "containerID")};
    }
    // No attachment of ours has another one.
    if (auto name = IfName::parse(ifname)) out.push_back({id, std::move(*name)});
  }
  return std::optional<std::vector<AttachmentName>>(std::move(out));
}

Result<std::string> read_network_name(ObjectReader& conf) {
  auto out = TRY(conf.text("name")).value_or("");
  if (valid_network_name(out)) return out;
  return conf.error("name", "must be a network name: a letter or digit, then letters, digits, '_', '.', '-'");
}

Result<> read_names(ObjectReader& conf, EntryConf& out, std::vector<std::string>& warnings) {
  out.cni_version = TRY(conf.text("cniVersion")).value_or("");
  if (out.cni_version.empty()) out.cni_version = kVersionIfNone;
  out.network = TRY(read_network_name(conf));
  out.type = TRY(conf.text("type")).value_or("");
  const Json::Object* ipam = TRY(conf.object("ipam"));
  if (ipam == nullptr || ipam->empty()) return {};
  ObjectReader reader(*ipam, conf.path("ipam"));
  out.ipam_type = TRY(reader.text("type")).value_or("");
  // The same as no section, for libcni and for the peers.
  if (out.ipam_type.empty()) {
    if (ipam->size() > (reader.value("type") != nullptr ? 1U : 0U))
      warnings.push_back(
          "ipam: it has no type, so the attachment gets no address; name the IPAM plugin "
          "(whereabouts, host-local, static, dhcp, ...)");
    return {};
  }
  if (!valid_program_name(out.ipam_type)) {
    return reader.error("type",
                        "must be the name of an IPAM plugin (whereabouts, host-local, static, dhcp, ...)");
  }
  return {};
}

}  // namespace

bool is_peer(std::string_view type) {
  return type == "host-device" || type == "sriov" || type == "ib-sriov" || type == "rdma";
}

Result<std::optional<MacAddress>> read_settable_mac(ObjectReader& reader, std::string_view key) {
  const auto text = TRY(reader.text(key));
  if (!text || text->empty()) return std::optional<MacAddress>();
  const auto mac = MacAddress::parse(*text);
  if (!mac || mac->bytes.size() != 6) {
    return reader.error(key, "\"" + *text + "\" is not a MAC address (02:00:00:00:00:01)");
  }
  if (mac->all_zero() || (mac->bytes[0] & 1) != 0) {
    return reader.error(key,
                        "\"" + *text + "\" is all zero or a multicast address, which no interface can have");
  }
  return mac;
}

Result<const Json::Object*> read_args_cni(ObjectReader& conf) {
  const Json::Object* args = TRY(conf.object("args"));
  if (args == nullptr) return static_cast<const Json::Object*>(nullptr);
  ObjectReader reader(*args, "args");
  return reader.object("cni");
}

// 68 is the least that IPv4 needs (RFC 791), 65535 the most that a link can carry.
Result<std::optional<uint32_t>> read_mtu(ObjectReader& conf) {
  const auto mtu = TRY(conf.integer("mtu", 0, 65535));
  if (!mtu || *mtu == 0) return std::optional<uint32_t>();
  if (*mtu < 68) return conf.error("mtu", "must be at least 68, got " + std::to_string(*mtu));
  return std::optional<uint32_t>(static_cast<uint32_t>(*mtu));
}

Result<Dns> read_dns(ObjectReader& conf) {
  Dns out;
  const Json::Object* object = TRY(conf.object("dns"));
  if (object == nullptr) return out;
  ObjectReader reader(*object, conf.path("dns"));
  out.nameservers = TRY(reader.texts("nameservers")).value_or(std::vector<std::string>());
  out.domain = TRY(reader.text("domain")).value_or("");
  out.search = TRY(reader.texts("search")).value_or(std::vector<std::string>());
  out.options = TRY(reader.texts("options")).value_or(std::vector<std::string>());
  return out;
}

namespace {

// Errc::protocol: nobody can read it. Errc::invalid: others can, and so it comes to a DEL as well.
Result<Json> decode(std::string_view text) {
  auto json = Json::parse_object(text, kMaxConfigBytes);
  if (json) return json;
  const size_t first = text.find_first_not_of(" \t\r\n");
  const bool only_a_limit = first != std::string_view::npos && text[first] == '{' && Json::is_valid(text);
  return Error{only_a_limit ? Errc::invalid : Errc::protocol, 0, std::move(json.error().text),
               only_a_limit ? ErrorId::network_config : ErrorId::config_syntax};
}

// `text` is that of `json`.
Result<NetConf> read_net_conf(const Json& json, std::string_view text) {
  ObjectReader conf(*json.as_object(), "");
  NetConf out;
  TRY(read_names(conf, out.entry, out.warnings));
  TRY(refuse_vlan_trunk(conf));
  const Json::Object* runtime_object = TRY(conf.object("runtimeConfig"));
  std::optional<ObjectReader> runtime;
  if (runtime_object != nullptr) runtime.emplace(*runtime_object, "runtimeConfig");
  TRY(read_device(conf, runtime ? &*runtime : nullptr, out.device));
  if (runtime) out.device_info_file = TRY(runtime->text("CNIDeviceInfoFile")).value_or("");
  if (runtime) out.link.mac.runtime = TRY(read_settable_mac(*runtime, "mac"));
  out.link.mac.network = TRY(read_settable_mac(conf, "mac"));
  out.link.mtu = TRY(read_mtu(conf));
  out.entry.dns = TRY(read_dns(conf));
  out.rdma.policy = TRY(read_rdma(conf, out.entry.type));
  out.rdma.name = TRY(read_rdma_name(conf, out.rdma.policy));
  out.vf.settings = TRY(read_vf_settings(conf));
  TRY(read_infiniband(conf, runtime ? &*runtime : nullptr, out.vf));
  TRY(read_isolation(conf, out.rdma));
  out.pod = TRY(read_pod_settings(conf));
  out.pod.notifies = out.entry.type == "sriov";
  out.link.tuning = TRY(read_tuning(conf));
  out.nccl = TRY(read_nccl(conf));
  out.rails = TRY(read_rails(conf));
  TRY(read_child(conf, out));
  out.claims = TRY(read_claims(conf));
  out.safety.reset = TRY(conf.boolean("reset")).value_or(false);
  out.interface_key = TRY(find_interface_key(conf, out));
  TRY(read_pod_args(conf, out));
  if (!out.pod.sysctls.empty()) TRY(refuse_repeated_sysctls(text));
  out.safety.host_use_allowed = TRY(read_host_use_allowed(conf));
  out.safety.host_config = TRY(read_host_config_use(conf));
  TRY(refuse_device_keys(conf, out));
  TRY(refuse_claims_keys(conf, out));
  out.safety.pods_have_net_admin = TRY(conf.boolean("podNetAdmin")).value_or(false);
  const auto timeout = TRY(conf.integer("searchTimeoutSeconds", 0, kLongestSearchTimeout.count()));
  if (timeout) out.safety.search_timeout = std::chrono::seconds(*timeout);
  if (out.pod.source_routing && out.entry.ipam_type.empty()) {
    return conf.error("sourceRouting", "it needs addresses: add an ipam section");
  }
  out.log = TRY(read_logging(conf, out.warnings));
  out.entry.valid_attachments = TRY(read_valid_attachments(conf));
  if (const Json* previous = conf.value("prevResult")) {
    if (previous->as_object() == nullptr) return conf.error("prevResult", "must be an object");
    out.entry.prev_result = *previous;
  }
  for (std::string& warning : unknown_keys(conf.unread())) out.warnings.push_back(std::move(warning));
  TRY(check_resources(json, out));
  return out;
}

Result<GcConf> read_gc_conf(const Json& json) {
  ObjectReader conf(*json.as_object(), "");
  GcConf out;
  out.network = TRY(read_network_name(conf));
  if (has_claims_key(conf)) out.network = network_of_claims(out.network);
  out.valid_attachments = TRY(read_valid_attachments(conf));
  return out;
}

// The text of a key that is present and is a text; anything else counts as absent.
std::string text_of(const Json* object, std::string_view key) {
  if (object == nullptr || object->as_object() == nullptr) return "";
  ObjectReader reader(*object->as_object(), "");
  const auto text = reader.text(key);
  return text && *text ? **text : "";
}

}  // namespace

Result<NetConf> parse_net_conf(std::string_view text) {
  const std::string unicode = Json::as_unicode(text);
  return with_id(ErrorId::network_config, read_net_conf(TRY(decode(unicode)), unicode));
}

Configuration::Configuration(const std::string& text) : text_(Json::as_unicode(text)) {
  const auto json = decode(text_);
  conf_ = json ? with_id(ErrorId::network_config, read_net_conf(*json, text_)) : json.error();
  gc_ = json ? with_id(ErrorId::network_config, read_gc_conf(*json)) : json.error();
  decoded_ = json.ok();
  if (json) read_what_can_be(*json);
}

void Configuration::read_what_can_be(const Json& json) {
  ObjectReader reader(*json.as_object(), "");
  mistyped_ = !reader.text("cniVersion").ok() || !reader.text("name").ok();
  if (std::string version = text_of(&json, "cniVersion"); !version.empty()) version_ = std::move(version);
  ipam_type_ = text_of(reader.value("ipam"), "type");
  if (ipam_type_.find('/') != std::string::npos) ipam_type_.clear();
}

}  // namespace vfrail::cni
