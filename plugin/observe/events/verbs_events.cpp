#include "plugin/observe/events/verbs_events.h"

#include "common/errors/error_id.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>

#include <infiniband/verbs.h>

namespace vfrail::plugin {

namespace {

class DeviceList {
 public:
  DeviceList() : devices_(ibv_get_device_list(&count_)) {}
  DeviceList(const DeviceList&) = delete;
  DeviceList& operator=(const DeviceList&) = delete;
  ~DeviceList() {
    if (devices_ != nullptr) ibv_free_device_list(devices_);
  }

  // Null: it does not exist, or programs cannot use it.
  ibv_device* find(const std::string& name) const {
    for (int i = 0; i < count_; ++i) {
      if (name == ibv_get_device_name(devices_[i])) return devices_[i];
    }
    return nullptr;
  }

 private:
  int count_ = 0;
  ibv_device** devices_;
};

// Null with errno.
ibv_context* open_device(const DeviceList& list, const std::string& name) {
  ibv_device* device = list.find(name);
  if (device == nullptr) {
    errno = ENODEV;
    return nullptr;
  }
  ibv_context* context = ibv_open_device(device);
  if (context != nullptr)
    ::fcntl(context->async_fd, F_SETFL, ::fcntl(context->async_fd, F_GETFL) | O_NONBLOCK);
  return context;
}

std::string event_text(const std::string& device, const ibv_async_event& event) {
  return device + ": " + ibv_event_type_str(event.event_type);
}

}  // namespace

void VerbsEvents::Close::operator()(ibv_context* context) const { ibv_close_device(context); }

void VerbsEvents::follow(const std::set<std::string>& devices) {
  std::erase_if(opened_, [&](const auto& one) { return !devices.contains(one.first); });
  const auto is_open = [&](const std::string& name) { return opened_.contains(name); };
  if (!std::all_of(devices.begin(), devices.end(), is_open)) open_missing(devices);
}

void VerbsEvents::open_missing(const std::set<std::string>& devices) {
  const DeviceList list;
  for (const std::string& name : devices) {
    if (opened_.contains(name)) continue;
    if (Opened context(open_device(list, name)); context != nullptr) {
      log_.info("receiving events of the RDMA device", {{"device", name}});
      opened_.emplace(name, std::move(context));
      reported_.erase(name);
    } else if (const int error = errno; reported_.insert(name).second) {
      log_.warning(
          "cannot receive events of the RDMA device; its port is read at the periodic rescan",
          {{"device", name}, {"reason", std::strerror(error)}, {"id", id_text(ErrorId::device_not_read)}});
    }
  }
}

std::vector<int> VerbsEvents::fds() const {
  std::vector<int> out;
  for (const auto& [name, context] : opened_) out.push_back(context->async_fd);
  return out;
}

std::optional<Event> VerbsEvents::read() {
  std::optional<Event> out;
  std::erase_if(opened_, [&](const auto& one) { return !read(one.first, *one.second, out); });
  return out;
}

bool VerbsEvents::read(const std::string& device, ibv_context& context, std::optional<Event>& out) const {
  ibv_async_event event{};
  while (ibv_get_async_event(&context, &event) == 0) {
    add_event(Event{event_text(device, event), {.rdma_devices = {device}}}, out);
    ibv_ack_async_event(&event);
    if (event.event_type == IBV_EVENT_DEVICE_FATAL) return false;
  }
  if (errno == EAGAIN || errno == EINTR) return true;
  add_event(Event{device + ": " + std::strerror(errno), {.rdma_devices = {device}}}, out);
  return false;
}

}  // namespace vfrail::plugin
