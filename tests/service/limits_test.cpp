// `vfrail serve` when others send too much, and when it may use too little.
#include "proto/deviceplugin_v1beta1.grpc.pb.h"
#include "tests/kubelet/test_kubelet.h"
#include "tests/service/program.h"
#include "tests/service/support.h"
#include "tests/support/places.h"

#include <chrono>
#include <filesystem>
#include <fstream>
#include <memory>
#include <signal.h>
#include <sstream>
#include <string>
#include <thread>
#include <unistd.h>
#include <vector>

#include <catch2/catch.hpp>
#include <grpcpp/grpcpp.h>

namespace vfrail::test {
using namespace plugin;
namespace {

namespace fs = std::filesystem;
using std::chrono::milliseconds;

constexpr const char* kHostdev = "nvidia.com/hostdev";
constexpr milliseconds kDeadline{60'000};  // against hanging
constexpr int kChannels = 64;
constexpr int kStreamsOfAChannel = 16;  // more would wait: the limit of a connection

std::vector<std::string> flags(const IgbNode& node) {
  node.fill();
  std::ofstream(node.path("config.json")) << R"({"resourceList": [{"resourcePrefix": "nvidia.com",
      "resourceName": "hostdev", "selectors": {"vendors": ["8086"], "isRdma": true}}]})";
  return {"--config-file",     node.path("config.json"), "--root",
          node.root(),         "--kubelet-root",         node.path("k"),
          "--device-info-dir", node.device_info_dir(),   "--run-dir",
          node.run_dir()};
}

// "VmHWM" of the process, in KiB.
long memory_of(const Program& program, const std::string& what) {
  std::ifstream status("/proc/" + std::to_string(program.pid()) + "/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with(what + ":")) return std::stol(line.substr(what.size() + 1));
  }
  return 0;
}

std::shared_ptr<grpc::Channel> connect(const std::string& socket) {
  grpc::ChannelArguments arguments;
  arguments.SetMaxSendMessageSize(-1);
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);  // a connection of its own
  return grpc::CreateCustomChannel("unix:" + socket, grpc::InsecureChannelCredentials(), arguments);
}

struct Stream {
  grpc::ClientContext context;
  std::unique_ptr<v1beta1::DevicePlugin::Stub> stub;
  std::unique_ptr<grpc::ClientReader<v1beta1::ListAndWatchResponse>> reader;
};

}  // namespace

TEST_CASE("oversized messages and a thousand streams take bounded memory, and kubelet is served after them") {
  const IgbNode node;
  TestKubelet kubelet(node.path("k"));
  const Program program(node, flags(node));
  REQUIRE(kubelet.wait_for(kHostdev, 8, kDeadline));
  const std::string socket = node.path("k/plugins_registry/nvidia.com_hostdev.sock");
  const long before = memory_of(program, "VmRSS");
  v1beta1::AllocateRequest large;
  large.add_container_requests()->add_devices_ids(std::string(50U << 20, 'x'));
  for (int i = 0; i < 4; ++i) {
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + kDeadline);
    v1beta1::AllocateResponse response;
    CHECK_FALSE(v1beta1::DevicePlugin::NewStub(connect(socket))->Allocate(&context, large, &response).ok());
  }
  const long after_messages = memory_of(program, "VmHWM");
  std::vector<std::unique_ptr<Stream>> streams;
  for (int i = 0; i < kChannels; ++i) {
    const auto channel = connect(socket);
    for (int j = 0; j < kStreamsOfAChannel; ++j) {
      auto& stream = *streams.emplace_back(std::make_unique<Stream>());
      stream.stub = v1beta1::DevicePlugin::NewStub(channel);
      stream.reader = stream.stub->ListAndWatch(&stream.context, v1beta1::Empty());
    }
  }
  for (const auto& stream : streams) stream->context.TryCancel();
  const long after_streams = memory_of(program, "VmHWM");
  WARN("resident: " << before << " KiB before, at most " << after_messages << " with 4 messages of 50 MiB, "
                    << after_streams << " with " << kChannels * kStreamsOfAChannel << " streams");
  // A sanitizer takes several times the memory.
  const bool instrumented = memory_of(program, "VmSize") > 100'000'000;
  if (!instrumented) CHECK(after_streams < 64 * 1024);
  // The memory for calls is shared, so that kubelet's connection can have been closed meanwhile, too.
  CHECK(kubelet.wait_for(kHostdev, 8, kDeadline));
  v1beta1::AllocateResponse response;
  CHECK(kubelet.allocate(kHostdev, {{"0000:21:10.2"}}, response).ok());
}

namespace {

std::vector<std::string> with_limit(const std::string& limit) {
  return {"/bin/sh", "-c", "ulimit " + limit + "; exec \"$0\" serve \"$@\"", test::program_path("vfrail")};
}

}  // namespace

TEST_CASE("with too few file descriptors serve exits with 1 and the reason") {
  const IgbNode node;
  fs::create_directories(node.path("k/plugins_registry"));
  const std::string files = GENERATE("-n 10", "-n 12");
  Program program(node, flags(node), "serve.log", with_limit(files));
  CHECK(program.wait(kDeadline) == 1);
  INFO(files << ": " << program.log());
  CHECK(program.log().find("cannot") != std::string::npos);
}

TEST_CASE("with a full or read-only --run-dir Allocate is refused with the reason, and the list stays") {
  const std::string mount = GENERATE("mount -t tmpfs -o size=4k,nr_inodes=1 none \"$RUN\"",
                                     "mount --bind \"$RUN\" \"$RUN\"; mount -o remount,bind,ro \"$RUN\"");
  CAPTURE(mount);
  const IgbNode node;
  fs::create_directories(node.run_dir());
  TestKubelet kubelet(node.path("k"));
  const std::string unshare = ::geteuid() == 0 ? "-m" : "-rm";
  const Program program(
      node, flags(node), "serve.log",
      {"/usr/bin/unshare", unshare, "/bin/sh", "-c",
       "RUN=" + node.run_dir() + "; " + mount + R"( && exec "$0" serve "$@")", test::program_path("vfrail")});
  REQUIRE(kubelet.wait_for(kHostdev, 8, kDeadline));
  v1beta1::AllocateResponse response;
  const grpc::Status refused = kubelet.allocate(kHostdev, {{"0000:21:10.2"}}, response);
  CHECK_FALSE(refused.ok());
  INFO(refused.error_message());
  CHECK(refused.error_message().find(node.run_dir()) != std::string::npos);
  CHECK(refused.error_message().find("0000:21:10.2") != std::string::npos);
  CHECK(node.written().empty());
  CHECK(kubelet.node().at(kHostdev).allocatable() == 8);
  CHECK(program.log().find("allocate refused") != std::string::npos);
}

#ifndef __clang__  // our sanitizers are clang's, and reserve more than any limit allows
TEST_CASE("with too little memory for its threads serve ends in order, and logs why") {
  const IgbNode node;
  fs::create_directories(node.path("k/plugins_registry"));
  Program program(node, flags(node), "serve.log", with_limit("-v 60000"));
  if (logs(program, "started")) program.signal(SIGTERM);
  CHECK(program.wait(kDeadline) == 1);
  INFO(program.log());
  CHECK(program.log().find("limits of memory") != std::string::npos);
}
#endif

}  // namespace vfrail::test
