#include "tests/kubelet/control.h"

#include "common/files.h"
#include "common/text.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <poll.h>
#include <stdexcept>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>
#include <utility>
#include <vector>

namespace vfrail::test {
using namespace plugin;

namespace {

constexpr size_t kMaxMessage = 4 << 20;

Result<sockaddr_un> address_of(const std::string& path) {
  sockaddr_un out{};
  out.sun_family = AF_UNIX;
  if (path.size() >= sizeof out.sun_path) return Error{Errc::invalid, 0, "socket path too long: " + path};
  std::memcpy(out.sun_path, path.c_str(), path.size() + 1);
  return out;
}

Result<> send_all(int fd, std::string_view text) {
  while (!text.empty()) {
    const ssize_t sent = ::send(fd, text.data(), text.size(), MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent < 0) return Error::from_errno(errno, "send");
    text.remove_prefix(static_cast<size_t>(sent));
  }
  ::shutdown(fd, SHUT_WR);
  return {};
}

std::vector<std::string> texts(const Json& request, std::string_view key) {
  std::vector<std::string> out;
  const Json* value = request.find(key);
  if (value == nullptr || value->as_array() == nullptr) return out;
  for (const Json& one : *value->as_array()) {
    if (one.as_text() != nullptr) out.push_back(*one.as_text());
  }
  return out;
}

std::string text(const Json& request, std::string_view key) {
  const Json* value = request.find(key);
  return value != nullptr && value->as_text() != nullptr ? *value->as_text() : "";
}

int64_t number(const Json& request, std::string_view key) {
  const Json* value = request.find(key);
  return value != nullptr && value->as_int() != nullptr ? *value->as_int() : 0;
}

Json map_json(const google::protobuf::Map<std::string, std::string>& map) {
  Json out = Json::object();
  for (const auto& [key, value] : map) out.set(key, value);
  return out;
}

Json allocation_json(const v1beta1::ContainerAllocateResponse& container) {
  Json devices = Json::array();
  for (const auto& device : container.devices()) {
    Json one;
    one.set("host_path", device.host_path()).set("container_path", device.container_path());
    one.set("permissions", device.permissions());
    devices.push(std::move(one));
  }
  Json mounts = Json::array();
  for (const auto& mount : container.mounts()) {
    Json one;
    one.set("host_path", mount.host_path()).set("container_path", mount.container_path());
    one.set("read_only", mount.read_only());
    mounts.push(std::move(one));
  }
  Json cdi = Json::array();
  for (const auto& device : container.cdi_devices()) cdi.push(device.name());
  Json out;
  out.set("envs", map_json(container.envs()))
      .set("devices", std::move(devices))
      .set("mounts", std::move(mounts));
  out.set("annotations", map_json(container.annotations())).set("cdi_devices", std::move(cdi));
  return out;
}

Result<Json> allocate(TestKubelet& kubelet, const Json& request) {
  const std::string resource = text(request, "resource");
  std::vector<std::string> ids = texts(request, "ids");
  if (ids.empty()) {
    const auto count = static_cast<size_t>(number(request, "count"));
    ids = kubelet.choose(resource, count);
    if (ids.size() < count) {
      return Error{Errc::busy, 0,
                   "Insufficient " + resource + ": " + std::to_string(count) + " wanted, " +
                       std::to_string(ids.size()) + " free"};
    }
  }
  v1beta1::AllocateResponse response;
  const auto status = kubelet.allocate(resource, {ids}, response);
  if (!status.ok()) {
    return Error{
        Errc::peer, 0,
        "Allocate: gRPC code " + std::to_string(status.error_code()) + ": " + status.error_message()};
  }
  if (response.container_responses_size() != 1)
    return Error{Errc::protocol, 0, "Allocate: one answer is wanted"};
  const std::vector<std::string> pod = split(text(request, "pod"), "/");
  if (pod.size() == 3) kubelet.give(resource, ids, {pod[0], pod[1], pod[2]});
  Json chosen = Json::array();
  for (const std::string& id : ids) chosen.push(id);
  Json out = allocation_json(response.container_responses(0));
  out.set("resource", resource).set("ids", std::move(chosen));
  return out;
}

Result<Json> capacity(TestKubelet& kubelet, const Json& request) {
  const std::string resource = text(request, "resource");
  if (!resource.empty()) {
    const auto wanted = static_cast<size_t>(number(request, "count"));
    if (!kubelet.wait_for(resource, wanted, std::chrono::milliseconds(number(request, "timeout_ms")))) {
      return Error{Errc::timeout, 0,
                   "waited in vain for " + resource + "=" + std::to_string(wanted) + "; there is " +
                       node_json(kubelet.node()).text()};
    }
  }
  return node_json(kubelet.node());
}

// What a container gets with each device, and with the first two. Each request is sent twice: a plugin may
// know more when it answers the second.
Result<Json> survey(TestKubelet& kubelet) {
  constexpr size_t kMostDevices = 16;  // of shared resources, whose units are alike, there are a thousand
  Json out = Json::object();
  for (const auto& [name, resource] : kubelet.node()) {
    std::vector<std::vector<std::string>> asked;
    for (const KubeletDevice& device : resource.devices) asked.push_back({device.id});
    std::sort(asked.begin(), asked.end());
    if (asked.size() > kMostDevices) asked.resize(kMostDevices);
    if (asked.size() > 1) asked.push_back({asked[0][0], asked[1][0]});
    Json answers = Json::array();
    for (const auto& ids : asked) {
      Json one;
      one.set("resource", name).set("ids", Json(ids));
      (void)allocate(kubelet, one);
      const auto got = allocate(kubelet, one);
      answers.push(got ? *got : one.set("error", got.error().text));
    }
    out.set(name, std::move(answers));
  }
  return out;
}

Result<Json> answer(TestKubelet& kubelet, const Json& request) {
  const std::string what = text(request, "do");
  if (what == "capacity") return capacity(kubelet, request);
  if (what == "allocate") return allocate(kubelet, request);
  if (what == "survey") {
    Json out;
    out.set("resources", TRY(capacity(kubelet, request))).set("answers", TRY(survey(kubelet)));
    return out;
  }
  if (what == "free") {
    kubelet.free(texts(request, "ids"));
    return Json::object();
  }
  if (what == "restart") {
    kubelet.restart();
    return Json::object();
  }
  return Error{Errc::invalid, 0, "unknown request " + what};
}

void serve_one(TestKubelet& kubelet, const UniqueFd& connection) {
  const auto got = read_stream(connection.get(), kMaxMessage);
  if (!got) return;
  const auto request = Json::parse(*got, kMaxMessage);
  const auto reply = request ? answer(kubelet, *request) : Result<Json>(request.error());
  Json error;
  if (!reply) error.set("error", reply.error().text);
  (void)send_all(connection.get(), (reply ? *reply : error).text());
}

}  // namespace

std::string control_socket(const std::string& kubelet_root) { return kubelet_root + "/test-kubelet.sock"; }

Control::Control(TestKubelet& kubelet, const std::string& socket)
    : kubelet_(kubelet),
      socket_(socket),
      listener_(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)),
      stop_(::eventfd(0, EFD_CLOEXEC)) {
  const auto address = address_of(socket_);
  if (!address) throw std::runtime_error(address.error().text);
  ::unlink(socket_.c_str());
  const auto* generic = reinterpret_cast<const sockaddr*>(&*address);
  if (::bind(listener_.get(), generic, sizeof *address) != 0 || ::listen(listener_.get(), 16) != 0) {
    throw std::runtime_error(Error::from_errno(errno, "listen on " + socket_).text);
  }
  acceptor_ = std::thread([this] { accept_loop(); });
}

Control::~Control() {
  const uint64_t one = 1;
  [[maybe_unused]] const ssize_t written = ::write(stop_.get(), &one, sizeof one);
  acceptor_.join();
  ::unlink(socket_.c_str());
}

// A thread for each connection, because one may wait for a capacity that the next brings about.
void Control::accept_loop() {
  std::vector<std::thread> connections;
  for (;;) {
    pollfd fds[] = {{listener_.get(), POLLIN, 0}, {stop_.get(), POLLIN, 0}};
    if (::poll(fds, std::size(fds), -1) < 0) continue;
    if (fds[1].revents != 0) break;
    UniqueFd connection(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
    if (!connection.valid()) continue;
    connections.emplace_back([this, connection = std::move(connection)] { serve_one(kubelet_, connection); });
  }
  for (std::thread& connection : connections) connection.join();
}

Result<Json> ask(const std::string& socket, const Json& request) {
  const auto address = TRY(address_of(socket));
  const UniqueFd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!fd.valid() || ::connect(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    return Error::from_errno(errno, "connect to " + socket + " (is `test-kubelet run` running?)");
  }
  TRY(send_all(fd.get(), request.text()));
  const std::string got = TRY(read_stream(fd.get(), kMaxMessage), "read the answer");
  Json out = TRY(Json::parse(got, kMaxMessage), "read the answer");
  if (const Json* error = out.find("error"); error != nullptr && error->as_text() != nullptr) {
    return Error{Errc::peer, 0, *error->as_text()};
  }
  return out;
}

}  // namespace vfrail::test
