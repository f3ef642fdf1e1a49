// AgentClient: the API agent of this pod, `vfrail-kube node`, by the Unix socket on which it listens: HTTP
// with a connection for each request. Remembers nothing and never retries.
#pragma once

#include "plugin/dra/api_agent.h"

#include <chrono>
#include <string>
#include <utility>

namespace vfrail::plugin {

class AgentClient final : public ApiAgent {
 public:
  explicit AgentClient(std::string socket) : socket_(std::move(socket)) {}

  // Errc::not_found for the status of a claim that is not there, Errc::busy for what the agent cannot find
  // out now, with its reason; Errc::not_yet if there is no agent at the socket, Errc::timeout after 10 s.
  Result<std::optional<Json>> claim(const ClaimName& name) override;
  Result<> set_status(const ClaimName& name, const Json& devices) override;
  // The devices that the node offers now; the answer as plugin/kube/node gives it.
  Result<Json> put_devices(const std::string& body);
  // What is to be posted as Events of the Node, all that there is now.
  Result<> put_notices(const std::string& body);

 private:
  struct Answer {
    unsigned status = 0;
    std::string body;
  };
  Result<Answer> ask(const std::string& method, const std::string& target, const std::string& body);
  Error refusal(const std::string& what, const Answer& answer) const;

  const std::string socket_;
};

}  // namespace vfrail::plugin
