// NodeApi: what the socket of `vfrail-kube node` answers: PUT /devices, PUT /notices, GET
// /claims/NAMESPACE/NAME?uid=UID and PUT /claims/NAMESPACE/NAME/status?uid=UID. Holds nothing. Its answers
// are for `vfrail serve` (plugin/dra/api_agent.h).
#pragma once

#include "plugin/kube/node/claims.h"
#include "plugin/kube/node/node_agent.h"
#include "plugin/kube/node/node_events.h"
#include "plugin/kube/node/socket_server.h"

#include <optional>
#include <string>

namespace vfrail::kube {

struct ClaimTarget {
  ClaimName claim;
  bool is_status = false;
};

// Of "/claims/default/nic/status?uid=...". No value: it is something else.
std::optional<ClaimTarget> parse_claim_target(std::string_view target);

class NodeApi {
 public:
  // Without `events` notices are refused.
  NodeApi(NodeAgentOptions node, NodeAgent& agent, Claims& claims, NodeEvents* events = nullptr)
      : node_(std::move(node)), agent_(agent), claims_(claims), events_(events) {}

  SocketReply answer(const SocketRequest& request) const;

 private:
  SocketReply put_devices(const std::string& body) const;
  SocketReply put_notices(const std::string& body) const;
  SocketReply get_claim(const ClaimName& claim) const;
  SocketReply put_status(const ClaimName& claim, const std::string& body) const;

  const NodeAgentOptions node_;
  NodeAgent& agent_;
  Claims& claims_;
  NodeEvents* const events_;
};

}  // namespace vfrail::kube
