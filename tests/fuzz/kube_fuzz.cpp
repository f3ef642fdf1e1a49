// Target: what an API server sends, or who answers in its place: events of a watch, refusals, and objects
// that users of the cluster have written; a kubeconfig and what its credential plugin prints; what
// vfrail-check has measured, and what a node's page of metrics has.
#include "plugin/kube/access/exec_plugin.h"
#include "plugin/kube/access/kubeconfig.h"
#include "plugin/kube/access/server_url.h"
#include "plugin/kube/client/refusal.h"
#include "plugin/kube/client/watch_lines.h"
#include "plugin/kube/controller/decide.h"
#include "plugin/kube/controller/watched_objects.h"
#include "plugin/kube/fabric/measure.h"
#include "plugin/kube/view/cluster_view.h"
#include "plugin/kube/view/findings.h"
#include "plugin/kube/view/traffic_page.h"
#include "plugin/kube/view/view_json.h"
#include "tests/fuzz/checks.h"

#include <cmath>

using namespace vfrail;
using namespace vfrail::fuzz;
using namespace vfrail::kube;

namespace {

// Two objects of the API never have one name, so neither have two definitions that concern one network.
void check_decision(const NetworkKind& kind, const Json& network) {
  ControllerFacts facts;
  facts.has_definitions = true;
  for (const char* name : {"train", "default"}) facts.namespaces[name] = NamespaceState::active;
  facts.offers["nvidia.com/hostdev"] = 1;
  static const std::string kType = "vfrail";
  const Decision decision = decide({kind, network, {}, facts, kType, {}, {}});
  for (const DefinitionChange& change : decision.changes) {
    MUST(change.kind == DefinitionChange::Kind::create);
    MUST(is_file_name(change.definition.name));
    MUST(facts.namespaces.contains(change.definition.name_space));
    // What is made is itself in order: the next decision changes nothing.
    const Decision next = decide({kind, network, {&change.fields}, facts, kType, decision.memory, {}});
    MUST(next.changes.empty());
  }
  if (decision.status) MUST(!decision.status->text().empty());
}

void check_refusal(const Error& error) { MUST(!error.text.empty() && error.text.size() < 8192); }

void check_stream(std::string_view text) {
  size_t whole = 0;
  WatchLines at_once;
  const auto first = at_once.add(text, [&](std::string_view, Json&&) {
    ++whole;
    return Result<>();
  });
  // The same in two pieces.
  size_t pieces = 0;
  WatchLines two;
  const auto count = [&](std::string_view, Json&&) {
    ++pieces;
    return Result<>();
  };
  auto second = two.add(text.substr(0, text.size() / 2), count);
  if (second) second = two.add(text.substr(text.size() / 2), count);
  MUST(first.ok() == second.ok() && whole == pieces && (!first || at_once.is_cut() == two.is_cut()));
}

void check_credentials(std::string_view text, const Json& json) {
  const auto made = read_exec_credential(text, "client.authentication.k8s.io/v1");
  if (made) MUST(!made->token.empty() || !made->key.empty());
  if (!made) check_refusal(made.error());
  if (json.as_object() == nullptr) return;
  const auto access = read_kubeconfig({{"/home/user/config", json}}, "");
  if (!access) return check_refusal(access.error());
  MUST(!access->host.empty() && access->port != 0);
  MUST(access->certificate.is_given() == access->key.is_given());
}

void check_measurement(std::string_view text) {
  const auto rails = read_measurement(text);
  if (!rails) return check_refusal(rails.error());
  for (const RailMeasurement& rail : *rails) {
    MUST(!rail.sent || *rail.sent > 0);
    MUST(!rail.failed.empty() || (rail.sent && rail.received));
  }
}

// A page of metrics that some pod with vfrail's labels has answered with.
void check_traffic(std::string_view text) {
  const auto page = read_traffic_page(text, {});
  if (!page) return check_refusal(page.error());
  for (const std::string& missing : page->missing) MUST(!missing.empty());
  Reading later = page->reading;
  later.time += std::chrono::seconds(1);
  for (const DeviceRates& rates : rates_between(page->reading, later)) {
    for (const auto& rate : rates.rates) MUST(!rate || *rate == 0);  // nothing has been counted meanwhile
  }
}

// The same object as each kind, and what is shown of it.
void check_view(const Json& json) {
  ClusterFacts facts;
  facts.nodes.push_back(read_cluster_node(json));
  if (auto pod = read_cluster_pod(json)) facts.pods.push_back(*std::move(pod));
  facts.networks.push_back(read_cluster_network(json));
  facts.address_pools.push_back(read_address_pool(json));
  const ClusterView view = make_cluster_view(facts, {});
  for (const NetworkView& network : view.networks)
    MUST(!network.addresses || !network.addresses_left || *network.addresses_left <= *network.addresses);
  (void)keep_of_network_with_managers(Json(json));
  (void)keep_of_node(Json(json));
  (void)keep_of_namespace(Json(json));
  (void)keep_of_definition(Json(json));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text = text_of(data, size);
  const auto is_turn = [size](size_t part) { return is_due(size % 5 == part); };
  if (is_turn(0)) {
    check_stream(text);
    check_refusal(refusal("GET /api/v1/pods", 400 + static_cast<unsigned>(size % 200), text));
    if (const auto end = read_end_of_command(text); !end.ok()) check_refusal(end.error());
  }
  if (is_turn(1)) {
    check_measurement(text);
    check_traffic(text);
  }
  const auto json = Json::parse(text);
  if (is_turn(2) && json) check_credentials(text, *json);
  if (!json || json->as_object() == nullptr) return 0;
  if (is_turn(3)) {
    for (const NetworkKind& kind : kNetworkKinds) check_decision(kind, *json);
  }
  if (is_turn(4)) check_view(*json);
  return 0;
}
