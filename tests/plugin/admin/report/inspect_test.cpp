#include "plugin/admin/report/inspect.h"

#include "common/json.h"
#include "common/traffic/traffic.h"
#include "common/unique_fd.h"
#include "plugin/admin/report/report.h"
#include "plugin/documents/yaml_text.h"
#include "tests/plugin/admin/report/run.h"
#include "tests/plugin/tree.h"
#include "tests/support/json_schema.h"
#include "tests/support/places.h"
#include "tests/support/write_attachment.h"

#include <algorithm>
#include <cstdlib>
#include <fcntl.h>
#include <fstream>
#include <iterator>
#include <set>
#include <sstream>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <yaml-cpp/yaml.h>

using namespace vfrail;
using namespace vfrail::plugin;
using test::kHostdev;
using test::Run;
using test::TempDir;
using test::Tree;
using test::write;
using Output = InspectOptions::Output;

namespace {

// A captured tree is no node with a kubelet.
Result<DevicesInUse> no_kubelet(const std::string& folder) {
  FAIL("kubelet of " << folder << " was asked");
  return Error{Errc::not_found, 0, "no kubelet"};
}

struct InspectScene {
  explicit InspectScene(const std::string& name = "igb_node") : tree(name) {
    options.root = tree.root();
    ::unsetenv("COLUMNS");
  }
  Run inspect() const {
    return test::run([&] { return vfrail::plugin::inspect(options, no_kubelet); });
  }
  void configure(const std::string& text) { options.config_file = write(folder, text); }
  Json json() {
    options.output = Output::json;
    const Run result = inspect();
    INFO(result.err);
    auto parsed = Json::parse(result.out, 8 << 20);
    REQUIRE(parsed);
    return *parsed;
  }
  std::vector<std::string> names() {
    options.output = Output::name;
    std::istringstream lines(inspect().out);
    std::vector<std::string> out;
    for (std::string line; std::getline(lines, line);) out.push_back(line);
    return out;
  }
  Tree tree;
  TempDir folder;
  InspectOptions options;
};

std::string schema() { return test::source_text("plugin/admin/report/schema.json"); }

// The names of all properties that a schema has, at any depth; or of a document.
void collect_names(const Json& json, bool is_schema, std::set<std::string>& out) {
  if (const auto* array = json.as_array()) {
    for (const Json& one : *array) collect_names(one, is_schema, out);
  }
  if (json.as_object() == nullptr) return;
  for (const auto& [key, value] : *json.as_object()) {
    if (is_schema && key == "properties") {
      for (const auto& [name, rule] : *value.as_object()) out.insert(name);
    }
    if (!is_schema) out.insert(key);
    if (is_schema && (key == "enum" || key == "required")) continue;
    collect_names(value, is_schema, out);
  }
}

}  // namespace

TEST_CASE("inspect without a configuration shows every function and its use by the host") {
  const InspectScene scene("management");
  const Run result = scene.inspect();
  CHECK(result.code == 0);
  // One footnote for the bond, whose members are two functions.
  const std::string bond = "the host uses it: part of bond0 (a bond)";
  const size_t first = result.out.find(bond);
  REQUIRE(first != std::string::npos);
  CHECK(result.out.find(bond, first + 1) == std::string::npos);
  CHECK(result.out.find("no configuration, so no resources") != std::string::npos);
}

TEST_CASE("inspect names the configuration it has read, in text and JSON, with its warnings") {
  InspectScene scene;
  scene.configure(kHostdev);
  scene.options.resource_prefix = "nvidia.com";
  scene.options.output = Output::wide;
  CHECK(scene.inspect().out.find("\nconfiguration: " + scene.options.config_file + "\n") !=
        std::string::npos);
  const Json json = scene.json();
  CHECK(*json.find("config_file")->as_text() == scene.options.config_file);
  const Json& resource = json.find("resources")->as_array()->at(0);
  CHECK(*resource.find("name")->as_text() == "nvidia.com/hostdev");
  CHECK(resource.find("devices")->as_array()->size() == 8);
  CHECK(json.find("warnings")->as_array()->at(0).as_text()->find("selectors.comment: unknown key, ignored") !=
        std::string::npos);
}

TEST_CASE("inspect counts the units of bundles, and says which lack a device") {
  InspectScene scene;
  scene.configure(
      R"({"resourceList":[{"resourceName":"rails","bundle":true,
                           "selectors":{"rootDevices":["0000:21:00.0#0-3","0000:41:00.0#0-2"]}}]})");
  const std::string warning =
      "intel.com/rails: bundle-3 is incomplete: rail 0000:41:00.0 has no VF of that index in this pool "
      "[VF-BUNDLE-INCOMPLETE]";
  scene.options.output = Output::wide;
  const std::string table = scene.inspect().out;
  CHECK(table.find("\nintel.com/rails: 7 devices: 7 healthy; 4 units: 3 healthy, 1 unhealthy\n") !=
        std::string::npos);
  CHECK(table.find("\nwarning: " + warning + "\n") != std::string::npos);
  const Json json = scene.json();
  const Json& resource = json.find("resources")->as_array()->at(0);
  CHECK(*resource.find("units")->as_int() == 4);
  CHECK(*resource.find("healthy_units")->as_int() == 3);
  CHECK(json.find("warnings")->text().find(warning) != std::string::npos);
}

TEST_CASE("inspect shows the distances of the resources' devices in place of their facts") {
  InspectScene scene;
  scene.configure(kHostdev);
  scene.options.distances = true;
  const Run table = scene.inspect();
  CHECK(table.code == 0);
  CHECK(table.out.find("intel.com/hostdev: 8 devices of 2 PFs") == 0);
  CHECK(scene.json().find("distances")->as_array()->at(0).find("pfs")->as_array()->size() == 2);
}

TEST_CASE("inspect exits with 1 when the node cannot be read and with 2 when the configuration is wrong") {
  InspectScene scene("");
  CHECK(scene.inspect().code == 1);
  scene.configure("{}");
  const Run result = scene.inspect();
  CHECK(result.code == 2);
  CHECK(result.err == "vfrail: " + scene.options.config_file +
                          ": resourceList: missing, and so are configList and mode: there is nothing to "
                          "advertise [VF-CONFIG-EMPTY]\n");
}

TEST_CASE("inspect shows the other devices beside one that cannot be read, and exits with 1") {
  InspectScene scene;
  const std::string uevent = "sys/devices/pci0000:20/0000:20:00.0/0000:21:10.0/uevent";
  scene.tree.remove(uevent);
  scene.tree.add(uevent + " -> uevent");
  const Run result = scene.inspect();
  CHECK(result.code == 1);
  CHECK(result.out.find("21:10.2") != std::string::npos);
  CHECK(result.err.find("error: 0000:21:10.0 cannot be read: ") == 0);
  CHECK(scene.json().find("unread")->as_array()->at(0).find("id")->text() == R"("0000:21:10.0")");
}

TEST_CASE("inspect prints JSON even where the name of an interface is not UTF-8") {
  InspectScene scene;
  scene.tree.add("sys/devices/pci0000:20/0000:20:00.0/0000:21:10.0/net/e\xff/type = 1");
  scene.options.output = Output::json;
  const Run result = scene.inspect();
  CHECK(result.code == 0);
  CHECK(result.out.find("e\xEF\xBF\xBD") != std::string::npos);
  CHECK(Json::parse(result.out, 8 << 20));
}

TEST_CASE("a device is found by a long or short address, an interface, an RDMA device or a bond") {
  InspectScene scene;
  const std::vector<std::string> vf = {"0000:21:10.0"};
  for (const char* name : {"0000:21:10.0", "21:10.0", "eth2", "mlx5_0"}) {
    CAPTURE(name);
    scene.options.filter.devices = {name};
    CHECK(scene.names() == vf);
  }
  scene.options.filter.devices = {"eth2", "eth1"};
  CHECK(scene.names() == std::vector<std::string>{"0000:21:10.0", "0000:41:00.0"});
  scene.options.filter.devices = {"eth99"};
  const Run unknown = scene.inspect();
  CHECK(unknown.code == 1);
  CHECK(unknown.err.find("no function here is called \"eth99\"") != std::string::npos);
  InspectScene bonded("a100_bond");
  const size_t all = bonded.names().size();
  bonded.options.filter.devices = {"bond0"};
  const size_t members = bonded.names().size();
  CHECK(members >= 1);
  CHECK(members < all);
}

TEST_CASE("devices of a PF or of a resource are selected by its name, and an unknown name is refused") {
  InspectScene scene;
  for (const char* pf : {"eth0", "0000:21:00.0", "21:00.0"}) {
    CAPTURE(pf);
    scene.options.filter.pfs = {pf};
    CHECK(scene.names() == std::vector<std::string>{"0000:21:00.0", "0000:21:10.0", "0000:21:10.2",
                                                    "0000:21:10.4", "0000:21:10.6"});
  }
  scene.options.filter.pfs = {"eth2"};  // a VF's
  CHECK(scene.inspect().err.find("no PF here is called \"eth2\"") != std::string::npos);
  CHECK(scene.inspect().code == 1);
  scene.options.filter.pfs.clear();
  scene.configure(R"({"resourceList":[{"resourceName":"a","selectors":{"pfNames":["eth0#0-1"]}},
                                      {"resourceName":"empty","selectors":{"vendors":["dead"]}}]})");
  for (const char* resource : {"intel.com/a", "a"}) {
    scene.options.filter.resources = {resource};
    CHECK(scene.names() == std::vector<std::string>{"0000:21:10.0", "0000:21:10.2"});
  }
  scene.options.filter.resources = {"empty"};
  CHECK(scene.inspect().code == 0);
  CHECK(scene.names().empty());
  scene.options.filter.resources = {"intel.com/b"};
  const Run unknown = scene.inspect();
  CHECK(unknown.code == 1);
  CHECK(unknown.err.find("no resource of the configuration is called \"intel.com/b\"; \"intel.com/a\" is "
                         "probably meant") != std::string::npos);
}

TEST_CASE("unhealthy devices can be listed alone, and then the table has the PF for its VF") {
  InspectScene scene;
  scene.tree.add("sys/bus/pci/devices/0000:21:00.0/infiniband/mlx5_p/ports/1/link_layer = InfiniBand");
  scene.tree.add("sys/bus/pci/devices/0000:21:00.0/infiniband/mlx5_p/ports/1/state = 1: DOWN");
  scene.tree.add("sys/bus/pci/devices/0000:21:00.0/infiniband_verbs/uverbs40/ibdev = mlx5_p");
  scene.configure(R"({"resourceList":[{"resourceName":"a","selectors":{"pfNames":["eth0#0","eth1#0"]}}]})");
  scene.options.filter.unhealthy = true;
  CHECK(scene.names() == std::vector<std::string>{"0000:21:10.0"});
  scene.options.output = Output::table;
  const Run table = scene.inspect();
  INFO(table.out);
  CHECK(table.out.find("\n0000:21:00.0 ") != std::string::npos);
  CHECK(table.out.find("\n`-0000:21:10.0 ") != std::string::npos);
  CHECK(table.out.find("0000:41:") == std::string::npos);
  CHECK(table.out.find("unhealthy [") != std::string::npos);
  CHECK(table.out.find("[VF-PORT-DOWN]") != std::string::npos);
}

TEST_CASE("an unhealthy device has an id in the JSON, and in the explanation") {
  InspectScene scene;
  scene.tree.add("sys/bus/pci/devices/0000:21:00.0/infiniband/mlx5_p/ports/1/link_layer = InfiniBand");
  scene.tree.add("sys/bus/pci/devices/0000:21:00.0/infiniband/mlx5_p/ports/1/state = 1: DOWN");
  scene.tree.add("sys/bus/pci/devices/0000:21:00.0/infiniband_verbs/uverbs40/ibdev = mlx5_p");
  scene.configure(R"({"resourceList":[{"resourceName":"a","selectors":{"pfNames":["eth0#0"]}}]})");
  scene.options.filter.devices = {"0000:21:10.0"};
  scene.options.explain = true;
  CHECK(scene.inspect().out.find(" [VF-PORT-DOWN]\n") != std::string::npos);
  scene.options.output = Output::json;
  const Json json = scene.json();
  const Json& device = json.find("devices")->as_array()->at(0);
  CHECK(*device.find("reasons")->as_array()->at(0).find("id") == Json("VF-PORT-DOWN"));
  CHECK(*device.find("resources")->as_array()->at(0).find("fault_id") == Json("VF-PORT-DOWN"));
  CHECK(device.find("explanation")->find("resources")->as_array()->at(0).find("ids")->text() ==
        R"(["VF-PORT-DOWN"])");
}

TEST_CASE("a refusal on stderr has its id behind it") {
  InspectScene scene;
  scene.configure(R"({"resourceList":[{"resourceName":"a","selectors":{"vendor":["15b3"]}}]})");
  CHECK(scene.inspect().err.find(" [VF-CONFIG-UNKNOWN-KEY]\n") != std::string::npos);
  scene.configure("no configuration {");
  CHECK(scene.inspect().err.find(" [VF-CONFIG-SYNTAX]\n") != std::string::npos);
}

TEST_CASE("rows alone have neither titles nor notes") {
  InspectScene scene;
  scene.configure(kHostdev);
  scene.options.no_headers = true;
  const Run rows = scene.inspect();
  CHECK(std::count(rows.out.begin(), rows.out.end(), '\n') == 10);
  CHECK(rows.out.find("0000:21:00.0") == 0);
  CHECK(rows.out.find('[') == std::string::npos);
}

TEST_CASE("a table is as wide as COLUMNS says, with more columns where there is room") {
  InspectScene scene("dgx_h100");
  scene.configure(
      R"({"resourceList":[{"resourceName":"hostdev","selectors":{"pfNames":["ibp24s0","ibp64s0"]}}]})");
  std::vector<size_t> columns;
  for (const size_t width : {60U, 80U, 120U, 200U}) {
    ::setenv("COLUMNS", std::to_string(width).c_str(), 1);
    std::istringstream lines(scene.inspect().out);
    std::string line;
    std::getline(lines, line);
    std::istringstream titles(line);
    columns.push_back(static_cast<size_t>(
        std::distance(std::istream_iterator<std::string>(titles), std::istream_iterator<std::string>())));
    do {
      INFO(line);
      CHECK(line.size() <= width);
    } while (std::getline(lines, line));
  }
  ::unsetenv("COLUMNS");
  CHECK(std::is_sorted(columns.begin(), columns.end()));
  CHECK(columns.back() > columns.front());
}

TEST_CASE("without a terminal, as kubectl exec runs it, no column is hidden") {
  const UniqueFd terminal(::dup(STDOUT_FILENO));
  const UniqueFd none(::open("/dev/null", O_WRONLY | O_CLOEXEC));
  REQUIRE(::dup2(none.get(), STDOUT_FILENO) == STDOUT_FILENO);
  const std::string out = InspectScene("dgx_h100").inspect().out;
  REQUIRE(::dup2(terminal.get(), STDOUT_FILENO) == STDOUT_FILENO);
  for (const char* column : {"DRIVER", "LINK", "SPEED", "NUMA", "GPU", "MODEL"}) {
    CAPTURE(column);
    CHECK(out.substr(0, out.find('\n')).find(column) != std::string::npos);
  }
  CHECK(out.find("hidden") == std::string::npos);
}

TEST_CASE("inspect reads prepared claims and the offer of serve, and names what is damaged") {
  InspectScene scene;
  scene.configure(kHostdev);
  const std::string run = scene.tree.root() + "/run/vfrail";
  ClaimRecord claim{
      .claim = {"team", "nics", "uid-1"}, .pod = {"train-0", "2"}, .node_pool = "node-1", .requests = {}};
  claim.requests = {{"nic", {{"0000-21-10-0", "intel.com/hostdev", "0000:21:10.0"}}}};
  REQUIRE(write_claim(run, claim));
  claim.claim.uid = "uid-2";
  REQUIRE(write_claim(run, claim));
  std::ofstream(run + "/claims/uid-2.json") << "{";
  REQUIRE(write_offer_state(
      run, {.driver = "vfrail.io", .resources = {"intel.com/hostdev"}, .node = "node-1", .published = true}));
  scene.options.output = Output::wide;
  const std::string table = scene.inspect().out;
  INFO(table);
  CHECK(table.find(" team/train-0  nics (nic) ") != std::string::npos);
  CHECK(table.find("; by DRA, published by vfrail.io\n") != std::string::npos);
  CHECK(table.find("claims/uid-2.json cannot be read") != std::string::npos);
  scene.options.output = Output::table;
  scene.options.explain = true;
  scene.options.filter.devices = {"0000:21:10.0"};
  const std::string traced = scene.inspect().out;
  INFO(traced);
  CHECK(traced.find("intel.com/hostdev goes to pods by DRA, published by vfrail.io\n") != std::string::npos);
  CHECK(traced.find("allocated to pod team/train-0 by request nic of claim nics\n") != std::string::npos);
}

TEST_CASE("every JSON conforms to the schema, and the schema has nothing that none of them has") {
  std::set<std::string> seen;
  for (const char* name : {"igb_node", "mlx5_switchdev", "management", "dgx_a100", "a100_bond", "erdma_vm"}) {
    CAPTURE(name);
    InspectScene scene(name);
    Record record;
    record.attachment = {"c1", "net1"};
    record.device_key = "0000:21:10.2";
    test::write_attachment(Attachments(scene.tree.root() + "/var/lib/cni/vfrail"), record);
    const std::string run = scene.tree.root() + "/run/vfrail";
    ClaimRecord claim{
        .claim = {"ns", "nics", "uid-1"}, .pod = {"p", "2"}, .node_pool = "node-1", .requests = {}};
    claim.requests = {{"nic", {{"0000-21-10-2", "intel.com/a", "0000:21:10.2"}}}};
    REQUIRE(write_claim(run, claim));
    REQUIRE(write_offer_state(
        run, {.driver = "vfrail.io", .resources = {"intel.com/a"}, .reason = "not yet", .id = "VF-BUSY"}));
    scene.options.output = Output::json;
    for (const bool configured : {false, true}) {
      if (configured) {
        scene.configure(
            R"({"resourceList":[{"resourceName":"a","additionalInfo":{"*":{"rail":"r"}},
                "selectors":{"vendors":["15b3","8086"],"isRdma":true}}],
                "configList":[{"resourceName":"b","rdmaHcaMax":3,"selectors":{"vendors":["15b3"]}}]})");
      }
      scene.options.explain = scene.options.distances = configured;
      const Json json = scene.json();
      CHECK(test::schema_violation(schema(), json.text()) == "");
      collect_names(json, false, seen);
    }
  }
  Json wrong = InspectScene().json();
  wrong.set("pools", Json::array());
  CHECK(test::schema_violation(schema(), wrong.text()) == "#/pools: additionalProperties of #");
  std::set<std::string> known;
  collect_names(*Json::parse(schema()), true, known);
  // What none of these nodes has: vDPA devices, unread ones, and the answers of doctor (doctor_test.cpp) and
  // explain (explain_id_test.cpp).
  for (const char* other : {"node", "reason", "reason_id", "checks", "finding", "remedy", "errors", "guessed",
                            "symptom", "symptoms", "messages", "of", "ids", "cause"})
    known.erase(other);
  // What `vfrail top` prints (top_test.cpp).
  for (const char* other : {"interval_ms", "traffic", "names", "pod", "percent", "per_second"})
    known.erase(other);
  // What `vfrail provision` prints (provision_test.cpp).
  for (const char* other : {"outcome", "dry_run", "pfs", "interface", "entry", "steps"}) known.erase(other);
  // What `vfrail plan` prints (plan_test.cpp).
  for (const char* other : {"fabrics",  "fabric",        "ways",           "way",          "recommended",
                            "why",      "later",         "not_offered",    "configured",   "differences",
                            "message",  "pods_now",      "isolation",      "takes",        "command",
                            "optional", "configuration", "gpudirect",      "own_address",  "expected_errors",
                            "cards",    "gpu_distance",  "others",         "rails",        "dra_advice",
                            "shared",   "pods_of_gpus",  "node_resources", "nodes_without"})
    known.erase(other);
  for (size_t i = 0; i < kCounts; ++i) known.erase(name_of(static_cast<Count>(i)));
  for (const std::string& name : known) {
    CAPTURE(name);
    CHECK(seen.contains(name));
  }
}

namespace {

// The YAML as JSON: what a reader makes of it.
Json as_json(const YAML::Node& node) {
  if (node.IsMap()) {
    Json out = Json::object();
    for (const auto& pair : node) out.set(pair.first.as<std::string>(), as_json(pair.second));
    return out;
  }
  if (node.IsSequence()) {
    Json out = Json::array();
    for (const auto& one : node) out.push(as_json(one));
    return out;
  }
  if (node.IsNull()) return {};
  if (node.Tag() == "!") return node.as<std::string>();  // in quotes
  if (const auto text = node.Scalar(); text == "true" || text == "false") return text == "true";
  int64_t number = 0;
  return YAML::convert<int64_t>::decode(node, number) ? Json(number) : Json(node.Scalar());
}

}  // namespace

TEST_CASE("YAML has the same content as JSON, with quotes where a text would be read as something else") {
  InspectScene scene;
  scene.configure(kHostdev);
  scene.options.explain = true;
  const Json json = scene.json();
  scene.options.output = Output::yaml;
  const Run result = scene.inspect();
  CHECK(as_json(YAML::Load(result.out)) == json);
  CHECK(result.out.find("schema_version: 2\n") == 0);
  const Json odd = Json::object()
                       .set("no", "yes")
                       .set("number", "16")
                       .set("hex", "0x020000")
                       .set("empty", "")
                       .set("control", "a\x1b[2J\nb")
                       .set("list", Json::array())
                       .set("object", Json::object());
  CHECK(as_json(YAML::Load(to_yaml(odd))) == odd);
  CHECK(to_yaml(odd).find('\x1b') == std::string::npos);
}
