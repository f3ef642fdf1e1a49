// `vfrail-kube node` in this process: agent, claims and socket, upon an API server of ours.
#pragma once

#include "common/files.h"
#include "plugin/kube/node/node_api.h"
#include "tests/kube/node/node_cases.h"
#include "tests/support/temp_dir.h"

#include <memory>
#include <string>
#include <vector>

namespace vfrail::test {

class RunningNode {
 public:
  enum class Posting : uint8_t { off, on };  // of Events
  explicit RunningNode(const kube::ClusterAccess& access, std::chrono::milliseconds silence = kForEver,
                       Posting posting = Posting::off)
      : options_{"vfrail.io", "node-1", silence, std::chrono::milliseconds(200)} {
    REQUIRE(log_.open_file(dir_.path("log")));
    claims_ = std::make_unique<kube::Claims>(access, options_.driver, options_.node);
    agent_ = std::make_unique<kube::NodeAgent>(access, options_, log_);
    if (posting == Posting::on) events_ = std::make_unique<kube::NodeEvents>(access, options_.node, log_);
    api_ = std::make_unique<kube::NodeApi>(options_, *agent_, *claims_, events_.get());
    auto server = kube::SocketServer::start(
        socket(), [this](const kube::SocketRequest& request) { return api_->answer(request); });
    REQUIRE(server);
    server_ = *std::move(server);
  }
  ~RunningNode() {
    claims_->stop();
    server_.reset();
  }

  std::string socket() const { return dir_.path("node.sock"); }
  SocketAnswer put(const Json::Array& devices,
                   const std::vector<std::string>& resources = {"nvidia.com/hostdev"}) const {
    Json body = Json::object();
    body.set("driver", options_.driver);
    body.set("resources", Json(resources));
    body.set("devices", devices);
    return ask(socket(), "PUT", "/devices", body.text());
  }
  bool publishes(const Json::Array& devices) const {
    return comes_true([&] {
      const Json body = put(devices).body;
      return kube::is_true_at(body, {"published"});
    });
  }
  // Whether serve is given a reason with that text, before long.
  bool refuses(const Json::Array& devices, const std::string& reason) const {
    return comes_true([&] {
      const SocketAnswer answer = put(devices);
      return !kube::is_true_at(answer.body, {"published"}) &&
             answer.reason().find(reason) != std::string::npos;
    });
  }
  // How often the log has that text.
  size_t logged(const std::string& text) const {
    const auto log = read_file(dir_.path("log"), size_t{1} << 20);
    size_t out = 0;
    for (size_t at = 0; log && *log && (at = (*log)->find(text, at)) != std::string::npos; ++at) ++out;
    return out;
  }

 private:
  const TempDir dir_;
  const kube::NodeAgentOptions options_;
  Log log_;
  std::unique_ptr<kube::Claims> claims_;
  std::unique_ptr<kube::NodeAgent> agent_;
  std::unique_ptr<kube::NodeEvents> events_;
  std::unique_ptr<kube::NodeApi> api_;
  std::unique_ptr<kube::SocketServer> server_;
};

}  // namespace vfrail::test
