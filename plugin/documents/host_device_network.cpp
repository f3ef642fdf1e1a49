// HostDeviceNetworks: the NetworkAttachmentDefinition that network-operator makes of one.
#include "plugin/documents/cni_config.h"
#include "plugin/documents/network.h"
#include "plugin/documents/yaml.h"

#include <algorithm>
#include <cctype>

namespace vfrail::plugin {

namespace {

// Its operator's prefix; others are not possible.
constexpr const char* kPrefix = "nvidia.com/";
constexpr const char* kHostDevice = "host-device";

// As in its webhook.
bool is_resource_name(std::string_view name) {
  const auto alphanumeric = [](unsigned char c) { return std::isalnum(c) != 0; };
  const auto allowed = [&](unsigned char c) { return alphanumeric(c) || c == '-' || c == '_' || c == '.'; };
  return !name.empty() && alphanumeric(static_cast<unsigned char>(name.front())) &&
         alphanumeric(static_cast<unsigned char>(name.back())) &&
         std::all_of(name.begin(), name.end(), allowed);
}

// A DNS subdomain, which the API server requires of a name, so it is a plain word in YAML.
Result<> check_name(const std::string& name, const std::string& place) {
  const auto allowed = [](unsigned char c) {
    return std::islower(c) != 0 || std::isdigit(c) != 0 || c == '-' || c == '.';
  };
  if (!name.empty() && name.size() <= 253 && std::all_of(name.begin(), name.end(), allowed) &&
      std::isalnum(static_cast<unsigned char>(name.front())) != 0 &&
      std::isalnum(static_cast<unsigned char>(name.back())) != 0)
    return {};
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

// As it is written in quotation marks of YAML.
std::string quoted(const std::string& text) {
  std::string out;
  for (const char c : text) out += c == '\'' ? "''" : std::string(1, c);
  return out;
}

// The layout is network-operator's manifest, since the line breaks decide what is stored: one between two
// lines becomes a blank, an empty line a line break.
std::string manifest(const HostDeviceNetwork& network, const std::string& type) {
  const bool is_list = !network.meta_plugins.empty();
  const std::string ipam = network.ipam.empty() ? "{}" : quoted(network.ipam);
  return "apiVersion: \"k8s.cni.cncf.io/v1\"\n"
         "kind: NetworkAttachmentDefinition\n"
         "metadata:\n"
         "  name: " +
         network.name +
         "\n"
         "  namespace: " +
         network.name_space +
         "\n"
         "  annotations:\n"
         "    k8s.v1.cni.cncf.io/resourceName: " +
         network.resource +
         "\n"
         "spec:\n"
         "  config: '{\n"
         "  \"cniVersion\":\"0.3.1\",\n"
         "  \"name\":\"" +
         network.name + "\"," + (is_list ? "\n  \"plugins\": [\n    {" : "") +
         "\n"
         "  \"type\":\"" +
         type +
         "\",\n"
         "  \"ipam\":" +
         ipam +
         "\n"
         "}" +
         (is_list ? "\n  ,\n  " + quoted(network.meta_plugins) + "\n  ]\n}" : "") +
         "\n"
         "'\n";
}

// The API server reads the operator's text as YAML: a value that changes its meaning there is refused here.
Result<> check_manifest(const HostDeviceNetwork& network, const std::string& text) {
  const auto documents = TRY(read_documents(text, "the NetworkAttachmentDefinition"));
  const Document& made = documents.front();
  const Json* config = find_below(made.value, "spec.config");
  if (documents.size() != 1 || made.name != network.name || made.name_space != network.name_space ||
      config == nullptr || config->as_text() == nullptr)
    return Error{Errc::invalid, 0,
                 "name or namespace is not a text without quotation marks: " + made.title()};
  TRY(read_cni_config(TRY(Json::parse(*config->as_text()), "spec.config")), "spec.config");
  return {};
}

}  // namespace

Result<HostDeviceNetwork> read_host_device_network(const Document& document) {
  HostDeviceNetwork out;
  out.name = document.name;
  const Json* name = find_below(document.value, "metadata.name");
  if (out.name.empty()) return Error{Errc::invalid, 0, "metadata.name: must be a string that is not empty"};
  TRY(check_name(out.name, "metadata.name" + in_line(name->line())));
  ObjectReader reader = TRY(read_spec(document));
  out.name_space = TRY(reader.text("networkNamespace")).value_or("");
  if (out.name_space.empty())
    return reader.error("networkNamespace", "missing; it is where the pods are, and has no default");
  TRY(check_name(out.name_space, reader.place("networkNamespace")));
  out.resource = TRY(read_resource(reader));
  out.ipam = TRY(read_json_text(reader, document, "ipam", JsonText::ipam));
  out.meta_plugins = TRY(read_json_text(reader, document, "metaPlugins", JsonText::plugins));
  for (const std::string& key : reader.unread()) {
    if (reader.value(key) != nullptr) return reader.error(key, "unknown key");
  }
  return out;
}

Result<std::string> render_network(const HostDeviceNetwork& network, const std::string& type) {
  if (type == kHostDevice && (network.ipam + network.meta_plugins).find('\'') != std::string::npos)
    return Error{
        Errc::invalid, 0,
        "spec.ipam or spec.metaPlugins: a ' ends the text that network-operator makes of it, which then "
        "cannot be read; write \\u0027"};
  std::string text = manifest(network, type);
  TRY(check_manifest(network, text), "the NetworkAttachmentDefinition");
  return text;
}

}  // namespace vfrail::plugin
