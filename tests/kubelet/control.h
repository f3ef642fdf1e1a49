// Control: the socket DIR/test-kubelet.sock between `test-kubelet run` and its client commands. One JSON
// object a connection in each direction; {"error": "..."} is the answer to what failed.
#pragma once

#include "common/json.h"
#include "common/result.h"
#include "common/unique_fd.h"
#include "tests/kubelet/test_kubelet.h"

#include <string>
#include <thread>

namespace vfrail::test {
using namespace plugin;

std::string control_socket(const std::string& kubelet_root);

class Control {
 public:
  // Serves until destroyed.
  Control(TestKubelet& kubelet, const std::string& socket);
  Control(const Control&) = delete;
  Control& operator=(const Control&) = delete;
  ~Control();

 private:
  void accept_loop();

  TestKubelet& kubelet_;
  const std::string socket_;
  UniqueFd listener_;
  UniqueFd stop_;
  std::thread acceptor_;
};

// Asks a running test kubelet. What it answers as an error becomes Errc::peer.
Result<Json> ask(const std::string& socket, const Json& request);

}  // namespace vfrail::test
