#include "plugin/service/kubelet/pods_call.h"

#include "tests/kubelet/pods_server.h"
#include "tests/service/support.h"
#include "tests/support/deadline.h"
#include "tests/support/temp_dir.h"

#include <future>

#include <catch2/catch.hpp>

namespace vfrail::test {
using namespace plugin;

using std::chrono::milliseconds;

namespace {

PodsCall::Answer ask(const TempDir& folder, const std::set<std::string>& uids,
                     milliseconds timeout = kDeadline) {
  std::promise<PodsCall::Answer> out;
  const PodsCall call({.socket = pods_socket(folder.path()), .uids = uids, .timeout = timeout},
                      [&](PodsCall::Answer answer) { out.set_value(std::move(answer)); });
  return out.get_future().get();
}

}  // namespace

TEST_CASE("kubelet says of each pod whether it has it") {
  const TempDir folder;
  PodsServer kubelet(folder.path());
  kubelet.set({"u1", "u2"});
  CHECK(ask(folder, {"u1", "u3"}) == PodsCall::Answer{{"u1", true}, {"u3", false}});
  kubelet.set({});
  CHECK(ask(folder, {"u1"}) == PodsCall::Answer{{"u1", false}});
}

TEST_CASE("no more pods are asked for at once than kubelet answers") {
  const TempDir folder;
  PodsServer kubelet(folder.path());
  std::set<std::string> many;
  for (int i = 0; i < 20; ++i) many.insert("u" + std::to_string(i));
  CHECK(ask(folder, many).size() == PodsCall::kMaxPods);
  CHECK(kubelet.calls() == int(PodsCall::kMaxPods));
}

TEST_CASE("a kubelet that does not say, is older or not there is no answer about the pod") {
  const TempDir folder;
  CHECK(ask(folder, {"u1"}).empty());
  PodsServer kubelet(folder.path());
  kubelet.set({"u1"});
  for (const auto code : {grpc::StatusCode::FAILED_PRECONDITION, grpc::StatusCode::UNIMPLEMENTED,
                          grpc::StatusCode::RESOURCE_EXHAUSTED}) {
    kubelet.refuse({code, "Kubelet is initializing"});
    CHECK(ask(folder, {"u1"}).empty());
  }
  kubelet.refuse(grpc::Status::OK);
  kubelet.hang(true);
  CHECK(ask(folder, {"u1"}, milliseconds{50}).empty());
  kubelet.hang(false);
  CHECK(ask(folder, {"u1"}).size() == 1);
}

TEST_CASE("a call that is not answered ends with its owner") {
  const TempDir folder;
  PodsServer kubelet(folder.path());
  kubelet.hang(true);
  int answers = 0;
  {
    PodsCall call({.socket = pods_socket(folder.path()), .uids = {"u1", "u2"}, .timeout = kDeadline},
                  [&](const PodsCall::Answer& answer) {
                    CHECK(answer.empty());
                    ++answers;
                  });
    REQUIRE(eventually([&] { return kubelet.calls() == 2; }));
    CHECK(call.cancel_overdue(std::chrono::steady_clock::now()));
  }
  CHECK(answers == 1);
}

}  // namespace vfrail::test
