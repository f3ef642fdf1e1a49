#include "tests/kube/simulated_cluster.h"

#include "common/json.h"
#include "common/text.h"

#include <algorithm>

namespace vfrail::kube {

namespace {

constexpr size_t kPage = 100;  // of a list

std::string name_of_node(size_t index) { return "node-" + std::to_string(index); }

size_t number_behind(const std::string& text, const std::string& mark) {
  const size_t at = text.rfind(mark);
  return at == std::string::npos ? 0 : std::stoul(text.substr(at + mark.size()));
}

std::string query_value(const std::string& target, const std::string& key) {
  const size_t at = target.find(key + "=");
  if (at == std::string::npos) return "";
  const size_t begin = at + key.size() + 1;
  return target.substr(begin, target.find('&', begin) - begin);
}

}  // namespace

SimulatedCluster::SimulatedCluster(SimulatedNodes nodes)
    : nodes_(std::move(nodes)),
      server_([this](const ServedRequest& request, ServedAnswer& answer) { serve(request, answer); }) {}

size_t SimulatedCluster::pods() const {
  const std::lock_guard lock(mutex_);
  return test_pods_.size();
}

std::string SimulatedCluster::node(size_t index) const {
  const std::string count = std::to_string(nodes_.devices);
  return R"({"metadata":{"name":")" + name_of_node(index) + R"(","uid":"n)" + std::to_string(index) +
         R"("},"status":{"capacity":{"cpu":"96","nvidia.com/hostdev":")" + count +
         R"("},"allocatable":{"cpu":"96","nvidia.com/hostdev":")" + count +
         R"("},"conditions":[{"type":"Ready","status":"True"}]}})";
}

std::string SimulatedCluster::daemon_pod(size_t index) const {
  return R"({"metadata":{"name":"vfrail-)" + std::to_string(index) +
         R"(","namespace":"kube-system","labels":{"app.kubernetes.io/name":"vfrail","app.kubernetes.io/component":"device-plugin"}},)" +
         R"("spec":{"nodeName":")" + name_of_node(index) +
         R"(","containers":[{"name":"vfrail","image":"vfrail:0.1.0","ports":[{"name":"metrics","containerPort":9808}]}]},)" +
         R"("status":{"phase":"Running","podIP":"10.0.0.1","conditions":[{"type":"Ready","status":"True"}]}})";
}

std::string SimulatedCluster::test_pod(const std::string& name, const std::string& text) const {
  Json pod = *Json::parse(text);
  Json status = Json::object();
  if (nodes_.image_error.empty()) {
    status.set("phase", "Running").set("podIP", "10.1.0." + std::to_string(number_behind(name, "-")));
  } else {
    status = *Json::parse(
        R"({"phase":"Pending","containerStatuses":[{"state":{"waiting":{"reason":"ErrImagePull","message":")" +
        nodes_.image_error + R"("}}}]})");
  }
  return pod.set("status", std::move(status)).text();
}

// As `inspect` of a node with that many VFs, in what the view reads.
std::string SimulatedCluster::page(size_t index) const {
  if (!nodes_.page.empty()) return nodes_.page;
  Json devices = Json::array();
  for (size_t i = 0; i < nodes_.devices; ++i) {
    Json use = Json::object().set("name", "nvidia.com/hostdev");
    if (index == 1 && i == 0) use.set("fault", "port 1 of mlx5_0 is DOWN");
    devices.push(Json::object()
                     .set("id", "0000:18:00." + std::to_string(i))
                     .set("resources", Json::array().push(std::move(use))));
  }
  return Json::object()
      .set("schema_version", 1)
      .set("resources", Json::array().push(Json::object().set("name", "nvidia.com/hostdev")))
      .set("devices", std::move(devices))
      .text();
}

// Counters that grow by each question, of devices that are named as `page` does it.
std::string SimulatedCluster::metrics() {
  const std::string bytes = std::to_string(1'000'000 * ++questions_);
  std::string out = "vfrail_build_info{version=\"0\"} 1\n";
  for (size_t i = 0; i < nodes_.devices; ++i) {
    const std::string labels =
        "{resource=\"nvidia.com/hostdev\",device=\"0000:18:00." + std::to_string(i) + "\"";
    out += "vfrail_device_receive_bytes_total" + labels + "} " + bytes + "\n";
    for (const char* counter : {"port_rcv_data", "port_xmit_data", "out_of_sequence"})
      out += "vfrail_rdma_port_stats_total" + labels + ",rdma_device=\"mlx5_0\",port=\"1\",counter=\"" +
             counter + "\"} " + bytes + "\n";
  }
  return out;
}

std::string SimulatedCluster::measurement(const std::string& target) const {
  const size_t from = number_behind(target.substr(0, target.find("/exec")), "-");
  const std::string to_text = query_value(target.substr(target.find("command=--to") + 12), "command");
  const size_t to = number_behind(to_text, ".");
  const auto direction = [&](size_t writer, size_t other) {
    Json out = Json::object();
    out.set("gbits", nodes_.rate(writer, other)).set("failed", Json());
    if (const double us = nodes_.round_trip(writer, other); us > 0)
      out.set("round_trip", Json::object().set("typical_us", us).set("p99_us", us + 1).set("count", 1000));
    return out;
  };
  Json rail = Json::object();
  rail.set("name", "mlx5_0/1").set("peer_name", "mlx5_0/1").set("rate_gbits", 400.0);
  rail.set("alone", Json::object()
                        .set("failed", Json())
                        .set("sent", direction(from, to))
                        .set("received", direction(to, from)));
  Json traffic = Json::object().set("rails", Json::array().push(std::move(rail)));
  return Json::object().set("traffic", std::move(traffic)).text();
}

std::string SimulatedCluster::list(const std::string& target) {
  std::vector<std::string> items;
  const auto wants = [&](const std::string& text) { return target.find(text) != std::string::npos; };
  if (wants("/nodes?")) {
    for (size_t i = 0; i < nodes_.count; ++i) items.push_back(node(i));
  } else if (wants("fabric-test")) {
    const std::lock_guard lock(mutex_);
    for (const auto& [name, text] : test_pods_) items.push_back(test_pod(name, text));
  } else if (wants("/pods?")) {
    for (size_t i = 0; i < nodes_.count; ++i) items.push_back(daemon_pod(i));
  } else if (wants("/network-attachment-definitions?")) {
    items.push_back(
        R"({"metadata":{"namespace":"train","name":"hostdev","annotations":{"k8s.v1.cni.cncf.io/resourceName":"nvidia.com/hostdev"}},"spec":{"config":"{\"type\":\"vfrail\"}"}})");
  }
  const std::string next = query_value(target, "continue");
  const size_t begin = next.empty() ? 0 : std::stoul(next);
  const size_t end = std::min(begin + kPage, items.size());
  std::string out = R"({"metadata":{"resourceVersion":"7")";
  if (end < items.size()) out += R"(,"continue":")" + std::to_string(end) + "\"";
  out += R"(},"items":[)";
  for (size_t i = begin; i < end; ++i) out += (i == begin ? "" : ",") + items[i];
  return out + "]}";
}

void SimulatedCluster::reply(ServedAnswer& answer, unsigned status, const std::string& body) {
  bytes_ += body.size();
  answer.reply(status, body);
}

void SimulatedCluster::serve(const ServedRequest& request, ServedAnswer& answer) {
  ++requests_;
  const std::string path = request.target.substr(0, request.target.find('?'));
  if (!request.websocket_key.empty()) return answer.run_program(measurement(request.target), 0);
  if (request.method == "POST") {
    const Json pod = *Json::parse(request.body);
    const std::lock_guard lock(mutex_);
    test_pods_[*pod.find("metadata")->find("name")->as_text()] = request.body;
    return reply(answer, 201, request.body);
  }
  if (request.method == "DELETE") {
    const std::lock_guard lock(mutex_);
    test_pods_.erase(path.substr(path.rfind('/') + 1));
    return reply(answer, 200, "{}");
  }
  if (path.ends_with("/proxy/metrics")) return reply(answer, 200, metrics());
  if (path.find("/proxy/") != std::string::npos)
    return reply(answer, 200, page(number_behind(path.substr(0, path.find(":9808")), "-")));
  if (request.target.find("limit=") != std::string::npos) return reply(answer, 200, list(request.target));
  reply(answer, 404, status_text(404, "NotFound", "not found"));
}

}  // namespace vfrail::kube
