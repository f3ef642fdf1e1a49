#include "plugin/documents/network.h"

#include "cni/conf/check_network.h"
#include "plugin/documents/cni_config.h"

namespace vfrail::plugin {

namespace {

constexpr const char* kResourceAnnotation = "k8s.v1.cni.cncf.io/resourceName";

bool is_definition(const Document& document) {
  return document.is("k8s.cni.cncf.io", "NetworkAttachmentDefinition");
}

// The namespace of the user, in a manifest that does not name it.
std::string full_name(const std::string& name_space, const std::string& name) {
  return (name_space.empty() ? "default" : name_space) + "/" + name;
}

// What vfrail-cni would refuse or ignore at ADD. That a device is missing, read_config() says.
void add_remarks(const Document& document, Json config, Network& out) {
  if (config.find("name") == nullptr) config.set("name", document.name);  // Multus does it
  for (const cni::NetworkRemark& remark : cni::check_network(config, true, {"vfrail"})) {
    if (remark.kind == cni::NetworkRemark::Kind::note) continue;
    auto& to = remark.kind == cni::NetworkRemark::Kind::error ? out.faults : out.ignored;
    to.push_back(document.where + ": spec.config: " + remark.full_text());
  }
}

Result<> read_config(const Document& document, Network& out) {
  const Json* config = find_below(document.value, "spec.config");
  if (config == nullptr || config->is_null()) return {};  // Multus takes the file of that name on the node
  const Json value = TRY(read_embedded(document, *config, "config.json"), "spec.config");
  const CniConfig read = TRY(read_cni_config(value), "spec.config");
  add_remarks(document, value, out);
  out.types = read.types;
  if (out.resource.empty() && read.needs_allocation)
    return Error{Errc::invalid, 0,
                 "metadata.annotations: " + std::string(kResourceAnnotation) +
                     " is missing: Multus passes no device to the plugin " + read.types.front() +
                     ", and its configuration names none"};
  return {};
}

Result<> read_annotation(const Document& document, Network& out) {
  const Json* annotations = find_below(document.value, "metadata.annotations");
  const Json* resource = annotations == nullptr ? nullptr : annotations->find(kResourceAnnotation);
  if (resource == nullptr || resource->is_null()) return {};
  const std::string place =
      "metadata.annotations[\"" + std::string(kResourceAnnotation) + "\"]" + in_line(resource->line());
  const std::string* text = resource->as_text();
  if (text == nullptr)
    return Error{Errc::invalid, 0, place + ": must be a string, got " + resource->type_name()};
  const size_t slash = text->find('/');
  if (slash == 0 || slash == std::string::npos || slash + 1 == text->size())
    return Error{Errc::invalid, 0,
                 place + ": \"" + *text + "\" is not the name of a resource, like nvidia.com/hostdev"};
  out.resource = *text;
  out.resource_line = resource->line();
  return {};
}

void read_definition(const Document& document, Network& out) {
  const auto note = [&](const Result<>& read) {
    if (!read) out.faults.push_back(document.where + ": " + read.error().text);
  };
  out.name = full_name(document.name_space, document.name);
  if (document.name.empty()) out.faults.push_back(document.where + ": metadata.name: missing");
  note(read_annotation(document, out));
  if (out.faults.empty()) note(read_config(document, out));
}

}  // namespace

bool is_network(const Document& document) {
  return is_definition(document) || operator_network_kind(document) || is_sriov_network(document);
}

Network read_network(const Document& document, const std::string& operator_prefix) {
  if (is_sriov_network(document)) return read_sriov_network(document, operator_prefix);
  Network out;
  out.where = document.where;
  const auto kind = operator_network_kind(document);
  if (!kind) {
    read_definition(document, out);
    return out;
  }
  out.types = {plugin_of(*kind)};
  out.name = full_name("", document.name);
  const auto network = read_operator_network(document, *kind);
  const auto rendered =
      network ? render_network(*network, plugin_of(*kind)) : Result<std::string>(network.error());
  if (!rendered) out.faults.push_back(document.where + ": " + rendered.error().text);
  if (!network) return out;
  out.name = full_name(network->name_space, network->name);
  out.resource = network->resource;
  const Json* resource = find_below(document.value, "spec.resourceName");
  out.resource_line = resource == nullptr ? 0 : resource->line();
  return out;
}

}  // namespace vfrail::plugin
