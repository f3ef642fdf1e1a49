// HttpListener: a listening socket at a ListenAddress, and the file of a unix socket, which it removes in the
// end. Accepts nothing.
#pragma once

#include "common/result.h"
#include "common/unique_fd.h"
#include "plugin/observe/metrics/listen_address.h"
#include "plugin/service/kubelet/kubelet.h"

#include <utility>

namespace vfrail::plugin {

class HttpListener {
 public:
  // A unix socket has mode 0600, from the moment it is at its path. A stale one is replaced; Errc::exists for
  // one that is served, and for any other kind of file.
  static Result<HttpListener> open(ListenAddress address);
  HttpListener(HttpListener&& other) noexcept
      : address_(std::exchange(other.address_, {})), fd_(std::move(other.fd_)), file_(other.file_) {}
  HttpListener& operator=(HttpListener&&) = delete;
  ~HttpListener();

  int family() const;
  int take_fd() { return fd_.release(); }
  const ListenAddress& address() const { return address_; }

 private:
  HttpListener(ListenAddress address, UniqueFd fd) : address_(std::move(address)), fd_(std::move(fd)) {}

  ListenAddress address_;
  UniqueFd fd_;
  FileIdentity file_;  // of our socket
};

}  // namespace vfrail::plugin
