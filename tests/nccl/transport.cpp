// nccl_transport: NCCL's own InfiniBand transport (net_ib.cc and what it needs), without the rest of NCCL and
// without a GPU. Which RDMA devices, ports, GIDs and interfaces it takes are its own words, with
// NCCL_DEBUG=INFO.
//
//   nccl_transport                      names the devices
//   nccl_transport listen               prints a line for each device, a handle, and receives a message on
//   each nccl_transport connect HANDLE...    sends them; a handle for each device, in their order
//
// Built by tests/nccl/build_transport.
#include "debug.h"
#include "nccl.h"
#include "net.h"

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cuda_runtime_api.h>
#include <string>
#include <string_view>
#include <vector>

// All that the transport asks CUDA: nothing of it concerns memory of the host.
extern "C" {
cudaError_t cudaGetDevice(int*) { return cudaErrorNoDevice; }
cudaError_t cudaDeviceGetAttribute(int*, cudaDeviceAttr, int) { return cudaErrorNoDevice; }
cudaError_t cudaDeviceGetPCIBusId(char*, int, int) { return cudaErrorNoDevice; }
const char* cudaGetErrorString(cudaError_t) { return "there is no GPU"; }
}

namespace {

using Clock = std::chrono::steady_clock;

constexpr size_t kBytes = 1 << 20;
constexpr int kTag = 7;
const Clock::time_point kDeadline = Clock::now() + std::chrono::minutes(2);

void must(ncclResult_t result, const char* what) {
  if (result == ncclSuccess && Clock::now() < kDeadline) return;
  std::fprintf(stderr, "nccl_transport: %s: %s\n", what, result == ncclSuccess ? "took too long" : "failed");
  std::exit(1);
}

std::string to_hex(std::string_view bytes) {
  std::string out;
  char digits[3];
  for (const unsigned char byte : bytes) {
    std::snprintf(digits, sizeof digits, "%02x", byte);
    out += digits;
  }
  return out;
}

std::vector<char> from_hex(const std::string& text) {
  std::vector<char> out(NCCL_NET_HANDLE_MAXSIZE);
  for (size_t i = 0; i < out.size() && i * 2 + 1 < text.size(); ++i)
    out[i] = static_cast<char>(std::stoi(text.substr(i * 2, 2), nullptr, 16));
  return out;
}

// What is sent on a device, and nothing else is.
std::vector<char> message(int device) {
  std::vector<char> out(kBytes);
  for (size_t i = 0; i < out.size(); ++i) out[i] = static_cast<char>(i * 31 + device);
  return out;
}

void wait_for(void* request, const char* what) {
  for (int done = 0; done == 0;) must(ncclNetIb.test(request, &done, nullptr), what);
}

void* register_memory(void* comm, std::vector<char>& memory) {
  void* out = nullptr;
  must(ncclNetIb.regMr(comm, memory.data(), memory.size(), NCCL_PTR_HOST, &out), "registering memory");
  return out;
}

void receive(int device, void* listener) {
  void* comm = nullptr;
  while (comm == nullptr) must(ncclNetIb.accept(listener, &comm, nullptr), "accepting");
  std::vector<char> memory(kBytes);
  void* registered = register_memory(comm, memory);
  void* data = memory.data();
  size_t size = memory.size();
  int tag = kTag;
  void* request = nullptr;
  while (request == nullptr)
    must(ncclNetIb.irecv(comm, 1, &data, &size, &tag, &registered, nullptr, &request), "receiving");
  wait_for(request, "receiving");
  const bool same = memory == message(device);
  std::printf("%d: received %s\n", device, same ? "what was sent" : "something else");
  if (!same) std::exit(1);
}

void send(int device, const std::string& handle) {
  std::vector<char> peer = from_hex(handle);
  ncclNetCommConfig_t config = {NCCL_NET_TRAFFIC_CLASS_UNDEF};
  void* comm = nullptr;
  while (comm == nullptr) must(ncclNetIb.connect(device, &config, peer.data(), &comm, nullptr), "connecting");
  std::vector<char> memory = message(device);
  void* registered = register_memory(comm, memory);
  void* request = nullptr;
  while (request == nullptr)
    must(ncclNetIb.isend(comm, memory.data(), memory.size(), kTag, registered, nullptr, &request), "sending");
  wait_for(request, "sending");
  std::printf("%d: sent\n", device);
}

int listen(int devices) {
  std::vector<void*> listeners(devices);
  for (int device = 0; device < devices; ++device) {
    char handle[NCCL_NET_HANDLE_MAXSIZE] = {};
    must(ncclNetIb.listen(device, handle, &listeners[device]), "listening");
    std::printf("handle %s\n", to_hex({handle, sizeof handle}).c_str());
  }
  std::fflush(stdout);
  for (int device = 0; device < devices; ++device) receive(device, listeners[device]);
  return 0;
}

}  // namespace

int main(int count, char** arguments) {
  int devices = 0;
  must(ncclNetIb.init(ncclDebugLog, nullptr), "NCCL's InfiniBand transport");
  must(ncclNetIb.devices(&devices), "counting devices");
  for (int device = 0; device < devices; ++device) {
    ncclNetProperties_t properties = {};
    must(ncclNetIb.getProperties(device, &properties), "reading properties");
    std::printf("%d: %s, port %d, %d Mb/s\n", device, properties.name, properties.port, properties.speed);
  }
  const std::string_view word = count > 1 ? arguments[1] : "";
  if (word == "listen") return listen(devices);
  if (word != "connect") return 0;
  if (count - 2 != devices) {
    std::fprintf(stderr, "nccl_transport: %d handles for %d devices\n", count - 2, devices);
    return 1;
  }
  for (int device = 0; device < devices; ++device) send(device, arguments[2 + device]);
}
