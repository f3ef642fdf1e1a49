// HostDeviceNetworks, MacvlanNetworks and IPoIBNetworks: the NetworkAttachmentDefinition that
// network-operator makes of one.
#include "cni/conf/check_network.h"
#include "common/one_of.h"
#include "common/text.h"
#include "plugin/documents/cni_config.h"
#include "plugin/documents/network.h"
#include "plugin/documents/yaml.h"

#include <algorithm>
#include <cctype>

namespace vfrail::plugin {

namespace {

using Kind = OperatorNetworkKind;

constexpr const char* kOperatorGroup = "mellanox.com";
// Its operator's prefix; others are not possible.
constexpr const char* kPrefix = "nvidia.com/";
constexpr const char* kHostDevice = "host-device";
// Where the definition of a macvlan or IPoIB network is made that names no namespace.
constexpr const char* kDefaultNamespace = "default";

// As in its webhook.
bool is_resource_name(std::string_view name) {
  const auto alphanumeric = [](unsigned char c) { return std::isalnum(c) != 0; };
  const auto allowed = [&](unsigned char c) { return alphanumeric(c) || c == '-' || c == '_' || c == '.'; };
  return !name.empty() && alphanumeric(static_cast<unsigned char>(name.front())) &&
         alphanumeric(static_cast<unsigned char>(name.back())) &&
         std::all_of(name.begin(), name.end(), allowed);
}

constexpr size_t kMaxObjectName = 253;

// A DNS subdomain, which the API server requires of a name, so it is a plain word in YAML.
Result<> check_name(const std::string& name, const std::string& place) {
  if (is_dns_subdomain(name, kMaxObjectName)) return {};
  return Error{
      Errc::invalid, 0,
      place + ": \"" + name + "\" must be lower-case letters and digits, between them also '-' and '.'"};
}

Result<std::string> read_resource(ObjectReader& spec) {
  std::string name = TRY(spec.text("resourceName")).value_or("");
  if (name.empty()) return spec.error("resourceName", "missing; it names the pool of the device plugin");
  if (name.starts_with(kPrefix)) name.erase(0, std::string_view(kPrefix).size());
  if (is_resource_name(name)) return kPrefix + name;
  return spec.error("resourceName",
                    "\"" + name + "\" must be letters and digits, between them also '-', '_' and '.'; " +
                        kPrefix + " is put before it");
}

// An interface's name, or an alternative one, which can have 127 characters (ALTIFNAMSIZ of linux/if.h). Of
// what the kernel allows, quotation marks and backslashes would end the operator's text.
bool can_be_master(std::string_view name) {
  constexpr size_t kMost = 127;
  return !name.empty() && name.size() <= kMost && std::all_of(name.begin(), name.end(), [](unsigned char c) {
    return c > ' ' && c != 0x7f &&
           std::string_view("/:\"'\\").find(static_cast<char>(c)) == std::string_view::npos;
  });
}

Result<std::string> read_master(ObjectReader& spec) {
  std::string master = TRY(spec.text("master")).value_or("");
  if (master.empty() || can_be_master(master)) return master;
  return spec.error("master", "\"" + master.substr(0, 40) + "\" is not the name of an interface");
}

Result<std::string> read_mode(ObjectReader& spec) {
  static const std::vector<std::string> kModes = {"bridge", "private", "vepa", "passthru"};
  std::string mode = TRY(spec.text("mode")).value_or("");
  if (mode.empty() || std::find(kModes.begin(), kModes.end(), mode) != kModes.end()) return mode;
  return spec.error("mode", must_be_one_of(kModes, mode));
}

// The operator takes all white space out of it, also within texts.
std::string without_space(std::string text) {
  std::erase_if(text, [](unsigned char c) { return std::isspace(c) != 0; });
  return text;
}

Result<> read_host_device(ObjectReader& spec, const Document& document, OperatorNetwork& out) {
  if (out.name_space.empty())
    return spec.error("networkNamespace", "missing; it is where the pods are, and has no default");
  out.resource = TRY(read_resource(spec));
  out.ipam = TRY(read_json_text(spec, document, "ipam", JsonText::ipam));
  out.meta_plugins = TRY(read_json_text(spec, document, "metaPlugins", JsonText::plugins));
  return {};
}

Result<> read_macvlan(ObjectReader& spec, const Document& document, OperatorNetwork& out) {
  out.master = TRY(read_master(spec));
  out.mode = TRY(read_mode(spec));
  out.mtu = TRY(spec.integer("mtu", 0)).value_or(0);
  out.ipam = without_space(TRY(read_json_text(spec, document, "ipam", JsonText::ipam)));
  out.meta_plugins = TRY(read_json_text(spec, document, "metaPlugins", JsonText::plugins));
  return {};
}

// The CRD calls the interface of the default route the default of `master`; ipoib-cni has none.
Result<> read_ipoib(ObjectReader& spec, const Document& document, OperatorNetwork& out) {
  out.master = TRY(read_master(spec));
  if (out.master.empty())
    return spec.error("master",
                      "missing; it names the IPoIB interface of the host, for which the CNI plugin "
                      "ipoib has no default");
  out.ipam = without_space(TRY(read_json_text(spec, document, "ipam", JsonText::ipam)));
  return {};
}

Result<> read_keys_of(ObjectReader& spec, const Document& document, OperatorNetwork& out) {
  switch (out.kind) {
    case Kind::host_device:
      return read_host_device(spec, document, out);
    case Kind::macvlan:
      return read_macvlan(spec, document, out);
    case Kind::ipoib:
      return read_ipoib(spec, document, out);
  }
  return {};
}

// As it is written in quotation marks of YAML.
std::string quoted(const std::string& text) {
  std::string out;
  for (const char c : text) out += c == '\'' ? "''" : std::string(1, c);
  return out;
}

// The keys of the plugin between its type and the end of its object, with the operator's blanks and line
// breaks.
std::string plugin_keys(const OperatorNetwork& network) {
  const std::string ipam = "\"ipam\":" + (network.ipam.empty() ? "{}" : quoted(network.ipam));
  switch (network.kind) {
    case Kind::host_device:
      return ",\n  " + ipam;
    case Kind::macvlan:
      return "," + (network.master.empty() ? "" : "\"master\": \"" + network.master + "\",") +
             (network.mode.empty() ? "" : "\"mode\" : \"" + network.mode + "\",") +
             (network.mtu == 0 ? "" : "\"mtu\" : " + std::to_string(network.mtu) + ",") + ipam;
    case Kind::ipoib:
      return ",\n  \"master\": \"" + network.master + "\",\n  " + ipam;
  }
  return "";
}

// The layout is network-operator's manifest, since the line breaks decide what is stored: one between two
// lines becomes a blank, an empty line a line break. Only that of an IPoIB network has none at the end.
std::string manifest(const OperatorNetwork& network, const std::string& type) {
  const bool is_list = !network.meta_plugins.empty();
  return "apiVersion: \"k8s.cni.cncf.io/v1\"\n"
         "kind: NetworkAttachmentDefinition\n"
         "metadata:\n"
         "  name: " +
         network.name +
         "\n"
         "  namespace: " +
         network.name_space + "\n" +
         (network.resource.empty() ? ""
                                   : "  annotations:\n"
                                     "    k8s.v1.cni.cncf.io/resourceName: " +
                                         network.resource + "\n") +
         "spec:\n"
         "  config: '{\n"
         "  \"cniVersion\":\"0.3.1\",\n"
         "  \"name\":\"" +
         network.name + "\"," + (is_list ? "\n  \"plugins\": [\n    {" : "") +
         "\n"
         "  \"type\":\"" +
         type + "\"" + plugin_keys(network) +
         "\n"
         "}" +
         (is_list ? "\n  ,\n  " + quoted(network.meta_plugins) + "\n  ]\n}" : "") +
         (network.kind == Kind::ipoib ? "'\n" : "\n'\n");
}

// The API server reads the operator's text as YAML: a value that changes its meaning there is refused here.
Result<> check_manifest(const OperatorNetwork& network, const std::string& text) {
  const auto documents = TRY(read_documents(text, "the NetworkAttachmentDefinition"));
  const Document& made = documents.front();
  const Json* config = find_below(made.value, "spec.config");
  if (documents.size() != 1 || made.name != network.name || made.name_space != network.name_space ||
      config == nullptr || config->as_text() == nullptr)
    return Error{Errc::invalid, 0,
                 "name or namespace is not a text without quotation marks: " + made.title()};
  const Json network_conf = TRY(Json::parse(*config->as_text()), "spec.config");
  TRY(read_cni_config(network_conf), "spec.config");
  // What vfrail-cni refuses fails here, and not for each pod.
  for (const cni::NetworkRemark& remark : cni::check_network(network_conf, true, {"vfrail"})) {
    if (remark.kind == cni::NetworkRemark::Kind::error)
      return Error{Errc::invalid, 0, "spec.config: " + remark.full_text(), remark.id};
  }
  return {};
}

}  // namespace

std::optional<OperatorNetworkKind> operator_network_kind(const Document& document) {
  for (const Kind kind : {Kind::host_device, Kind::macvlan, Kind::ipoib}) {
    if (document.is(kOperatorGroup, name_of(kind))) return kind;
  }
  return std::nullopt;
}

const char* name_of(OperatorNetworkKind kind) {
  switch (kind) {
    case Kind::host_device:
      return "HostDeviceNetwork";
    case Kind::macvlan:
      return "MacvlanNetwork";
    case Kind::ipoib:
      return "IPoIBNetwork";
  }
  return "?";
}

const char* plugin_of(OperatorNetworkKind kind) {
  switch (kind) {
    case Kind::host_device:
      return kHostDevice;
    case Kind::macvlan:
      return "macvlan";
    case Kind::ipoib:
      return "ipoib";
  }
  return "?";
}

Result<OperatorNetwork> read_operator_network(const Document& document, OperatorNetworkKind kind) {
  OperatorNetwork out;
  out.kind = kind;
  out.name = document.name;
  const Json* name = find_below(document.value, "metadata.name");
  if (out.name.empty()) return Error{Errc::invalid, 0, "metadata.name: must be a string that is not empty"};
  TRY(check_name(out.name, "metadata.name" + in_line(name->line())));
  ObjectReader reader = TRY(read_spec(document));
  out.name_space = TRY(reader.text("networkNamespace")).value_or("");
  if (out.name_space.empty() && kind != Kind::host_device) out.name_space = kDefaultNamespace;
  if (!out.name_space.empty()) TRY(check_name(out.name_space, reader.place("networkNamespace")));
  TRY(read_keys_of(reader, document, out));
  for (const std::string& key : reader.unread()) {
    if (reader.value(key) != nullptr) return reader.error(key, "unknown key");
  }
  return out;
}

Result<std::string> render_network(const OperatorNetwork& network, const std::string& type) {
  const bool is_host_device = network.kind == Kind::host_device;
  const std::string plugin = is_host_device ? type : plugin_of(network.kind);
  if (plugin == plugin_of(network.kind) &&
      (network.ipam + network.meta_plugins).find('\'') != std::string::npos)
    return Error{
        Errc::invalid, 0,
        "spec.ipam or spec.metaPlugins: a ' ends the text that network-operator makes of it, which then "
        "cannot be read; write \\u0027"};
  std::string text = manifest(network, plugin);
  TRY(check_manifest(network, text), "the NetworkAttachmentDefinition");
  return text;
}

}  // namespace vfrail::plugin
