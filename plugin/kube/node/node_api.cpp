#include "plugin/kube/node/node_api.h"

#include "common/text.h"
#include "plugin/kube/node/device_check.h"

#include <charconv>

namespace vfrail::kube {

namespace {

// Of RFC 3986; no value: a cut or wrong escape.
std::optional<std::string> unescape(std::string_view text) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      out += text[i];
      continue;
    }
    uint8_t byte = 0;
    const std::string_view digits = text.substr(i + 1, 2);
    const auto [end, failed] = std::from_chars(digits.data(), digits.data() + digits.size(), byte, 16);
    if (failed != std::errc() || digits.size() != 2 || end != digits.data() + 2) return std::nullopt;
    out += static_cast<char>(byte);
    i += 2;
  }
  return out;
}

}  // namespace

std::optional<ClaimTarget> parse_claim_target(std::string_view target) {
  constexpr std::string_view kQuery = "uid=";
  const size_t mark = target.find('?');
  if (mark == std::string_view::npos) return std::nullopt;
  const std::string_view query = target.substr(mark + 1);
  const std::vector<std::string> parts = split(target.substr(0, mark), "/");
  const bool is_status = parts.size() == 4 && parts[3] == "status";
  if (parts.empty() || parts[0] != "claims" || (parts.size() != 3 && !is_status) ||
      query.substr(0, kQuery.size()) != kQuery)
    return std::nullopt;
  const auto name_space = unescape(parts[1]);
  const auto name = unescape(parts[2]);
  const auto uid = unescape(query.substr(kQuery.size()));
  // Names of namespaces and claims are what a path of the API server can have.
  if (!name_space || !name || !uid || uid->empty() || !is_dns_label(*name_space) ||
      !is_dns_subdomain(*name, 253))
    return std::nullopt;
  return ClaimTarget{{*name_space, *name, *uid}, is_status};
}

SocketReply NodeApi::answer(const SocketRequest& request) const {
  const bool is_get = request.method == "GET";
  const bool is_put = request.method == "PUT";
  if (request.target == "/devices" && is_put) return put_devices(request.body);
  if (request.target == "/notices" && is_put) return put_notices(request.body);
  if (const auto target = parse_claim_target(request.target)) {
    if (is_get && !target->is_status) return get_claim(target->claim);
    if (is_put && target->is_status) return put_status(target->claim, request.body);
  }
  return refused(
      400, "\"" + request.method + " " + well_formed(request.target) +
               "\" is not one of PUT /devices, PUT /notices, GET /claims/NAMESPACE/NAME?uid=UID and PUT "
               "/claims/NAMESPACE/NAME/status?uid=UID");
}

SocketReply NodeApi::put_devices(const std::string& body) const {
  auto offer = read_offer(body, SocketServer::kMaxBody);
  if (!offer) return refused(400, offer.error().text);
  if (offer->driver != node_.driver)
    return refused(400, "vfrail serve has the driver \"" + well_formed(offer->driver) +
                            "\" and vfrail-kube node has \"" + node_.driver +
                            "\"; --dra-driver of the one and --driver of the other must be the same");
  const PublishState state = agent_.offer(*std::move(offer));
  Json out = Json::object();
  out.set("published", state.published);
  out.set("reason", state.reason);
  out.set("node", node_.node);
  out.set("id", state.id);
  out.set("slices", static_cast<int64_t>(state.slices));
  out.set("writes", static_cast<int64_t>(state.writes));
  out.set("sharing", state.sharing);
  out.set("devices", static_cast<int64_t>(state.devices));
  return {200, std::move(out)};
}

SocketReply NodeApi::put_notices(const std::string& body) const {
  if (events_ == nullptr) return refused(400, "this vfrail-kube node posts no Events: it lacks --events");
  auto notices = read_notices(body);
  if (!notices) return refused(400, notices.error().text);
  events_->put(*std::move(notices));
  return {};
}

SocketReply NodeApi::get_claim(const ClaimName& claim) const {
  auto found = claims_.get(claim);
  if (!found) return refused(503, found.error().text_with_id());
  if (!found->absent.empty()) return refused(404, found->absent);
  return {200, std::move(found->claim)};
}

SocketReply NodeApi::put_status(const ClaimName& claim, const std::string& body) const {
  const auto parsed = Json::parse_object(body, SocketServer::kMaxBody);
  if (!parsed) return refused(400, parsed.error().text);
  const Json* devices = parsed->find("devices");
  const Json entries = devices == nullptr ? Json() : *devices;
  if (const auto ours = check_entries(entries, node_.driver); !ours) return refused(400, ours.error().text);
  const auto absent = claims_.set_status(claim, entries);
  if (!absent) return refused(503, absent.error().text_with_id());
  return absent->empty() ? SocketReply{} : refused(404, *absent);
}

}  // namespace vfrail::kube
